/* Listing, showing and deleting runs. */
#include "api/runs.h"
#include "api/lease.h"
#include "api/run_input.h"
#include "api/run_view.h"
#include "lib/str.h"
#include "run/destroy.h"
#include "json/read.h"

#include <string.h>

#define LIST_MAX 1000

struct list_query {
	char cursor[ULID_SIZE];
	int64_t limit;
	bool paged;
	const char *label;
};

static int
list_query(struct call *c, struct list_query *q, struct err *e)
{
	const char *limit, *cursor;

	q->cursor[0] = '\0';
	q->limit = LIST_MAX;
	q->paged = false;
	if (call_query(c, "limit", &limit, e) != 0 ||
	    call_query(c, "cursor", &cursor, e) != 0 ||
	    call_query(c, "label", &q->label, e) != 0)
		return -1;
	q->paged = limit != NULL;
	if (limit != NULL && str_to_int(limit, 1, LIST_MAX, &q->limit) != 0)
		return err_set(e, ERR_INPUT,
		    "limit must be a whole number from 1 to %d.", LIST_MAX);
	if (cursor != NULL && !ulid_parse(cursor, q->cursor))
		return err_set(e, ERR_INPUT,
		    "cursor must be the nextCursor of an earlier page.");
	return q->label != NULL ? run_input_filter(q->label, e) : 0;
}

/* One page into the open array; the cursor moves on, to "" at the end. */
static int
list_page(struct call *c, struct list_query *q, struct jw *w, struct err *e)
{
	struct run_page page;

	if (run_list(c->ctx.redis, q->cursor, q->limit, q->label, c->x->arena,
		&page, e) != 0)
		return -1;
	for (size_t i = 0; i < page.count; i++) {
		jw_open(w, '{');
		run_view(w, &page.run[i]);
		jw_str(w, "server", c->ctx.config->server);
		jw_close(w, '}');
	}
	memcpy(q->cursor, page.next, sizeof(q->cursor));
	return 0;
}

int
api_run_list(struct call *c, struct err *e)
{
	struct list_query q;
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);

	if (list_query(c, &q, e) != 0)
		return -1;
	struct jw w = call_json(&body);
	jw_key(&w, "runs");
	jw_open(&w, '[');
	/* Who asks for no limit gets every run: the pinned client does. */
	do {
		if (list_page(c, &q, &w, e) != 0)
			return -1;
	} while (!q.paged && q.cursor[0] != '\0');
	jw_close(&w, ']');
	if (q.cursor[0] != '\0')
		jw_str(&w, "nextCursor", q.cursor);
	return call_answer(c, &w, 200, e);
}

/* The whole run, as it is now. */
static int
answer_run(struct call *c, const char *id, struct err *e)
{
	struct run run;
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);

	if (run_get(c->ctx.redis, id, false, c->x->arena, &run, e) != 0)
		return -1;
	struct jw w = call_json(&body);
	run_view(&w, &run);
	run_view_more(&w, &run);
	return call_answer(c, &w, 200, e);
}

int
api_run_get(struct call *c, struct err *e)
{
	char id[ULID_SIZE];

	return call_run_id(c, id, e) == 0 ? answer_run(c, id, e) : -1;
}

int
api_run_extend(struct call *c, struct err *e)
{
	json_auto_t *body = NULL;
	struct credential who;
	char id[ULID_SIZE];
	int64_t ttl_sec;

	if (call_run_id(c, id, e) != 0 || call_body(c, &body, e) != 0 ||
	    lease_credential(body, &who, e) != 0 ||
	    read_int(body, "ttlSec", 1, RUN_TTL_MAX, 0, &ttl_sec, e) != 0)
		return -1;
	if (ttl_sec == 0)
		return err_set(e, ERR_INPUT,
		    "ttlSec is required: how long the run lives from now on, 1 "
		    "to %d seconds.",
		    RUN_TTL_MAX);
	if (run_extend(c->ctx.redis, id, &who, ttl_sec * 1000, e) != 0)
		return -1;
	return answer_run(c, id, e);
}

int
api_run_delete(struct call *c, struct err *e)
{
	char id[ULID_SIZE];

	/* Nothing here looks at the client: a teardown is never aborted. */
	if (call_run_id(c, id, e) != 0 || run_teardown(&c->ctx, id, e) != 0)
		return -1;
	return exchange_reply(c->x, 204, NULL, NULL, 0, e);
}
