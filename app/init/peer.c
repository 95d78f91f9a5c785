/* Where PID 1 listens, and who may speak to it. */
#include "init/peer.h"
#include "lib/fd.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int
peer_listen_abstract(int backlog, struct err *e)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	FD_AUTO fd =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* A name that begins with a NUL, and has an end but no NUL. */
	memcpy(addr.sun_path + 1, PEER_NAME, sizeof(PEER_NAME) - 1);
	socklen_t size =
	    offsetof(struct sockaddr_un, sun_path) + sizeof(PEER_NAME);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, size) != 0 ||
	    listen(fd, backlog) != 0)
		return err_sys(
		    e, ERR_INTERNAL, "cannot listen on @%s", PEER_NAME);
	return fd_take(&fd);
}

/* From outside of the run's pid namespace, and root: a worker of the host. */
bool
peer_is_host(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       peer.pid == 0 && peer.uid == 0;
}
