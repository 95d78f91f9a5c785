/*
 * What the stack takes of the box while it is under load, looked at each second
 * by a thread of its own.
 */
#ifndef SBX_LOAD_WATCH_H
#define SBX_LOAD_WATCH_H

#include <stddef.h>
#include <stdint.h>

enum watched { WATCH_WORKERS, WATCH_NGINX, WATCH_REDIS, WATCHED };

struct watch_sample {
	int processes[WATCHED];
	int64_t kb[WATCHED];	/* PSS */
	int64_t files[WATCHED]; /* open descriptors */
	int64_t
	    cpu_ms[WATCHED]; /* of those that are alive, since their start */
};

struct watch;

/* The stack runs. */
struct watch *watch_start(void);

/* A look of this moment. */
struct watch_sample watch_now(const struct watch *w);

/* The most memory that all processes of that kind together had so far. */
int64_t watch_most_kb(const struct watch *w, enum watched kind);

void watch_stop(struct watch *w);

/* PSS of a process, in KiB; 0 where it is gone. */
int64_t watch_pss_kb(int pid);

/* Children of a process; at most so many. Returns how many. */
size_t watch_children(int pid, int *to, size_t most);

#endif
