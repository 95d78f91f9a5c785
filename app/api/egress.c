/* The allowlist of a run: what is on it, what was counted, changing it. */
#include "api/egress.h"
#include "api/egress_input.h"
#include "lib/str.h"
#include "run/egress.h"
#include "run/exit.h"
#include "json/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *
source(enum egress_origin origin)
{
	static const char *const names[] = {[EGRESS_BUILTIN] = "builtin",
	    [EGRESS_BOX] = "server",
	    [EGRESS_RUN] = "run"};

	return names[origin];
}

int
egress_run(struct call *c, struct run *run, struct err *e)
{
	if (call_run(c, run, e) != 0)
		return -1;
	if (!egress_has(run))
		return err_set(e, ERR_INPUT,
		    "The run's network is \"%s\"; only with \"allowlist\" does "
		    "a run have entries and a log.",
		    run->network);
	return str_eq(run->state, "running") ? 0 : run_not_running(run, e);
}

/* -- entries and counters -------------------------------------------------- */

static struct jw
begin(struct call *c, const struct run *run, struct buf *body)
{
	const struct egress_entry *list = NULL;
	size_t count = 0;
	struct jw w = call_json(body);

	if (egress_has(run))
		count = egress_entries(
		    c->ctx.config, run->egress_allow, c->x->arena, &list);
	jw_str(&w, "network", run->network);
	jw_key(&w, "entries");
	jw_open(&w, '[');
	for (size_t i = 0; i < count; i++) {
		jw_open(&w, '{');
		jw_str(&w, "entry", list[i].text);
		jw_str(&w, "source", source(list[i].origin));
		jw_close(&w, '}');
	}
	jw_close(&w, ']');
	return w;
}

/* The proxy faces what is hostile: what it says gets into an answer as what it
 * means, not as it is. */
static int
put_counts(struct call *c, struct run *run, struct jw *w, struct err *e)
{
	struct err ignored = ERR_INIT;
	const char *text;

	if (egress_counts(&c->ctx, run, c->x->arena, &text, e) != 0)
		return -1;
	json_auto_t *counts = read_object(text, strlen(text), &ignored);
	char *again = counts != NULL ? json_dumps(counts, JSON_COMPACT) : NULL;
	if (again == NULL)
		return err_set(e, ERR_PROXY, "what it counted is no JSON");
	jw_raw(w, "counters", again);
	free(again);
	return 0;
}

int
api_egress_get(struct call *c, struct err *e)
{
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);
	struct run run;

	if (call_run(c, &run, e) != 0)
		return -1;
	struct jw w = begin(c, &run, &body);
	if (egress_has(&run) && str_eq(run.state, "running") &&
	    put_counts(c, &run, &w, e) != 0)
		return -1;
	return call_answer(c, &w, 200, e);
}

int
api_egress_put(struct call *c, struct err *e)
{
	BUF_AUTO bytes = BUF_INIT(CALL_ANSWER_MAX);
	json_auto_t *body = NULL;
	const char *own;
	struct run run;

	if (call_body(c, &body, e) != 0 ||
	    egress_input_own(body, c->x->arena, &own, e) != 0 ||
	    egress_run(c, &run, e) != 0 ||
	    egress_set(&c->ctx, &run, own, e) != 0)
		return -1;
	struct jw w = begin(c, &run, &bytes);
	return call_answer(c, &w, 200, e);
}

/* -- asking without a run -------------------------------------------------- */

static void
put_refusal(struct jw *w, const struct egress_question *q, const char *host)
{
	char entry[ALLOW_TEXT], reason[ALLOW_TEXT * 4];

	allow_suggest(&q->host, q->port, entry);
	(void)snprintf(reason, sizeof(reason),
	    "No entry admits %s at port %u. \"egressAllow\": [\"%s\"] would "
	    "for "
	    "one run, SBX_EGRESS_ALLOW=%s for all runs of this box.",
	    host, q->port, entry, entry);
	jw_str(w, "reason", reason);
	jw_str(w, "suggestion", entry);
}

int
api_egress_check(struct call *c, struct err *e)
{
	BUF_AUTO bytes = BUF_INIT(CALL_ANSWER_MAX);
	json_auto_t *body = NULL;
	const struct egress_entry *list, *by;
	struct egress_question q;
	char host[ALLOW_TEXT];

	if (call_body(c, &body, e) != 0 ||
	    egress_input(body, c->x->arena, &q, e) != 0)
		return -1;
	size_t count = egress_entries(c->ctx.config, q.own, c->x->arena, &list);
	by = egress_admits(&q, list, count);
	allow_host_format(&q.host, host);
	struct jw w = call_json(&bytes);
	jw_bool(&w, "allowed", by != NULL);
	jw_str(&w, "host", host);
	jw_int(&w, "port", q.port);
	if (by != NULL) {
		jw_str(&w, "entry", by->text);
		jw_str(&w, "source", source(by->origin));
	} else {
		put_refusal(&w, &q, host);
	}
	return call_answer(c, &w, 200, e);
}
