/* The command that a creation runs once. */
#include "run/init_command.h"
#include "lib/clock.h"
#include "run/env.h"
#include "run/reach.h"

#include <string.h>

#define TAIL 1000 /* bytes of output that a failure shows */
#define LOOK_MS 200

struct tail {
	char bytes[TAIL * 2];
	size_t size;
};

static void
tail_add(struct tail *t, const char *bytes, size_t size)
{
	if (size > TAIL) {
		bytes += size - TAIL;
		size = TAIL;
	}
	if (t->size + size > sizeof(t->bytes)) {
		memmove(t->bytes, t->bytes + t->size - TAIL, TAIL);
		t->size = TAIL;
	}
	/* It becomes part of a sentence, which a NUL would end. */
	for (size_t i = 0; i < size; i++)
		t->bytes[t->size++] = bytes[i] != '\0' ? bytes[i] : ' ';
}

static int
failed(const struct guest_event *ev, const struct tail *t, struct err *e)
{
	size_t shown = t->size < TAIL ? t->size : TAIL;
	const char *from = t->bytes + t->size - shown;

	if (ev->type == GUEST_LOST)
		return err_set(e, ERR_INIT_FAILED,
		    "init.cmd did not end by itself. The end of its output: "
		    "%.*s",
		    (int)shown, from);
	if (ev->exit.timed_out)
		return err_set(e, ERR_INIT_FAILED,
		    "init.cmd did not end in time (init.timeoutSec). The end "
		    "of its output: %.*s",
		    (int)shown, from);
	return err_set(e, ERR_INIT_FAILED,
	    "init.cmd ended with exit code %d. The end of its output: %.*s",
	    (int)ev->exit.code, (int)shown, from);
}

static int
follow(struct guest *g, bool (*gone)(void *arg), void *arg, struct err *e)
{
	struct tail tail = {.size = 0};
	struct guest_event ev;

	for (;;) {
		if (guest_next(g, -1, LOOK_MS, &ev, e) != 0)
			return -1;
		if (ev.type == GUEST_STDOUT || ev.type == GUEST_STDERR)
			tail_add(&tail, ev.bytes, ev.size);
		if (ev.type == GUEST_EXIT && ev.exit.code == 0)
			return 0;
		if (ev.type == GUEST_EXIT || ev.type == GUEST_LOST)
			return failed(&ev, &tail, e);
		if (gone(arg))
			return err_set(e, ERR_GONE_AWAY, "the client left");
	}
}

int
init_command_run(const struct run_ctx *ctx, struct run *run,
    const struct init_command *init, bool (*gone)(void *arg), void *arg,
    struct arena *a, struct err *e)
{
	struct wire_exec x = {
	    .script = init->cmd,
	    .cwd = "/work",
	    .user = run->user,
	    .timeout_ms = (uint32_t)init->timeout_sec * 1000,
	};

	if (run_env_read(ctx->config, run, NULL, a, &x.env, e) != 0)
		return -1;
	const struct guest_order order = {.exec = &x, .gone = gone, .arg = arg};
	struct guest *g = reach_exec(ctx, run, &order, e);
	if (g == NULL)
		return err_wrap(e, "init");
	int rc = follow(g, gone, arg, e);
	guest_free(g);
	return rc;
}
