/* The way to the socket of a run's init. */
#include "guest/socket.h"
#include "guest/guest.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FILE_PATH 40

/* A handle on the socket's file, which nothing can swap afterwards. ERR_ABSENT
 * where there is none. */
static int
open_file(const char *dir, struct err *e)
{
	struct stat st;
	FD_AUTO at = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (at < 0)
		return err_sys(e, ERR_GUEST, "the directory of the run's init");
	FD_AUTO fd = openat(at, GUEST_SOCKET, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno == ENOENT ? ERR_ABSENT : ERR_GUEST,
		    "the socket of the run's init");
	if (fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode))
		return err_set(e, ERR_ABSENT,
		    "something else is in the place of the socket of the "
		    "run's init");
	return fd_take(&fd);
}

/* The address of what is open. */
static void
tell_path(int file, char to[FILE_PATH])
{
	(void)snprintf(to, FILE_PATH, "/proc/self/fd/%d", file);
}

/* Of a listener, the credentials are of who called listen(2). */
static bool
belongs_to(int fd, int64_t pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       peer.pid == pid;
}

bool
socket_is_spoilt(const char *dir, int64_t pid)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct err e = ERR_INIT;
	FD_AUTO file = open_file(dir, &e);

	if (file < 0)
		return e.kind == ERR_ABSENT;
	tell_path(file, to.sun_path);
	FD_AUTO fd =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	/* Nobody listens any more, or it is of another kind (unix(7)). */
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		return errno == ECONNREFUSED || errno == EPROTOTYPE;
	return !belongs_to(fd, pid);
}

int
socket_open(const char *dir, int64_t pid, int timeout_ms, struct err *e)
{
	char path[FILE_PATH];
	FD_AUTO file = open_file(dir, e);
	FD_AUTO fd = -1;

	if (file >= 0) {
		tell_path(file, path);
		fd = fd_connect_unix(path, timeout_ms, e);
	}
	if (fd < 0) {
		e->kind = ERR_GUEST;
		return -1;
	}
	if (!belongs_to(fd, pid))
		return err_set(e, ERR_GUEST,
		    "another process than the run's init listens in its "
		    "place");
	return fd_take(&fd);
}
