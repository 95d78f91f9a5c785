/* Ending with the run. */
#include "watch.h"
#include "lib/fd.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether that process is in that network namespace. */
static int
check_place(int pid, const char *netns, struct err *e)
{
	char own[64];
	struct stat a, b;

	(void)snprintf(own, sizeof(own), "/proc/%d/ns/net", pid);
	if (stat(netns, &b) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot look at %s", netns);
	if (stat(own, &a) != 0)
		return err_sys(e, errno == ENOENT ? ERR_GONE : ERR_INTERNAL,
		    "cannot look at %s", own);
	if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return err_set(e, ERR_GONE,
		    "the process %d is not in the network %s", pid, netns);
	return 0;
}

int
watch_open(int pid, const char *netns, struct err *e)
{
	FD_AUTO fd = (int)syscall(SYS_pidfd_open, pid, 0u);

	if (fd < 0)
		return err_sys(e, errno == ESRCH ? ERR_GONE : ERR_INTERNAL,
		    "cannot watch the process %d", pid);
	if (netns[0] != '\0' && check_place(pid, netns, e) != 0)
		return -1;
	/* What /proc said was of this process if it still lives. */
	struct pollfd p = {fd, POLLIN, 0};
	if (poll(&p, 1, 0) != 0)
		return err_set(
		    e, ERR_GONE, "the process %d has just ended", pid);
	return fd_take(&fd);
}

static void
on_end(struct watch *watch, uint32_t events)
{
	struct watch_run *w =
	    (void *)((char *)watch - offsetof(struct watch_run, watch));

	(void)events;
	loop_forget(w->loop, watch);
	w->ended(w->arg);
}

int
watch_run(struct watch_run *w, struct loop *loop, int fd,
    void (*ended)(void *arg), void *arg, struct err *e)
{
	*w = (struct watch_run){{on_end, fd, 0}, loop, ended, arg};
	if (loop_watch(loop, &w->watch, EPOLLIN) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot watch the run");
	return 0;
}
