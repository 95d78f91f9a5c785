/* What every handler begins and ends with. */
#include "api/call.h"
#include "lib/str.h"
#include "json/read.h"

#define AT_ONCE_MS 250

struct jw
call_json(struct buf *body)
{
	struct jw w = JW_INIT(body);

	jw_open(&w, '{');
	return w;
}

int
call_answer(struct call *c, struct jw *w, int status, struct err *e)
{
	jw_str(w, "server", c->ctx.config->server);
	jw_close(w, '}');
	if (w->out->over)
		return err_set(
		    e, ERR_INTERNAL, "an answer over %zu bytes", w->out->max);
	return exchange_reply(
	    c->x, status, "application/json", w->out->data, w->out->size, e);
}

int
call_run_id(struct call *c, char to[ULID_SIZE], struct err *e)
{
	const char *id = router_param(c->route, c->x, "id");

	if (id == NULL || !ulid_parse(id, to))
		return err_set(e, ERR_RUN_ABSENT,
		    "There is no such run: a run id has 26 characters of "
		    "Crockford base 32.");
	return 0;
}

int
call_run(struct call *c, struct run *ret_run, struct err *e)
{
	char id[ULID_SIZE];

	if (call_run_id(c, id, e) != 0)
		return -1;
	return run_get(c->ctx.redis, id, false, c->x->arena, ret_run, e);
}

int
call_exec_id(struct call *c, char to[ULID_SIZE], struct err *e)
{
	const char *id = router_param(c->route, c->x, "eid");

	if (id == NULL || !ulid_parse(id, to))
		return err_set(e, ERR_EXEC_ABSENT,
		    "There is no such exec: its id has 26 characters of "
		    "Crockford base 32.");
	return 0;
}

int
call_query(
    struct call *c, const char *name, const char **ret_value, struct err *e)
{
	bool bad = false;
	const char *value = exchange_query(c->x, name, &bad);

	if (bad)
		return err_set(e, ERR_INPUT,
		    "The query parameter %s has a percent-escape that is "
		    "malformed, or stands for NUL (%%00).",
		    name);
	*ret_value = value != NULL && *value != '\0' ? value : NULL;
	return 0;
}

int
call_flag(struct call *c, const char *name, bool *set, struct err *e)
{
	const char *value = NULL;

	if (call_query(c, name, &value, e) != 0)
		return -1;
	if (value == NULL)
		return 0;
	*set = str_eq(value, "1") || str_eq(value, "true");
	if (*set || str_eq(value, "0") || str_eq(value, "false"))
		return 0;
	return err_set(
	    e, ERR_INPUT, "%s is 1 or 0, not \"%.100s\".", name, value);
}

static int
rest_of_body(struct call *c, struct buf *bytes, struct err *e)
{
	int rc =
	    exchange_body(c->x, bytes, EXCHANGE_BODY_MAX, EXCHANGE_BODY_MS, e);

	return rc > 0 ? err_set(e, ERR_INPUT, "The body did not end in time.")
		      : rc;
}

/* A body that does not come at once holds a thread for as long as its client
 * likes: of those there must be some left for who is quicker. (A `stream` route
 * was counted before its handler.) */
static int
take_body(struct call *c, struct buf *bytes, struct err *e)
{
	int rc = exchange_body(c->x, bytes, EXCHANGE_BODY_MAX, AT_ONCE_MS, e);

	if (rc <= 0)
		return rc;
	if (c->route->stream)
		return rest_of_body(c, bytes, e);
	if (call_long(c, e) != 0)
		return -1;
	rc = rest_of_body(c, bytes, e);
	call_long_end(c);
	return rc;
}

int
call_body(struct call *c, json_t **ret_body, struct err *e)
{
	BUF_AUTO bytes = BUF_INIT(EXCHANGE_BODY_MAX);

	if (take_body(c, &bytes, e) != 0)
		return -1;
	*ret_body = read_object(bytes.data, bytes.size, e);
	return *ret_body != NULL ? 0 : -1;
}

int
call_long(struct call *c, struct err *e)
{
	if (atomic_fetch_add(&c->gate->now, 1) < c->gate->max)
		return 0;
	call_long_end(c);
	return err_set(e, ERR_BUSY,
	    "All %d threads for long operations are taken; try again in a "
	    "moment.",
	    c->gate->max);
}

void
call_long_end(struct call *c)
{
	(void)atomic_fetch_sub(&c->gate->now, 1);
}
