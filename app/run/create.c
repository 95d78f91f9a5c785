/* Making a run, step by step, each undone where a later one fails. */
#include "run/create.h"
#include "docker/container.h"
#include "docker/image.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/destroy.h"
#include "run/egress.h"
#include "run/env.h"
#include "run/place.h"
#include "run/reach.h"
#include "run/snapshot_label.h"
#include "run/warm.h"

#include <stdio.h>
#include <string.h>

#define LABELS 18
#define REFRESH_MS 4000 /* of RUN_CREATING_MS and IDEM_MARK_MS */

/* A creation on its way: what the engine's callbacks need. */
struct making {
	const struct run_ctx *ctx;
	const struct run_watch *watch;
	const struct idem *idem;
	const char *id; /* NULL until there is a record */
	int64_t refreshed;
	bool healthcheck; /* the image has one */
	bool snapshot;	  /* the image is one, or was made of one */
	/* A working directory that it names is not to be made: where a snapshot
	 * has none, its run removed it. */
	bool no_working_dir;
};

/* A refresh that fails is seen by run_started, which finds no record or another
 * creator's key, and has everything undone. */
static void
refresh(const struct making *m)
{
	struct err ignored = ERR_INIT;
	enum idem_state state;
	char id[ULID_SIZE];

	if (m->id != NULL)
		(void)run_creating(m->ctx->redis, m->id, NULL, &ignored);
	if (m->idem != NULL)
		(void)idem_begin(m->ctx->redis, m->idem, &state, id, &ignored);
}

static bool
making_gone(void *arg)
{
	struct making *m = arg;
	int64_t now = clock_mono_ms();

	if (now - m->refreshed > REFRESH_MS) {
		refresh(m);
		m->refreshed = now;
	}
	return m->watch->gone != NULL && m->watch->gone(m->watch->arg);
}

/* For what is not broken off: the engine would go on, and end later. */
static bool
making_waits(void *arg)
{
	(void)making_gone(arg);
	return false;
}

static int
tell(struct making *m, const char *phase, int64_t current, int64_t total)
{
	if (m->watch->progress == NULL)
		return 0;
	return m->watch->progress(m->watch->arg, phase, current, total);
}

/* The next step begins, unless the client left. */
static int
step(struct making *m, const char *phase, struct err *e)
{
	if (tell(m, phase, 0, 0) != 0 || making_gone(m))
		return err_set(e, ERR_GONE_AWAY, "the client left");
	return 0;
}

static int
pull_progress(void *arg, int64_t current, int64_t total)
{
	return tell(arg, "pull", current, total);
}

/* The image is here, or is pulled; a snapshot is never pulled. */
static int
get_image(struct making *m, const char *reference, struct image_info *ret_image,
    struct err *e)
{
	struct engine *en = m->ctx->engine;

	if (image_inspect(en, reference, ret_image, e) == 0)
		return 0;
	if (e->kind != ERR_IMAGE_ABSENT)
		return -1;
	if (snapshot_named(reference))
		return err_set(e, ERR_IMAGE_ABSENT,
		    "There is no snapshot %s; GET /v1/snapshots lists them.",
		    reference);
	struct image_pull how = {
	    m->ctx->config->docker_config, pull_progress, making_gone, m};
	if (step(m, "pull", e) != 0 || image_pull(en, reference, &how, e) != 0)
		return -1;
	return image_inspect(en, reference, ret_image, e);
}

/* Labels that rebuild a lost record. All keys of ours on every create: an image
 * that was committed from a run carries old ones (DESIGN 3). */
static size_t
make_labels(const struct run_ctx *ctx, const struct run *run, struct arena *a,
    struct label *to)
{
	const struct label labels[] = {
	    {"teploy.sandbox", "1"},
	    {"teploy.sandbox.run", run->id},
	    {"teploy.sandbox.server", ctx->config->server},
	    {"teploy.sandbox.instance", ctx->instance},
	    {"teploy.sandbox.created",
		arena_printf(a, "%lld", (long long)run->created_ms)},
	    {"teploy.sandbox.ttl",
		arena_printf(a, "%lld", (long long)run->ttl_sec)},
	    {"teploy.sandbox.network", run->network},
	    {"teploy.sandbox.image", run->image},
	    {"teploy.sandbox.user", run->user},
	    {"teploy.sandbox.labels", run->labels},
	    {"teploy.sandbox.egress", run->egress_allow},
	    {"teploy.sandbox.memory",
		arena_printf(a, "%lld", (long long)run->memory_mb)},
	    {"teploy.sandbox.cpus", arena_printf(a, "%.9g", run->cpus)},
	    {"teploy.sandbox.autoextend", run->auto_extend ? "1" : "0"},
	    {"teploy.sandbox.transport", run->transport},
	    {"teploy.sandbox.subnet", run->subnet},
	    {"teploy.sandbox.wire",
		arena_printf(a, "%lld", (long long)run->guest_wire)},
	    {"teploy.sandbox.pids",
		arena_printf(a, "%lld", (long long)run->pids)},
	};

	_Static_assert(sizeof(labels) == LABELS * sizeof(*to), "LABELS");
	memcpy(to, labels, sizeof(labels));
	return sizeof(labels) / sizeof(labels[0]);
}

static int
make_container(struct making *m, const struct run *run, struct arena *a,
    char ret_id[CONTAINER_ID_SIZE], struct err *e)
{
	/* A gVisor then writes where the engine sees it (DESIGN 6); engines
	 * before API 1.43 pass nothing on. */
	static const struct label gvisor[] = {
	    {"dev.gvisor.flag.overlay2", "none"}};
	static const char socket_path[] = REACH_MOUNT "/" GUEST_SOCKET;
	static const char *const drop[] = {
	    "NET_RAW", "MKNOD", "AUDIT_WRITE", NULL};
	const struct run_ctx *ctx = m->ctx;
	struct mount mounts[REACH_INIT_MOUNTS + 2];
	char name[RUN_NAME_SIZE], volume[RUN_VOLUME_SIZE];
	char warm[RUN_VOLUME_SIZE];
	size_t mount_count = reach_init_mounts(ctx->config, mounts);
	bool socket = reach_mount(run, volume, &mounts[mount_count]);
	mount_count += socket;
	mount_count += warm_mount(run, warm, &mounts[mount_count]);
	/* All in here, and no Cmd: see docker/commit.h. */
	const char *const entrypoint[] = {GUEST_PROGRAM, "run", "--user",
	    run->user, "--memory",
	    arena_printf(a, "%lld", (long long)run->memory_mb), "--own",
	    run->warm_path, socket ? "--socket" : NULL, socket_path, NULL};
	struct label labels[LABELS + WARM_LABELS];

	run_name(run->id, name);
	struct container_spec spec = {
	    .name = name,
	    .image = run->image,
	    /* Root, in a way that a commit leaves as it was. */
	    .user = *run->user != '\0' ? "0:0" : "",
	    .entrypoint = entrypoint,
	    .no_healthcheck = m->healthcheck,
	    .working_dir = m->no_working_dir ? "/" : NULL,
	    .labels = labels,
	    .label_count = make_labels(ctx, run, a, labels) +
			   warm_labels(run, labels + LABELS),
	    .mounts = mounts,
	    .mount_count = mount_count,
	    .network = str_eq(run->network, "open") ? "bridge" : "none",
	    .annotations = gvisor,
	    .annotation_count = str_starts(ctx->config->runtime, "runsc"),
	    .runtime = ctx->config->runtime,
	    .memory_bytes = run->memory_mb << 20,
	    .nano_cpus = (int64_t)(run->cpus * 1e9 + 0.5),
	    .pids = run->pids,
	    .shm_bytes = ctx->config->shm_mb << 20,
	    .cap_drop = drop,
	    .timeout_ms = warm_fill_ms(run),
	    .gone = making_waits,
	    .gone_arg = m,
	};
	egress_attach(run, a, &spec);
	return container_create(ctx->engine, &spec, ret_id, e);
}

/* From a fresh record to a running container. */
static int
build(struct making *m, const struct run_request *rq, struct run *run,
    struct arena *a, struct err *e)
{
	const struct run_ctx *ctx = m->ctx;
	const struct tree_watch copying = {making_gone, m};
	char container[CONTAINER_ID_SIZE];

	if (run_env_write(ctx->config, run->id, rq->env, e) != 0)
		return -1;
	if (step(m, "create", e) != 0)
		return -1;
	if (reach_prepare(ctx, run, a, e) != 0 ||
	    warm_prepare(ctx, run, m->snapshot, &copying, a, e) != 0 ||
	    egress_prepare(ctx, run, a, e) != 0 ||
	    make_container(m, run, a, container, e) != 0)
		return err_wrap(e, "creating the container");
	if (run_creating(ctx->redis, run->id, container, e) != 0 ||
	    warm_settle(ctx, run, a, e) != 0)
		return -1;
	run->container = arena_strdup(a, container);
	if (step(m, "start", e) != 0)
		return -1;
	if (container_start(ctx->engine, container, making_waits, m, e) != 0)
		return err_wrap(e, "starting the container");
	if (reach_settle(ctx, run, e) != 0 ||
	    (egress_has(run) && egress_start(ctx, run, e) != 0))
		return -1;
	if (rq->init.cmd != NULL &&
	    (step(m, "init", e) != 0 || init_command_run(ctx, run, &rq->init,
					    making_gone, m, a, e) != 0))
		return -1;
	if (making_gone(m))
		return err_set(e, ERR_GONE_AWAY, "the client left");
	return 0;
}

int
run_make(const struct run_ctx *ctx, const struct run_request *rq,
    const struct run_watch *watch, struct arena *a, struct run *ret_run,
    struct err *e)
{
	struct making m = {.ctx = ctx,
	    .watch = watch,
	    .idem = rq->idem,
	    .refreshed = clock_mono_ms()};
	struct image_info image;
	struct err undo = ERR_INIT;

	if (get_image(&m, rq->image, &image, e) != 0)
		return -1;
	struct run run = {
	    .image = rq->image,
	    .network = rq->network,
	    .state = "running",
	    .container = "",
	    .user = arena_strdup(a, image.user),
	    .labels = rq->labels,
	    .egress_allow = rq->egress_allow,
	    .warm_repo = rq->warm_repo,
	    .warm_path = rq->warm_path,
	    .subnet = "",
	    .ttl_sec = rq->ttl_sec,
	    .memory_mb = rq->memory_mb,
	    .pids = rq->pids,
	    .cpus = rq->cpus,
	    .exit_reason = "",
	    .lease_holder = "",
	    .auto_extend = rq->auto_extend,
	};
	m.healthcheck = image.healthcheck;
	m.snapshot = snapshot_is(image.config);
	m.no_working_dir = image.working_dir && m.snapshot;
	image_info_release(&image);
	if (run_create(ctx->redis, &run, ctx->config->max_memory_mb, e) != 0)
		return -1;
	m.id = run.id;
	if (build(&m, rq, &run, a, e) != 0)
		goto undo_record;
	if (run_started(ctx->redis, run.id, rq->idem, e) != 0) {
		/* Perhaps it has, and its key answers with it now: who asks
		 * again must not be given a run that is being undone. If it has
		 * not, its mark lapses. */
		if (e->kind == ERR_STORE_AWAY && rq->idem != NULL)
			return -1;
		goto undo_record;
	}
	*ret_run = run;
	return 0;

undo_record:
	/* What fails here the reaper finishes: the record is `destroying`, or
	 * lapses. With Redis away the container goes all the same. */
	redis_settle(ctx->redis);
	if (run_teardown(ctx, run.id, &undo) != 0)
		(void)run_remove(ctx, run.id, &undo);
	return -1;
}
