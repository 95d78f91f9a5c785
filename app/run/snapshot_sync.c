/* Runtimes with a file system of their own. */
#include "run/snapshot_sync.h"
#include "docker/container_archive.h"
#include "guest/file.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/files.h"
#include "run/reach.h"

#include <stdint.h>
#include <stdio.h>

#define PROBE_SIZE 64
#define ANSWER_MS 30000

static const struct guest_patience patience = {-1, ANSWER_MS};

/* -- in the run ------------------------------------------------------------ */

struct change {
	const struct wire_file *request;
};

static int
change(
    void *arg, struct engine *en, const struct guest_place *at, struct err *e)
{
	const struct change *c = arg;
	struct guest_file *f =
	    guest_file_open(en, at, c->request, &patience, e);

	if (f == NULL)
		return -1;
	int rc = guest_file_done(f, e);
	guest_file_free(f);
	return rc;
}

/* Root makes or removes a directory in the run's root. No grant fences it. */
static int
do_probe(const struct run_ctx *ctx, struct run *run, enum wire_file_what what,
    const char *name, struct err *e)
{
	const struct wire_file request = {
	    .what = what,
	    .generation = INT64_MAX,
	    .user = "0:0",
	    .root = "/",
	    .path = name,
	    .to = "",
	};
	struct change c = {&request};

	return reach_do(ctx, run, change, &c, e);
}

static int
await_exit(struct guest *g, struct err *e)
{
	int64_t until = clock_mono_ms() + ANSWER_MS;
	struct guest_event ev;

	do {
		if (guest_next(g, -1, clock_left(until), &ev, e) != 0)
			return -1;
		if (ev.type == GUEST_EXIT && ev.exit.code == 0)
			return 0;
	} while (ev.type != GUEST_EXIT && ev.type != GUEST_LOST &&
		 clock_left(until) > 0);
	return err_set(
	    e, ERR_GUEST, "the run's files could not be written out");
}

static int
flush(const struct run_ctx *ctx, struct run *run, const char *token,
    struct err *e)
{
	static const char *const argv[] = {GUEST_PROGRAM, "sync", NULL};
	static const char *const env[] = {NULL};
	const struct wire_exec x = {
	    .argv = argv,
	    .cwd = "/",
	    .user = "0:0",
	    .env = env,
	    .timeout_ms = ANSWER_MS,
	    .generation = INT64_MAX,
	    .id = token,
	};
	const struct guest_order order = {.exec = &x};
	struct guest *g = reach_exec(ctx, run, &order, e);

	if (g == NULL)
		return -1;
	int rc = await_exit(g, e);
	guest_free(g);
	return rc;
}

/* -- from outside ---------------------------------------------------------- */

static int
kept_inside(const char *runtime, struct err *e)
{
	return err_set(e, ERR_CONFLICT,
	    "The runtime %.100s keeps to itself what the run writes, so that a "
	    "snapshot would lack it. Register it with --overlay2=none (or "
	    "--overlay=false, as its version has it), or use a Docker engine "
	    "from 25 on, and make the run anew.",
	    runtime);
}

static int
look_for(const struct run_ctx *ctx, const struct container_info *source,
    const char *name, struct err *e)
{
	const struct container_wait wait = {
	    .timeout_ms = ANSWER_MS, .gone = ctx->gone, .arg = ctx->arg};
	struct container_stat st;

	if (container_archive_stat(
		ctx->engine, source->id, name, &wait, &st, e) == 0)
		return 0;
	return e->kind == ERR_ABSENT ? kept_inside(source->runtime, e) : -1;
}

int
snapshot_sync(const struct run_ctx *ctx, struct run *run,
    const struct container_info *source, const char *token, struct err *e)
{
	struct err ignored = ERR_INIT;
	char name[PROBE_SIZE];

	if (!str_starts(source->runtime, "runsc"))
		return 0;
	/* One that has exited has written out what it could. Its init made at
	 * least this, unless the image has it: then there is no telling. */
	if (!str_eq(run->state, "running"))
		return look_for(ctx, source, FILES_ROOT, e);
	(void)snprintf(name, sizeof(name), "/.sbx-probe-%s", token);
	if (do_probe(ctx, run, WIRE_FILE_MKDIR, name + 1, e) != 0)
		return -1;
	int rc = look_for(ctx, source, name, e);
	(void)do_probe(ctx, run, WIRE_FILE_REMOVE, name + 1, &ignored);
	return rc == 0 ? flush(ctx, run, token, e) : -1;
}
