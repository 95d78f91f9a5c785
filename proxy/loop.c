/* One thread, one epoll, timers. */
#include "loop.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>

#define BATCH 64

struct loop {
	int epoll;
	bool stopped;
	int64_t now;

	/* Fetched, and delivered up to `at`. */
	struct epoll_event events[BATCH];
	int count, at;

	/* A binary heap by time: heap[1] is next. */
	struct timer **heap;
	size_t timers, room;
};

struct loop *
loop_new(struct err *e)
{
	struct loop *l = mem_zalloc(sizeof(*l));

	l->now = clock_mono_ms();
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll >= 0)
		return l;
	err_sys(e, ERR_INTERNAL, "epoll_create1");
	free(l);
	return NULL;
}

void
loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	fd_close(&l->epoll);
	free(l->heap);
	free(l);
}

/* -- watches --------------------------------------------------------------- */

int
loop_watch(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = w};
	int call = w->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (events == 0) {
		loop_forget(l, w);
		return 0;
	}
	if (epoll_ctl(l->epoll, call, w->fd, &event) != 0)
		return -1;
	w->events = events;
	return 0;
}

static void
drop_fetched(struct loop *l, const struct watch *w)
{
	for (int i = l->at; i < l->count; i++)
		if (l->events[i].data.ptr == w)
			l->events[i].data.ptr = NULL;
}

void
loop_forget(struct loop *l, struct watch *w)
{
	if (w->events == 0)
		return;
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	w->events = 0;
	drop_fetched(l, w);
}

void
loop_close(struct loop *l, struct watch *w)
{
	if (w->events != 0)
		drop_fetched(l, w);
	w->events = 0;
	fd_close(&w->fd);
}

int
loop_hand_over(
    struct loop *l, struct watch *from, struct watch *to, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = to};

	if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, from->fd, &event) != 0)
		return -1;
	drop_fetched(l, from);
	to->fd = from->fd;
	to->events = events;
	from->fd = -1;
	from->events = 0;
	return 0;
}

/* -- timers ---------------------------------------------------------------- */

static void
place(struct loop *l, struct timer *t, size_t slot)
{
	l->heap[slot] = t;
	t->slot = slot;
}

/* To where it belongs, from a slot that is free. */
static void
sift(struct loop *l, struct timer *t, size_t slot)
{
	size_t child;

	while (slot > 1 && l->heap[slot / 2]->at > t->at) {
		place(l, l->heap[slot / 2], slot);
		slot /= 2;
	}
	while ((child = 2 * slot) <= l->timers) {
		if (child < l->timers &&
		    l->heap[child + 1]->at < l->heap[child]->at)
			child++;
		if (l->heap[child]->at >= t->at)
			break;
		place(l, l->heap[child], slot);
		slot = child;
	}
	place(l, t, slot);
}

void
loop_timer(struct loop *l, struct timer *t, int64_t ms)
{
	t->at = l->now + ms;
	if (t->slot == 0) {
		if (l->timers + 2 > l->room) {
			l->room = l->room ? l->room * 2 : 64;
			l->heap = mem_realloc(l->heap,
			    mem_array(l->room, sizeof(struct timer *)));
		}
		t->slot = ++l->timers;
	}
	sift(l, t, t->slot);
}

void
loop_timer_stop(struct loop *l, struct timer *t)
{
	size_t slot = t->slot;

	if (slot == 0)
		return;
	struct timer *last = l->heap[l->timers--];
	t->slot = 0;
	if (last != t)
		sift(l, last, slot);
}

int64_t
loop_now(const struct loop *l)
{
	return l->now;
}

/* -- the loop -------------------------------------------------------------- */

static void
fire_due(struct loop *l)
{
	while (l->timers > 0 && l->heap[1]->at <= l->now && !l->stopped) {
		struct timer *t = l->heap[1];

		loop_timer_stop(l, t);
		t->fire(t);
	}
}

static int
until_next(const struct loop *l)
{
	if (l->timers == 0)
		return -1;
	int64_t left = l->heap[1]->at - l->now;
	return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

void
loop_run(struct loop *l)
{
	for (l->stopped = false; !l->stopped;) {
		int n = epoll_wait(l->epoll, l->events, BATCH, until_next(l));

		l->now = clock_mono_ms();
		l->count = n > 0 ? n : 0;
		for (l->at = 0; l->at < l->count && !l->stopped;) {
			struct epoll_event *event = &l->events[l->at++];
			struct watch *w = event->data.ptr;

			if (w != NULL)
				w->ready(w, event->events);
		}
		l->count = 0;
		fire_due(l);
	}
}

void
loop_stop(struct loop *l)
{
	l->stopped = true;
}
