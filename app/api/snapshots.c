/* Taking, listing and deleting snapshots. */
#include "api/snapshots.h"
#include "lib/str.h"
#include "run/snapshot.h"

static void
view(struct jw *w, const struct snapshot *s)
{
	jw_str(w, "image", s->image);
	jw_str(w, "run", s->run);
	jw_str(w, "baseImage", s->base);
	jw_time(w, "createdAt", s->created_ms);
	jw_int(w, "size", s->bytes);
	jw_int(w, "layers", s->layers);
	if (*s->warm_path != '\0')
		jw_str(w, "warmPath", s->warm_path);
	if (!str_eq(s->excludes, "[]"))
		jw_raw(w, "excludes", s->excludes);
}

int
api_snapshot_take(struct call *c, struct err *e)
{
	BUF_AUTO bytes = BUF_INIT(CALL_ANSWER_MAX);
	json_auto_t *body = NULL;
	char id[ULID_SIZE];
	struct snapshot snapshot;
	struct run run;

	if (call_run_id(c, id, e) != 0 || call_body(c, &body, e) != 0 ||
	    run_get(c->ctx.redis, id, false, c->x->arena, &run, e) != 0 ||
	    snapshot_take(&c->ctx, &run, c->x->arena, &snapshot, e) != 0)
		return -1;
	struct jw w = call_json(&bytes);
	view(&w, &snapshot);
	return call_answer(c, &w, 201, e);
}

int
api_snapshot_list(struct call *c, struct err *e)
{
	BUF_AUTO bytes = BUF_INIT(CALL_ANSWER_MAX);
	struct snapshot_list list;

	if (snapshot_list(&c->ctx, c->x->arena, &list, e) != 0)
		return -1;
	struct jw w = call_json(&bytes);
	jw_key(&w, "snapshots");
	jw_open(&w, '[');
	for (size_t i = 0; i < list.count; i++) {
		jw_open(&w, '{');
		view(&w, &list.item[i]);
		jw_close(&w, '}');
	}
	jw_close(&w, ']');
	return call_answer(c, &w, 200, e);
}

int
api_snapshot_delete(struct call *c, struct err *e)
{
	const char *image;

	if (call_query(c, "image", &image, e) != 0)
		return -1;
	if (image == NULL)
		return err_set(e, ERR_INPUT,
		    "The query parameter image is required: which snapshot, as "
		    "GET /v1/snapshots names it.");
	if (snapshot_remove(&c->ctx, image, e) != 0)
		return -1;
	return exchange_reply(c->x, 204, NULL, NULL, 0, e);
}
