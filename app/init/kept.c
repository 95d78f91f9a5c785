/* Kept execs, and their bounds. */
#include "init/kept.h"
#include "init/object.h"

#include <signal.h>

uint64_t
kept_memory(uint64_t run_mib)
{
	uint64_t part = (run_mib << 20) / KEPT_MEMORY_PART;

	return run_mib != 0 && part < KEPT_MEMORY ? part : KEPT_MEMORY;
}

struct census {
	size_t run, ended;
	uint64_t used; /* by those that ended */
	struct op *oldest;
	int64_t oldest_ms;
};

static struct census
count(struct ops *o)
{
	struct census c = {.oldest = NULL};
	struct ring_end end;

	for (struct op *op = ops_next(o, NULL); op; op = ops_next(o, op)) {
		const struct ring *ring = op_object(op)->ring;

		if (ring == NULL)
			continue;
		if (!ring_finished(ring, &end)) {
			c.run++;
			continue;
		}
		c.ended++;
		c.used += ring_used(ring);
		if (c.oldest != NULL && c.oldest_ms <= end.mono_ms)
			continue;
		c.oldest = op;
		c.oldest_ms = end.mono_ms;
	}
	return c;
}

/* What each of those that run may have. It only grows when one of them ends:
 * that one had no more than this. */
static uint64_t
share(const struct census *c, uint64_t memory)
{
	return c->used < memory ? (memory - c->used) / c->run : 0;
}

static void
set_limits(struct ops *o, uint64_t limit)
{
	for (struct op *op = ops_next(o, NULL); op; op = ops_next(o, op)) {
		struct ring *ring = op_object(op)->ring;

		if (ring == NULL || ring_finished(ring, NULL))
			continue;
		if (ring_limit(ring, limit) && op_pid(op) > 0)
			(void)kill(op_pid(op), SIGUSR1); /* trim it */
	}
}

bool
kept_add(struct ops *o, struct op *op, uint64_t memory)
{
	struct object *x = op_object(op);

	if (count(o).run >= KEPT_MAX)
		return false;
	x->ring = ring_new();
	if (x->ring == NULL)
		return false;
	struct census c = count(o);
	/* What ended may have half where many run. */
	while (c.oldest != NULL &&
	       (c.run + c.ended > KEPT_MAX ||
		   (share(&c, memory) < RING_MEMORY && c.used > memory / 2))) {
		op_forget(c.oldest);
		c = count(o);
	}
	set_limits(o, share(&c, memory));
	return true;
}

int64_t
kept_expire(struct ops *o, int64_t now_ms)
{
	for (;;) {
		struct census c = count(o);

		if (c.oldest == NULL)
			return -1;
		if (c.oldest_ms + KEPT_MS > now_ms)
			return c.oldest_ms + KEPT_MS - now_ms;
		op_forget(c.oldest);
	}
}
