/* Ending with the run, or with the control socket's file. */
#include "watch.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
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

/* -- a file ---------------------------------------------------------------- */

static void
on_change(struct watch *watch, uint32_t events)
{
	struct watch_file *w =
	    (void *)((char *)watch - offsetof(struct watch_file, watch));
	struct signalfd_siginfo info;
	struct stat st;

	(void)events;
	(void)!read(watch->fd, &info, sizeof(info));
	/* Not fstat(3), which is another call in every version of glibc. */
	if (syscall(SYS_fstat, w->file, &st) == 0 && st.st_nlink > 0)
		return;
	loop_forget(w->loop, watch);
	w->ended(w->arg);
}

/* A descriptor that is readable when something is removed from the directory,
 * or renamed in it. Not inotify(7): of that a user may have 128, and each proxy
 * is root when it begins. */
static int
watch_directory(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char name[PATH_MAX] = ".";
	sigset_t set;

	if (slash != NULL)
		(void)snprintf(
		    name, sizeof(name), "%.*s/", (int)(slash - path), path);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGIO);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	FD_AUTO signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* Stays open: with it the watch would end. */
	FD_AUTO directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (signals < 0 || directory < 0 ||
	    fcntl(directory, F_NOTIFY, DN_DELETE | DN_RENAME | DN_MULTISHOT) !=
		0)
		return err_sys(e, ERR_INTERNAL, "cannot watch %s", name);
	(void)fd_take(&directory);
	return fd_take(&signals);
}

int
watch_file(struct watch_file *w, struct loop *loop, const char *path,
    void (*ended)(void *arg), void *arg, struct err *e)
{
	FD_AUTO file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	FD_AUTO signals = watch_directory(path, e);

	if (signals < 0)
		return -1;
	*w = (struct watch_file){
	    {on_change, signals, 0}, loop, file, ended, arg};
	if (file < 0 || loop_watch(loop, &w->watch, EPOLLIN) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot watch %s", path);
	(void)fd_take(&file);
	(void)fd_take(&signals);
	return 0;
}
