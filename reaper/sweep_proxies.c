/*
 * The proxies of allowlist runs: one that died while its run lives is started
 * again, and one that runs with another policy than it should (SBX_EGRESS_*
 * have changed, or whoever changed the run's entries could not tell it) is
 * told. And the networks of runs that are gone.
 */
#include "lib/log.h"
#include "lib/str.h"
#include "run/egress.h"
#include "run/egress_network.h"
#include "store/run.h"
#include "sweep.h"

#define PAGE 1000

static void
keep_one(struct sweeper *s, const char *id)
{
	const char *done = NULL;
	struct err e = ERR_INIT;
	bool failed = egress_keep(&s->ctx, id, &done, &e) != 0;

	s->failed += failed;
	s->dealt += done != NULL;
	if (!failed && done == NULL)
		return;
	LOG_AT(failed ? LEVEL_ERROR : LEVEL_INFO, w,
	    failed ? "proxy.keeping_failed" : "proxy.kept")
	{
		jw_str(&w, "run", id);
		if (done != NULL)
			jw_str(&w, "done", done);
		if (failed)
			jw_str(&w, "error", e.text);
	}
}

/* Where a run was made and the answer to that was lost. */
static int
clean_networks(struct sweeper *s, struct err *e)
{
	int64_t removed;
	int rc = egress_network_clean(&s->ctx, &removed, e);

	s->dealt += removed;
	if (removed > 0)
		LOG_EVENT(w, "networks.removed")
		{
			jw_int(&w, "count", removed);
		}
	return rc;
}

int
proxies_round(
    struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e)
{
	struct run_page page = {0};

	if (s->away)
		return 0;
	do {
		if (run_all(s->ctx.redis, page.next, PAGE, &s->arena, &page,
			e) != 0)
			return -1;
		for (size_t i = 0; i < page.count; i++) {
			if (sweep_over(s, deadline)) {
				*wait_ms = 0;
				return 0;
			}
			if (str_eq(page.run[i].state, "running") &&
			    egress_has(&page.run[i]))
				keep_one(s, page.run[i].id);
		}
	} while (page.next[0] != '\0');
	return clean_networks(s, e);
}
