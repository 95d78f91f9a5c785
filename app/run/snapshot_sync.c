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

static int
ask(void *arg, struct engine *en, const struct guest_place *at, struct err *e)
{
	struct guest_file *f = guest_file_open(en, at, arg, &patience, e);

	if (f == NULL)
		return -1;
	int rc = guest_file_done(f, e);
	guest_file_free(f);
	return rc;
}

/* Root makes or removes a directory in the run. No grant fences it. */
static int
do_probe(const struct run_ctx *ctx, struct run *run, enum wire_file_what what,
    const char *path, struct err *e)
{
	struct wire_file request = {
	    .what = what,
	    .generation = INT64_MAX,
	    .user = "0:0",
	    .root = "/",
	    .path = path,
	    .to = "",
	};

	return reach_do(ctx, run, ask, &request, e);
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
	    "from 24 on, and make the run anew.",
	    runtime);
}

static int
look_for(const struct run_ctx *ctx, const struct container_info *source,
    const char *path, bool *ret_there, struct err *e)
{
	const struct container_wait wait = {
	    .timeout_ms = ANSWER_MS, .gone = ctx->gone, .arg = ctx->arg};
	struct container_stat st;

	*ret_there = container_archive_stat(
			 ctx->engine, source->id, path, &wait, &st, e) == 0;
	return *ret_there || e->kind == ERR_ABSENT ? 0 : -1;
}

/* Whether what is written in that directory of the run is seen from outside. */
static int
probe(const struct run_ctx *ctx, struct run *run,
    const struct container_info *source, const char *dir, const char *token,
    bool *ret_seen, struct err *e)
{
	struct err ignored = ERR_INIT;
	char path[PROBE_SIZE];

	(void)snprintf(path, sizeof(path), "%s/.sbx-probe-%s", dir, token);
	if (do_probe(ctx, run, WIRE_FILE_MKDIR, path + 1, e) != 0)
		return -1;
	int rc = look_for(ctx, source, path, ret_seen, e);
	(void)do_probe(ctx, run, WIRE_FILE_REMOVE, path + 1, &ignored);
	return rc;
}

/* A run without a /tmp is not to get one by the try. */
static int
probe_tmp(const struct run_ctx *ctx, struct run *run,
    const struct container_info *source, const char *token, bool *ret_tmp,
    struct err *e)
{
	bool seen, there;

	if (look_for(ctx, source, "/tmp", &there, e) != 0)
		return -1;
	if (!there)
		return 0;
	if (probe(ctx, run, source, "/tmp", token, &seen, e) != 0)
		return -1;
	*ret_tmp = !seen;
	return 0;
}

/* One that has exited has written out what it could. Its init made at least
 * /work, unless the image has it: then there is no telling. */
static int
look_at_exited(const struct run_ctx *ctx, const struct container_info *source,
    struct err *e)
{
	bool there;

	if (look_for(ctx, source, FILES_ROOT, &there, e) != 0)
		return -1;
	return there ? 0 : kept_inside(source->runtime, e);
}

int
snapshot_sync(const struct run_ctx *ctx, struct run *run,
    const struct container_info *source, const char *token, bool *ret_tmp,
    struct err *e)
{
	bool seen;

	*ret_tmp = false;
	if (!str_starts(source->runtime, "runsc"))
		return 0;
	if (!str_eq(run->state, "running"))
		return look_at_exited(ctx, source, e);
	if (probe(ctx, run, source, "", token, &seen, e) != 0)
		return -1;
	if (!seen)
		return kept_inside(source->runtime, e);
	if (probe_tmp(ctx, run, source, token, ret_tmp, e) != 0)
		return -1;
	return flush(ctx, run, token, e);
}
