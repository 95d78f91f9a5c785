/* The way to the socket of a run's init. */
#include "guest/socket.h"
#include "guest/guest.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* A handle on the socket's file, which nothing can swap afterwards. */
static int
open_file(const char *dir, struct err *e)
{
	struct stat st;
	FD_AUTO at = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (at < 0)
		return err_sys(e, ERR_GUEST, "the directory of the run's init");
	FD_AUTO fd = openat(at, GUEST_SOCKET, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, ERR_GUEST, "the socket of the run's init");
	if (fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode))
		return err_set(e, ERR_GUEST,
		    "something else is in the place of the socket of the "
		    "run's init");
	return fd_take(&fd);
}

int
socket_open(const char *dir, int64_t pid, int timeout_ms, struct err *e)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	char path[64];
	FD_AUTO file = open_file(dir, e);

	if (file < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	FD_AUTO fd = fd_connect_unix(path, timeout_ms, e);
	if (fd < 0) {
		e->kind = ERR_GUEST;
		return -1;
	}
	/* Of a listener, these are of who called listen(2). */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
	    peer.pid != pid)
		return err_set(e, ERR_GUEST,
		    "another process than the run's init listens in its "
		    "place");
	return fd_take(&fd);
}
