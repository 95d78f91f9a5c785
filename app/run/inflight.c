/* Operations in flight and their heartbeat. */
#include "run/inflight.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 16 /* slots that one script call holds */
#define SETTLE_TRIES 3

/* Who may touch a slot: its thread while FREE, nobody while HELD but who moves
 * it to BEATING, and that one alone until it is HELD again. */
enum { FREE, HELD, BEATING };

struct inflight_slot {
	atomic_int state;
	atomic_bool lost;
	bool marked; /* free, but its mark may still be there */
	struct op op;
};

struct inflight {
	size_t count;
	struct inflight_slot slot[];
};

struct inflight *
inflight_new(size_t slots, int64_t window_ms)
{
	struct inflight *f = mem_zalloc(
	    sizeof(*f) + mem_array(slots, sizeof(struct inflight_slot)));

	f->count = slots;
	for (size_t i = 0; i < slots; i++)
		f->slot[i].op.window_ms = window_ms;
	return f;
}

void
inflight_free(struct inflight *f)
{
	free(f);
}

struct inflight_slot *
inflight_slot(struct inflight *f, size_t i)
{
	return &f->slot[i];
}

const struct op *
inflight_op(const struct inflight_slot *s)
{
	return &s->op;
}

int
inflight_begin(struct inflight_slot *s, struct redis *r, const char *run,
    const struct credential *who, struct arena *a, struct run *ret_run,
    struct err *e)
{
	memcpy(s->op.run, run, sizeof(s->op.run));
	if (ulid_new(s->op.id, e) != 0)
		return -1;
	if (op_begin(r, &s->op, who, a, ret_run, e) != 0) {
		/* Its answer may be what was lost: leave no mark behind. */
		s->marked = e->kind == ERR_STORE_AWAY;
		return -1;
	}
	if (str_eq(ret_run->state, "running")) {
		atomic_store(&s->lost, false);
		atomic_store(&s->state, HELD);
	}
	return 0;
}

int
inflight_read(struct inflight_slot *s, struct redis *r, const char *run,
    struct arena *a, struct run *ret_run, struct err *e)
{
	static const struct credential nobody = {"", 0};

	memcpy(s->op.run, run, sizeof(s->op.run));
	s->op.id[0] = '\0';
	if (op_begin(r, &s->op, &nobody, a, ret_run, e) != 0)
		return -1;
	atomic_store(&s->lost, false);
	atomic_store(&s->state, HELD);
	return 0;
}

void
inflight_end(struct inflight_slot *s, struct redis *r)
{
	struct err ignored = ERR_INIT;
	int held = HELD;

	if (atomic_load(&s->state) == FREE)
		return;
	/* A beat under way would make the mark again after its end. */
	while (!atomic_compare_exchange_weak(&s->state, &held, FREE)) {
		held = HELD;
		(void)poll(NULL, 0, 1);
	}
	s->marked = s->op.id[0] != '\0' && op_end(r, &s->op, &ignored) != 0;
}

void
inflight_settle(struct inflight_slot *s, struct redis *r)
{
	struct err ignored = ERR_INIT;

	for (int try = 0; try < SETTLE_TRIES && s->marked; try++) {
		redis_settle(r);
		s->marked = op_end(r, &s->op, &ignored) != 0;
	}
	s->marked = false;
}

bool
inflight_lost(struct inflight_slot *s)
{
	return atomic_load(&s->lost);
}

/* Take up to BATCH held slots from *next on. */
static size_t
take_batch(struct inflight *f, size_t *next, struct inflight_slot *to[BATCH])
{
	size_t count = 0;

	for (; *next < f->count && count < BATCH; (*next)++) {
		int held = HELD;

		if (atomic_compare_exchange_strong(
			&f->slot[*next].state, &held, BEATING))
			to[count++] = &f->slot[*next];
	}
	return count;
}

static int
beat_batch(struct redis *r, struct inflight_slot *const *slot, size_t count,
    struct err *e)
{
	struct op ops[BATCH];
	bool dead[BATCH];

	for (size_t i = 0; i < count; i++)
		ops[i] = slot[i]->op;
	int rc = op_refresh(r, ops, count, dead, e);
	for (size_t i = 0; i < count; i++) {
		if (rc == 0 && dead[i])
			atomic_store(&slot[i]->lost, true);
		atomic_store(&slot[i]->state, HELD);
	}
	return rc;
}

int
inflight_beat(struct inflight *f, struct redis *r, struct err *e)
{
	struct inflight_slot *slot[BATCH];
	size_t next = 0, count;

	while ((count = take_batch(f, &next, slot)) > 0)
		if (beat_batch(r, slot, count, e) != 0)
			return -1;
	return 0;
}
