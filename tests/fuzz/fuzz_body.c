/*
 * The JSON bodies of requests (json/read; api/run_input, exec_input and
 * egress_input): what is taken keeps to its bounds, is the same from the same
 * JSON written anew, and is taken by those behind it. A command is decoded by
 * the run's init as what it was; of what a run may reach the answer to
 * egress/check and the proxy say the same.
 */
#include "../../proxy/policy.h"
#include "api/egress_input.h"
#include "api/exec_input.h"
#include "api/lease.h"
#include "api/run_input.h"
#include "check.h"
#include "lib/str.h"
#include "json/read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (4u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct config config = {
    .egress_allow = "box.example:8443, .corp.example",
    .egress_private = "10.1.0.0/16",
    .egress_sni = "on",
};

static void
put_strings(struct buf *out, const char *const *list)
{
	for (; list != NULL && *list != NULL; list++)
		buf_addf(out, "%s\n", *list);
	buf_adds(out, "end\n");
}

static int
put_refusal(struct buf *out, const struct err *e)
{
	check(e->kind == ERR_INPUT && *e->text != '\0');
	buf_addf(out, "refused: %s\n", e->text);
	return -1;
}

/* -- a run ----------------------------------------------------------------- */

static void
check_run(const struct run_request *rq)
{
	check(!str_blank(rq->image) && rq->ttl_sec >= 1 &&
	      rq->ttl_sec <= RUN_TTL_MAX);
	check(rq->memory_mb >= 6 && rq->pids >= 1 && rq->cpus >= 0.01);
	check(str_eq(rq->network, "none") || str_eq(rq->network, "open") ||
	      str_eq(rq->network, "allowlist"));
	check(*rq->egress_allow == '\0' || str_eq(rq->network, "allowlist"));
	check((*rq->warm_repo == '\0') == (*rq->warm_path == '\0'));
	check(*rq->warm_path == '\0' || *rq->warm_path == '/');
	json_auto_t *labels = json_loads(rq->labels, 0, NULL);
	check(*rq->labels == '\0' || json_object_size(labels) > 0);
	for (const char *const *v = rq->env; *v != NULL; v++)
		check(strchr(*v, '=') != NULL && **v != '=');
}

static void
put_run(struct buf *out, const json_t *body)
{
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct run_request rq;

	if (run_input(body, &a, &rq, &e) == 0) {
		check_run(&rq);
		buf_addf(out, "%s %s %s %s %s %s %d %s %lld\n", rq.image,
		    rq.network, rq.labels, rq.egress_allow, rq.warm_repo,
		    rq.warm_path, rq.auto_extend,
		    rq.init.cmd != NULL ? rq.init.cmd : "",
		    (long long)rq.init.timeout_sec);
		buf_addf(out, "%lld %lld %lld %.17g\n", (long long)rq.ttl_sec,
		    (long long)rq.memory_mb, (long long)rq.pids, rq.cpus);
		put_strings(out, rq.env);
	} else {
		(void)put_refusal(out, &e);
	}
	arena_release(&a);
}

/* -- a command ------------------------------------------------------------- */

static void
put_wire(struct buf *out, const struct wire_exec *x)
{
	put_strings(out, x->argv);
	put_strings(out, x->env);
	buf_addf(out, "%s %s %s %u %u %u %d%d%d%d%d\n",
	    x->script != NULL ? x->script : "no script", x->cwd, x->user,
	    x->timeout_ms, x->cols, x->rows, x->open_stdin, x->keep, x->go_on,
	    x->feedable, x->leaving);
}

/* It fits a frame, and the run's init has it so. */
static void
check_frame(struct wire_exec *x, const struct buf *told)
{
	BUF_AUTO frame = BUF_INIT(WIRE_MAX + WIRE_HEAD);
	BUF_AUTO store = BUF_INIT(8 * WIRE_MAX);
	BUF_AUTO again = BUF_INIT(TEXT_MAX);
	struct err e = ERR_INIT;
	struct wire_exec got;
	enum wire_type type;
	const char *payload;
	size_t size, used;

	x->id = "01KAB0000000000000000000AB";
	x->generation = 7;
	wire_put_exec(&frame, x);
	check(!frame.over);
	check(wire_next(frame.data, frame.size, &type, &payload, &size, &used,
		  &e) == 1 &&
	      type == WIRE_EXEC && used == frame.size);
	check(wire_get_exec(payload, size, &store, &got, &e) == 0);
	put_wire(&again, &got);
	check(again.size == told->size &&
	      memcmp(again.data, told->data, told->size) == 0);
}

static void
put_exec(struct buf *out, const json_t *body)
{
	BUF_AUTO told = BUF_INIT(TEXT_MAX);
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct exec_request rq;

	if (exec_input(body, &a, &rq, &e) == 0) {
		const struct wire_exec *x = &rq.wire;

		check((x->argv != NULL) != (x->script != NULL));
		check(str_starts(x->cwd, "/work") &&
		      strstr(x->cwd, "/../") == NULL);
		check(x->timeout_ms >= 1000 && x->cols <= EXEC_SIZE_MAX &&
		      (x->cols == 0) == (x->rows == 0));
		check(x->open_stdin || rq.stdin_size == 0);
		check(!x->go_on || x->keep);
		put_wire(&told, x);
		check_frame(&rq.wire, &told);
		buf_add(out, told.data, told.size);
		buf_addf(out, "%d %d\n", (int)rq.format, rq.detach);
		buf_add(out, rq.stdin_text, rq.stdin_size);
	} else {
		(void)put_refusal(out, &e);
	}
	arena_release(&a);
}

/* -- egress ---------------------------------------------------------------- */

/* The proxy takes the policy, reads the own entries back from it, and admits
 * what the dry run says. */
static bool
check_policy(const struct egress_question *q, struct arena *a)
{
	BUF_AUTO text = BUF_INIT(EGRESS_TEXT_MAX);
	const struct egress_entry *list;
	struct err e = ERR_INIT;
	size_t count = egress_entries(&config, q->own, a, &list);
	bool told = egress_admits(q, list, count) != NULL;

	egress_text(&config, q->own, &text);
	struct policy *p = policy_parse(text.data, text.size, &e);
	check(p != NULL && !text.over);
	check(policy_admits(p, &q->host, q->port) == told);
	check(str_eq(egress_text_own(text.data, a), q->own));
	policy_free(p);
	return told;
}

static void
put_question(struct buf *out, const json_t *body)
{
	struct arena a = ARENA_INIT;
	struct egress_question q;
	struct err e = ERR_INIT;
	char host[ALLOW_TEXT];

	if (egress_input(body, &a, &q, &e) == 0) {
		check(q.port > 0);
		allow_host_format(&q.host, host);
		buf_addf(out, "%s %u %s %d\n", host, q.port, q.own,
		    check_policy(&q, &a));
	} else {
		(void)put_refusal(out, &e);
	}
	arena_release(&a);
}

/* -- all of them ----------------------------------------------------------- */

static void
put_credential(struct buf *out, const json_t *body)
{
	struct credential who;
	struct err e = ERR_INIT;

	if (lease_credential(body, &who, &e) != 0) {
		(void)put_refusal(out, &e);
		return;
	}
	check(strlen(who.owner) <= LEASE_OWNER_MAX && who.generation >= 0);
	buf_addf(out, "%s %lld\n", who.owner, (long long)who.generation);
}

static int
put_all(struct buf *out, const char *bytes, size_t size)
{
	struct err e = ERR_INIT;
	json_auto_t *body = read_object(bytes, size, &e);

	if (body == NULL) {
		check(e.kind == ERR_JSON && *e.text != '\0');
		return -1;
	}
	put_run(out, body);
	put_exec(out, body);
	put_question(out, body);
	put_credential(out, body);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BUF_AUTO in = BUF_INIT(size);
	BUF_AUTO one = BUF_INIT(TEXT_MAX);
	BUF_AUTO two = BUF_INIT(TEXT_MAX);

	buf_add(&in, data, size);
	if (put_all(&one, in.data, in.size) != 0 ||
	    in.size == strspn(in.data, " \t\r\n"))
		return 0;
	json_auto_t *body = json_loadb(in.data, in.size, JSON_ALLOW_NUL, NULL);
	char *again = json_dumps(body, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	check(again != NULL && put_all(&two, again, strlen(again)) == 0);
	free(again);
	check(
	    one.size == two.size && memcmp(one.data, two.data, one.size) == 0);
	return 0;
}
