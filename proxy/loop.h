/*
 * One thread, one epoll, timers.
 *
 * A watch is embedded in what it serves. Whoever is called may forget and free
 * any watch and timer, its own too: events that were already fetched for one
 * that is forgotten are not delivered.
 */
#ifndef SBX_PROXY_LOOP_H
#define SBX_PROXY_LOOP_H

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;

struct watch {
	void (*ready)(struct watch *w, uint32_t events); /* of epoll(7) */
	int fd;
	uint32_t events; /* 0: not watched */
};

struct timer {
	void (*fire)(struct timer *t);
	int64_t at;  /* monotonic ms */
	size_t slot; /* in the loop's heap, from 1; 0: not set */
};

struct loop *loop_new(struct err *e);
void loop_free(struct loop *l);

/* Watch for those events (EPOLLERR and EPOLLHUP come anyway), 0 for none. -1
 * with errno. The first call for a watch must find events 0. With EPOLLET, a
 * call for what is watched already makes what is ready now be told again. */
int loop_watch(struct loop *l, struct watch *w, uint32_t events);
/* Before its descriptor is closed. */
void loop_forget(struct loop *l, struct watch *w);
/* Forget it and close the descriptor, which nobody else has (epoll(7): that
 * alone forgets it); fd is -1 then. */
void loop_close(struct loop *l, struct watch *w);
/* The descriptor of one watch is another's from here on, and what is ready is
 * told again: to->ready is set by the caller. */
int loop_hand_over(
    struct loop *l, struct watch *from, struct watch *to, uint32_t events);

/* Fire once, so many ms from now; moves one that is set. */
void loop_timer(struct loop *l, struct timer *t, int64_t ms);
void loop_timer_stop(struct loop *l, struct timer *t);

/* Monotonic ms, as of the last wake-up. */
int64_t loop_now(const struct loop *l);

/* Until loop_stop. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

#endif
