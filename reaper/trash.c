/* Emptying the trash, and remembering what resists. */
#include "trash.h"
#include "lib/clock.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "run/cache_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 64
#define RETRY_MS 30000	 /* doubled with each try */
#define DOUBLINGS 7	 /* up to about an hour */
#define STUBBORN_MOST 64 /* more than these are tried in each round */

struct trash {
	struct stubborn {
		char name[NAME_SIZE]; /* "": free */
		int tries;
		int64_t next_ms; /* CLOCK_MONOTONIC */
		int64_t bytes;
	} stubborn[STUBBORN_MOST];
	bool settled;
	int64_t deleted;
};

struct trash *
trash_new(void)
{
	return mem_zalloc(sizeof(struct trash));
}

void
trash_free(struct trash *t)
{
	free(t);
}

/* The entry of that name; name "" finds a free one. */
static struct stubborn *
find(struct trash *t, const char *name)
{
	for (size_t i = 0; i < STUBBORN_MOST; i++)
		if (str_eq(t->stubborn[i].name, name))
			return &t->stubborn[i];
	return NULL;
}

struct patience {
	const struct sweeper *s;
	int64_t deadline;
};

static bool
is_over(void *arg)
{
	const struct patience *p = arg;

	return sweep_over(p->s, p->deadline);
}

static void
remember(struct trash *t, const struct config *config, const char *name,
    const struct tree_watch *watch)
{
	struct stubborn *s = find(t, name);

	if (s == NULL)
		s = find(t, "");
	if (s == NULL)
		return;
	(void)snprintf(s->name, sizeof(s->name), "%s", name);
	s->bytes = cache_trash_bytes(config, name, watch);
	s->next_ms = clock_mono_ms() +
		     ((int64_t)RETRY_MS
			 << (s->tries < DOUBLINGS ? s->tries : DOUBLINGS));
	s->tries++;
}

static void
forget(struct trash *t, const char *name)
{
	struct stubborn *s = find(t, name);

	if (s != NULL)
		memset(s, 0, sizeof(*s));
}

/* Whoever emptied the trash by hand is believed. */
static void
forget_absent(struct trash *t, const struct cache_names *names)
{
	for (size_t i = 0; i < STUBBORN_MOST; i++) {
		bool there = false;

		for (size_t k = 0; k < names->count; k++)
			there |=
			    str_eq(t->stubborn[i].name, names->item[k].name);
		if (!there)
			memset(&t->stubborn[i], 0, sizeof(t->stubborn[i]));
	}
}

/* 0: gone, or not its turn. */
static int
purge_one(struct trash *t, const struct config *config, const char *name,
    const struct tree_watch *watch, struct err *e)
{
	const struct stubborn *known = find(t, name);

	if (known != NULL && clock_mono_ms() < known->next_ms)
		return 0;
	if (cache_trash_remove(config, name, watch, e) == 0) {
		forget(t, name);
		t->deleted++;
		return 0;
	}
	if (e->kind != ERR_GONE_AWAY)
		remember(t, config, name, watch);
	return -1;
}

int
trash_purge(
    struct trash *t, const struct sweeper *s, int64_t deadline, struct err *e)
{
	const struct config *config = s->ctx.config;
	struct patience patience = {s, deadline};
	const struct tree_watch watch = {is_over, &patience};
	struct arena a = ARENA_INIT;
	struct cache_names names = {NULL, 0};
	struct err one = ERR_INIT;
	int rc = cache_trash(config, &a, &names, e);

	t->settled = rc == 0;
	if (rc == 0)
		forget_absent(t, &names);
	for (size_t i = 0; i < names.count && t->settled; i++) {
		if (purge_one(t, config, names.item[i].name, &watch, &one) == 0)
			continue;
		t->settled = one.kind != ERR_GONE_AWAY;
		if (t->settled) {
			*e = one;
			rc = -1;
		}
	}
	arena_release(&a);
	return rc;
}

bool
trash_settled(const struct trash *t)
{
	return t->settled;
}

int64_t
trash_bytes(const struct trash *t)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < STUBBORN_MOST; i++)
		bytes += t->stubborn[i].bytes;
	return bytes;
}

int64_t
trash_deleted(const struct trash *t)
{
	return t->deleted;
}
