/*
 * Ending with the run: its init is watched by a pidfd, which no later process
 * of the same number can be taken for. And with the file of the control socket,
 * by which alone the host finds this process: one that it cannot find would
 * keep the port from the next.
 */
#ifndef SBX_PROXY_WATCH_H
#define SBX_PROXY_WATCH_H

#include "loop.h"

/*
 * A descriptor that is readable once that process has ended. It must be in the
 * network namespace netns (a path; "" for any): a number that went to another
 * process meanwhile is ERR_GONE, as is one that nobody has.
 */
int watch_open(int pid, const char *netns, struct err *e);

/* ended is called once, when it does. The watch is the caller's memory. */
struct watch_run {
	struct watch watch;
	struct loop *loop;
	void (*ended)(void *arg);
	void *arg;
};

/* fd of watch_open. */
int watch_run(struct watch_run *w, struct loop *loop, int fd,
    void (*ended)(void *arg), void *arg, struct err *e);

/*
 * The same of a file that is removed, or replaced by another: ended is called
 * once. Before any signal is waited for elsewhere: SIGIO is the watch's own.
 */
struct watch_file {
	struct watch watch;
	struct loop *loop;
	int file;
	void (*ended)(void *arg);
	void *arg;
};

int watch_file(struct watch_file *w, struct loop *loop, const char *path,
    void (*ended)(void *arg), void *arg, struct err *e);

#endif
