/*
 * Deadlines: what is due in Redis goes to the removers, within a second.
 *
 * While Redis is away the deadlines last seen there are enforced, so that no
 * run outlives its own because of it: container and directory go, the record is
 * found due when Redis is back.
 */
#include "lib/clock.h"
#include "lib/mem.h"
#include "removers.h"
#include "store/run.h"
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>

/* A restart of Redis passes within this; nothing need be done without it. */
#define PATIENCE_MS 5000
#define LEARN_MS 1000  /* between two looks at all deadlines */
#define AGAIN_MS 60000 /* a removal without Redis is tried again */

struct expire {
	struct removers *removers;
	/* What was due when, as last seen in Redis. */
	struct arena arena;
	struct run_queue known;
	int64_t learnt_at; /* CLOCK_MONOTONIC, 0 where never */
	/* Without Redis. */
	int64_t away_since; /* 0 while it is there */
	int64_t began_at;   /* the current pass over `known` */
	size_t next;	    /* in known */
};

int
expire_open(struct sweeper *s, struct err *e)
{
	struct expire *x = mem_zalloc(sizeof(*x));

	x->removers = removers_open(s->ctx.config, s->ctx.instance, e);
	if (x->removers == NULL) {
		free(x);
		return -1;
	}
	s->wake_fd = removers_fd(x->removers);
	s->own = x;
	return 0;
}

void
expire_close(struct sweeper *s)
{
	struct expire *x = s->own;

	removers_close(x->removers);
	arena_release(&x->arena);
	free(x);
	s->own = NULL;
}

static int
give(struct expire *x, const char *id, const char *was, struct err *e)
{
	struct removal job = {.redis_away = was == NULL};

	(void)snprintf(job.id, sizeof(job.id), "%s", id);
	(void)snprintf(job.was, sizeof(job.was), "%s", was ? was : "");
	return removers_give(x->removers, &job, e);
}

static int
learn(struct sweeper *s, struct err *e)
{
	struct expire *x = s->own;
	struct arena fresh = ARENA_INIT;
	struct run_queue known;

	if (x->learnt_at != 0 && clock_mono_ms() - x->learnt_at < LEARN_MS)
		return 0;
	if (run_queue(s->ctx.redis, &fresh, &known, e) != 0) {
		arena_release(&fresh);
		return -1;
	}
	arena_release(&x->arena);
	x->arena = fresh;
	x->known = known;
	x->learnt_at = clock_mono_ms();
	return 0;
}

static int
remove_due(struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e)
{
	struct expire *x = s->own;
	struct run_due due = {.next_ms = 0};

	/* Again where entries healed, or more are due than were asked for. */
	while (due.next_ms == 0 && !sweep_over(s, deadline)) {
		int room = removers_free(x->removers);

		if (room == 0)
			return 0; /* woken when one is done */
		if (run_due(s->ctx.redis, room, &s->arena, &due, e) != 0)
			return -1;
		for (size_t i = 0; i < due.count; i++)
			if (give(x, due.run[i].id, due.run[i].was, e) != 0)
				return -1;
		s->dealt += (int64_t)due.count;
	}
	if (due.next_ms >= 0 && due.next_ms < *wait_ms)
		*wait_ms = due.next_ms;
	return 0;
}

static int
enforce_known(struct expire *x, struct err *e)
{
	int64_t now = clock_mono_ms();
	/* Redis' clock goes on as this one does. */
	int64_t redis_now = x->known.now_ms + (now - x->learnt_at);

	if (x->away_since == 0)
		x->away_since = now;
	if (x->learnt_at == 0 || now - x->away_since < PATIENCE_MS)
		return 0;
	if (now - x->began_at >= AGAIN_MS) {
		x->began_at = now;
		x->next = 0;
	}
	while (x->next < x->known.count &&
	       x->known.run[x->next].due_ms <= redis_now &&
	       removers_free(x->removers) > 0)
		if (give(x, x->known.run[x->next++].id, NULL, e) != 0)
			return -1;
	return 0;
}

int
expire_round(
    struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e)
{
	struct expire *x = s->own;

	/* Taking note of what is done also makes wake_fd quiet. */
	(void)removers_free(x->removers);
	if (s->away)
		return enforce_known(x, e);
	x->away_since = 0;
	x->began_at = 0;
	if (remove_due(s, deadline, wait_ms, e) != 0)
		return -1;
	return learn(s, e);
}
