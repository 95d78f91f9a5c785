/* Who may speak to PID 1. */
#include "init/peer.h"
#include "init/proc.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(struct ucred))];
};

static bool
may_speak(const struct ucred *peer)
{
	struct proc p;

	return peer->uid == 0 &&
	       (peer->pid == 0 || (proc_read(peer->pid, &p) && p.parent == 0));
}

/* gVisor tells of a peer that it is the caller: there it is known by what it
 * sends along with its first bytes, which the kernel has checked. */
bool
peer_is_host(int fd)
{
	const int on = 1;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return false;
	if (peer.pid == getpid())
		return setsockopt(
			   fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0;
	return may_speak(&peer);
}

static bool
tells_later(int fd)
{
	int on = 0;
	socklen_t size = sizeof(on);

	return getsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, &size) != 0 || on;
}

ssize_t
peer_peek(int fd, void *bytes, size_t size)
{
	struct iovec into = {bytes, size};
	union control control;
	struct msghdr m = {
	    .msg_iov = &into,
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof(control),
	};
	struct ucred peer;
	ssize_t n = recvmsg(fd, &m, MSG_PEEK | MSG_DONTWAIT);

	if (n <= 0 || !tells_later(fd))
		return n;
	const struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	if (head != NULL && head->cmsg_level == SOL_SOCKET &&
	    head->cmsg_type == SCM_CREDENTIALS &&
	    head->cmsg_len == CMSG_LEN(sizeof(peer))) {
		memcpy(&peer, CMSG_DATA(head), sizeof(peer));
		if (peer.pid > 0 && may_speak(&peer))
			return n;
	}
	errno = EPERM;
	return -1;
}

ssize_t
peer_send(int fd, const void *bytes, size_t size)
{
	const struct ucred self = {getpid(), getuid(), getgid()};
	union {
		const void *from;
		void *to;
	} data = {bytes}; /* sendmsg(2) leaves it alone */
	struct iovec from = {data.to, size};
	union control control = {.head = {.cmsg_level = SOL_SOCKET,
				     .cmsg_type = SCM_CREDENTIALS,
				     .cmsg_len = CMSG_LEN(sizeof(self))}};
	const struct msghdr m = {
	    .msg_iov = &from,
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.head), &self, sizeof(self));
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}
