/* Taking a snapshot, step by step, each undone where a later one fails. */
#include "run/snapshot.h"
#include "docker/commit.h"
#include "docker/image.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/exit.h"
#include "run/hold.h"
#include "run/place.h"
#include "run/snapshot_config.h"
#include "run/snapshot_label.h"
#include "run/snapshot_stage.h"
#include "run/snapshot_sync.h"
#include "run/warm.h"

#include <stdio.h>
#include <string.h>

#define LINGER_MS 5000

struct taking {
	const struct run_ctx *ctx;
	struct run *run;
	struct arena *arena;
	struct hold hold;
	int64_t left_ms; /* when it was given up, monotonic */
	/* found out first */
	struct container_info source;
	struct image_info base;
	struct snapshot_base about;
	bool warm, flat;
	/* the result */
	char image[IMAGE_ID_SIZE];
	struct snapshot snapshot;
	struct label label[SNAPSHOT_LABELS];
};

static bool
gone(void *arg)
{
	struct taking *t = arg;

	return hold_lost(&t->hold) ||
	       (t->ctx->gone != NULL && t->ctx->gone(t->ctx->arg));
}

/* A commit goes on in the engine whatever becomes of its call: it is mostly
 * worth the while to stay, and to take away what it made. The run need not wait
 * for that. */
static bool
gone_long(void *arg)
{
	struct taking *t = arg;

	if (t->left_ms == 0 && gone(t)) {
		t->left_ms = clock_mono_ms();
		hold_thaw(&t->hold);
	}
	return t->left_ms != 0 && clock_mono_ms() - t->left_ms >= LINGER_MS;
}

/* -- looking --------------------------------------------------------------- */

static void
describe(struct taking *t, bool no_tmp)
{
	struct arena *a = t->arena;
	char *image = arena_printf(a, SNAPSHOT_PREFIX "%s", t->hold.token);

	str_lower(image);
	t->snapshot = (struct snapshot){
	    .image = image,
	    .run = t->run->id,
	    .base = t->run->image,
	    .warm_path = t->warm ? t->run->warm_path : "",
	    .excludes = snapshot_excludes(&t->about, no_tmp ? "/tmp" : NULL, a),
	    .created_ms = ulid_time(t->hold.token),
	    .layers = (t->flat ? 0 : t->base.layers) + 1 + t->warm,
	};
	snapshot_labels(
	    &t->snapshot, t->hold.token, t->ctx->instance, a, t->label);
}

/* That it has ended may be known to nobody yet. */
static int
notice_end(struct taking *t, struct err *e)
{
	bool present;

	if (!t->source.running && !t->hold.exited &&
	    run_exit_observe(t->ctx, t->run, &present, e) != 0)
		return -1;
	t->hold.exited = str_eq(t->run->state, "exited");
	return 0;
}

static int
look(struct taking *t, struct err *e)
{
	const struct run *run = t->run;
	char name[RUN_NAME_SIZE];

	t->warm = warm_has(run);
	run_name(run->id, name);
	if (container_inspect(t->ctx->engine, name, &t->source, e) != 0 ||
	    notice_end(t, e) != 0)
		return -1;
	/* By its id: its name may be another's by now. */
	if (image_inspect(t->ctx->engine, t->source.image_id, &t->base, e) != 0)
		return err_wrap(e, "the image of run %s", run->id);
	if (snapshot_base(t->base.config, t->warm ? run->warm_path : "",
		t->arena, &t->about, e) != 0)
		return -1;
	t->flat = t->base.layers + 1 + t->warm > SNAPSHOT_LAYERS_MAX ||
		  t->about.warm_in_volume;
	return 0;
}

/* -- committing ------------------------------------------------------------ */

/* What the image is to say, made of a container with those labels. */
static int
commit(struct taking *t, const char *container, const char *base,
    const struct label *inherited, size_t count, struct err *e)
{
	const struct snapshot_config config = {
	    base, t->label, SNAPSHOT_LABELS, inherited, count};
	const struct commit_watch watch = {gone_long, t};
	const char *json;

	if (snapshot_config(&config, t->arena, &json, e) != 0)
		return -1;
	if (commit_container(
		t->ctx->engine, container, json, &watch, t->image, e) != 0) {
		if (e->kind == ERR_ABSENT || e->kind == ERR_CONFLICT)
			e->kind = ERR_RUN_NOT_RUNNING;
		return -1;
	}
	if (t->left_ms != 0)
		return err_set(e, ERR_GONE_AWAY, "the caller left");
	return 0;
}

static int
commit_source(struct taking *t, const char *base, struct err *e)
{
	const struct container_info *source = &t->source;

	return commit(
	    t, source->id, base, source->labels, source->label_count, e);
}

/* The run's files as an image that a staging container can be made of. It has
 * no VOLUME where it is flat. */
static int
commit_part(struct taking *t, struct err *e)
{
	const struct commit_watch watch = {gone, t};

	if (!t->flat)
		return commit_source(t, "{}", e);
	return commit_flat(t->ctx->engine, t->source.id, t->label,
	    SNAPSHOT_LABELS, &watch, t->image, e);
}

/* Over it, what the volume holds, and the configuration. */
static int
commit_staged(struct taking *t, struct err *e)
{
	const struct stage_spec spec = {
	    .run = t->run,
	    .token = t->hold.token,
	    .image = t->image,
	    .base = &t->about,
	    .no_healthcheck = !t->flat && t->base.healthcheck,
	};
	const struct commit_watch watch = {gone, t};
	struct label labels[STAGE_LABELS];
	char id[CONTAINER_ID_SIZE];

	if (!t->warm)
		hold_thaw(&t->hold);
	if (stage_create(t->ctx, &spec, labels, id, e) != 0)
		return -1;
	if (t->warm && stage_copy(t->ctx, id, &watch, e) != 0)
		return -1;
	hold_thaw(&t->hold);
	return commit(t, id, t->base.config, labels, STAGE_LABELS, e);
}

static int
build(struct taking *t, struct err *e)
{
	bool tmp;

	if (look(t, e) != 0 || snapshot_sync(t->ctx, t->run, &t->source,
				   t->hold.token, &tmp, e) != 0)
		return -1;
	describe(t, tmp);
	if (hold_freeze(&t->hold, e) != 0)
		return -1;
	if (!t->warm && !t->flat)
		return commit_source(t, t->base.config, e);
	return commit_part(t, e) == 0 ? commit_staged(t, e) : -1;
}

/* From here on there is a snapshot, unless the run is going: whoever removes
 * it may have been told that nothing of it is left. */
static int
publish(struct taking *t, struct err *e)
{
	struct image_info made;

	hold_thaw(&t->hold);
	if (hold_check(&t->hold, e) != 0 ||
	    image_inspect(t->ctx->engine, t->image, &made, e) != 0)
		return -1;
	t->snapshot.bytes = made.bytes;
	image_info_release(&made);
	return image_tag(t->ctx->engine, t->image, SNAPSHOT_REPOSITORY,
	    t->snapshot.image + strlen(SNAPSHOT_PREFIX), e);
}

/* The client, or the run, was gone: the engine says no more than that. */
static int
explain(struct taking *t, struct err *e)
{
	if (e->kind == ERR_GONE_AWAY && t->hold.lost)
		return hold_was_lost(&t->hold, e);
	if (e->kind == ERR_ABSENT)
		e->kind = ERR_RUN_NOT_RUNNING;
	return run_exit_explain(t->ctx, t->run, e);
}

/* Whoever removed the run could not remove its volume beside the staging
 * container; or could, and the engine made another one for that. Of a run that
 * is there still the engine lets nobody take it. */
static void
undo(struct taking *t)
{
	struct err ignored = ERR_INIT;

	snapshot_undo(t->ctx, t->hold.token);
	if (t->warm && hold_check(&t->hold, &ignored) != 0 && t->hold.lost)
		(void)warm_remove(t->ctx, t->run->id, &ignored);
}

int
snapshot_take(const struct run_ctx *ctx, struct run *run, struct arena *a,
    struct snapshot *ret_snapshot, struct err *e)
{
	struct taking t = {.ctx = ctx, .run = run, .arena = a};

	if (!str_eq(run->state, "running") && !str_eq(run->state, "exited"))
		return run_not_running(run, e);
	if (hold_take(ctx, run, SNAPSHOT_HOLD, &t.hold, e) != 0)
		return -1;
	int rc = build(&t, e) == 0 ? publish(&t, e) : explain(&t, e);
	/* Its bytes are safe, or it failed: neither is the run's concern. */
	hold_thaw(&t.hold);
	stage_remove(ctx, t.hold.token);
	if (rc != 0)
		undo(&t);
	hold_release(&t.hold);
	container_info_release(&t.source);
	image_info_release(&t.base);
	*ret_snapshot = t.snapshot;
	return rc;
}
