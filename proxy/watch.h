/*
 * Ending with the run: its init is watched by a pidfd, which no later process
 * of the same number can be taken for.
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

#endif
