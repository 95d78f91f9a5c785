/* The way to a run's init. */
#include "run/reach.h"
#include "docker/volume.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/egress.h"
#include "run/exit.h"
#include "run/hold.h"
#include "store/lease.h"

#include <string.h>

#define ROOT_BYTES 65536
#define SERVE_MS 5000 /* for an init to serve, once its container runs */
#define KNOWN_MAX (INT64_C(1) << 52) /* a script's numbers are doubles */

static bool
by_socket(const struct run *run)
{
	return run->transport != NULL && str_eq(run->transport, "socket");
}

static struct guest_place
place(const struct run *run)
{
	bool socket = by_socket(run);

	return (struct guest_place){run->container,
	    socket ? run->guest_dir : "", socket ? run->guest_pid : 0,
	    run->guest_wire};
}

static void
choose_exec(struct run *run)
{
	run->transport = "exec";
	run->guest_dir = "";
	run->guest_pid = 0;
}

/* -- choosing -------------------------------------------------------------- */

int
reach_prepare(
    const struct run_ctx *ctx, struct run *run, struct arena *a, struct err *e)
{
	const struct config *config = ctx->config;
	const struct label labels[] = {
	    {"teploy.sandbox", "1"},
	    {"teploy.sandbox.run", run->id},
	    {"teploy.sandbox.instance", ctx->instance},
	};
	struct volume_info info;
	char name[RUN_VOLUME_SIZE];

	run->guest_wire = WIRE_VERSION;
	choose_exec(run);
	/* gVisor's sockets do not cross (FACTS G). */
	if (str_eq(config->guest, "exec") ||
	    (str_eq(config->guest, "auto") &&
		str_starts(config->runtime, "runsc")))
		return 0;
	run_volume(run->id, "guest", name);
	/* Bounded: what root of the run puts there is the host's memory. */
	const struct volume_spec spec = {
	    .name = name,
	    .type = "tmpfs",
	    .device = "tmpfs",
	    .options = "size=64k,nr_inodes=8,mode=0755",
	    .labels = labels,
	    .label_count = sizeof(labels) / sizeof(labels[0]),
	};
	if (volume_create(ctx->engine, &spec, &info, e) != 0)
		return -1;
	run->transport = "socket";
	run->guest_dir = arena_strdup(a, info.mountpoint);
	volume_info_release(&info);
	return 0;
}

size_t
reach_init_mounts(
    const struct config *config, struct mount to[REACH_INIT_MOUNTS])
{
	to[0] = (struct mount){
	    .type = "tmpfs", .target = REACH_ROOT, .bytes = ROOT_BYTES};
	to[1] = (struct mount){.type = "bind",
	    .source = config->init,
	    .target = GUEST_PROGRAM,
	    .readonly = true};
	return REACH_INIT_MOUNTS;
}

bool
reach_mount(
    const struct run *run, char name[RUN_VOLUME_SIZE], struct mount *ret_mount)
{
	if (!by_socket(run))
		return false;
	run_volume(run->id, "guest", name);
	*ret_mount = (struct mount){
	    .type = "volume",
	    .source = name,
	    .target = REACH_MOUNT,
	    .no_copy = true,
	};
	return true;
}

/* The pid of the container's init by now, 0 where it does not run. */
static int
look_up(const struct run_ctx *ctx, const struct run *run, int64_t *ret_pid,
    struct err *e)
{
	struct container_info info;
	char name[RUN_NAME_SIZE];

	run_name(run->id, name);
	if (container_inspect(ctx->engine, name, &info, e) != 0)
		return -1;
	*ret_pid = info.pid;
	container_info_release(&info);
	return 0;
}

static int
await_init(struct run *run, struct err *e)
{
	const struct guest_place at = place(run);

	return guest_wait(&at, SERVE_MS, e);
}

int
reach_settle(const struct run_ctx *ctx, struct run *run, struct err *e)
{
	if (by_socket(run) && (look_up(ctx, run, &run->guest_pid, e) != 0 ||
				  await_init(run, e) != 0)) {
		if (e->kind != ERR_GUEST ||
		    str_eq(ctx->config->guest, "socket"))
			return -1;
		choose_exec(run);
	}
	return run_reached(ctx->redis, run, e);
}

int
reach_again(
    const struct run_ctx *ctx, struct run *run, struct arena *a, struct err *e)
{
	struct volume_info info;
	char name[RUN_VOLUME_SIZE];

	if (!by_socket(run))
		return reach_settle(ctx, run, e);
	run_volume(run->id, "guest", name);
	if (volume_inspect(ctx->engine, name, &info, e) != 0)
		return -1;
	run->guest_dir = arena_strdup(a, info.mountpoint);
	volume_info_release(&info);
	return reach_settle(ctx, run, e);
}

int
reach_remove(const struct run_ctx *ctx, const char *id, struct err *e)
{
	char name[RUN_VOLUME_SIZE];

	run_volume(id, "guest", name);
	/* Left to the reaper where the engine does not let go of it. */
	if (volume_remove(ctx->engine, name, e) != 0)
		return e->kind == ERR_CONFLICT ? 0 : -1;
	return 0;
}

/* -- going there ----------------------------------------------------------- */

int
reach_modern(const struct run *run, int version, struct err *e)
{
	if (run->guest_wire >= version)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
	    "Run %s was made before an upgrade of this box, and its init does "
	    "not know this; runs made since do.",
	    run->id);
}

/*
 * The way was lost: true where there is another by now, which is recorded. A
 * restart by hand makes another init. An engine before 24 that restarts under
 * its containers (live-restore) takes the volume away from the host, and root
 * of the run can spoil the socket, for good: then Docker's exec is left.
 */
static bool
found_again(const struct run_ctx *ctx, struct run *run, const struct err *e)
{
	const struct guest_place before = place(run);
	struct err ignored = ERR_INIT;
	int64_t pid;

	if (e->kind != ERR_GUEST || !by_socket(run) ||
	    look_up(ctx, run, &pid, &ignored) != 0 || pid == 0)
		return false;
	if (pid == run->guest_pid) {
		/* An older init does not listen for Docker's exec then. */
		bool spoilt = run->guest_wire >= REACH_DOCKER &&
			      !str_eq(ctx->config->guest, "socket") &&
			      guest_spoilt(&before);
		if (guest_visible(&before) && !spoilt)
			return false;
		choose_exec(run);
	} else {
		run->guest_pid = pid;
		if (await_init(run, &ignored) != 0)
			return false;
	}
	return run_reached(ctx->redis, run, &ignored) == 0;
}

/*
 * The init refuses what was admitted. Where it knows of a grant that Redis does
 * not, Redis was set back, and would go on to admit in vain until somebody is
 * granted the run: it learns of it, for the next try.
 */
static void
teach_redis(const struct run_ctx *ctx, struct run *run)
{
	struct err ignored = ERR_INIT;
	int64_t seen = run->lease_generation, known = 0;

	if (reach_fence(ctx, run, seen, &known, &ignored) == 0 && known > seen)
		(void)lease_known(ctx->redis, run->id, seen, known, &ignored);
}

int
reach_explain(const struct run_ctx *ctx, struct run *run, struct err *e)
{
	const struct err was = *e;
	struct err ignored = ERR_INIT;
	bool present;

	if (e->kind == ERR_LEASE_SUPERSEDED)
		teach_redis(ctx, run);
	if (by_socket(run) && e->kind == ERR_GUEST) {
		(void)run_exit_await(ctx, run, &present, &ignored);
		e->kind = ERR_RUN_NOT_RUNNING;
	}
	(void)run_exit_explain(ctx, run, e);
	if (str_eq(e->text, was.text))
		e->kind = was.kind;
	return -1;
}

/*
 * The run was frozen under an operation, as its record tells: 1 where that is
 * over, and the operation was not begun, or may be begun twice; -1 where that
 * is why it failed; 0 otherwise.
 */
static int
was_frozen(const struct run_ctx *ctx, const struct run *run, bool twice,
    int64_t until, struct err *e)
{
	bool held, begun = e->kind == ERR_GUEST;
	struct err now = ERR_INIT;

	if (e->kind != ERR_GUEST && e->kind != ERR_RUN_NOT_RUNNING)
		return 0;
	int rc = hold_await_now(
	    ctx, run->id, begun && !twice ? 0 : until, &held, &now);
	if (!held)
		return 0;
	if (rc == 0 && (twice || !begun))
		return 1;
	if (rc != 0)
		*e = now;
	return -1;
}

static int
do_once_more(const struct run_ctx *ctx, struct run *run, bool twice,
    int (*op)(void *arg, struct engine *en, const struct guest_place *at,
	struct err *e),
    void *arg, struct err *e)
{
	int64_t until = clock_mono_ms() + HOLD_AWAIT_MS;
	int frozen;

	if (hold_await(ctx, run, until, e) != 0)
		return -1;
	do {
		struct guest_place at = place(run);

		if (op(arg, ctx->engine, &at, e) == 0)
			return 0;
		frozen = was_frozen(ctx, run, twice, until, e);
	} while (frozen > 0);
	if (frozen < 0 || !found_again(ctx, run, e))
		return -1;
	struct guest_place at = place(run);
	return op(arg, ctx->engine, &at, e);
}

int
reach_do(const struct run_ctx *ctx, struct run *run,
    int (*op)(void *arg, struct engine *en, const struct guest_place *at,
	struct err *e),
    void *arg, struct err *e)
{
	if (do_once_more(ctx, run, false, op, arg, e) == 0)
		return 0;
	return reach_explain(ctx, run, e);
}

struct starting {
	const struct run_ctx *ctx;
	const struct run *run;
	const struct guest_order *order;
	struct guest *guest;
};

static int
start(void *arg, struct engine *en, const struct guest_place *at, struct err *e)
{
	struct starting *s = arg;

	if (egress_confine(s->ctx, s->run, e) != 0)
		return -1;
	s->guest = guest_exec(en, at, s->order, e);
	return s->guest != NULL ? 0 : -1;
}

struct guest *
reach_exec(const struct run_ctx *ctx, struct run *run,
    const struct guest_order *order, struct err *e)
{
	struct wire_exec x = *order->exec;
	struct guest_order mine = *order;
	struct starting s = {ctx, run, &mine, NULL};

	mine.exec = &x;
	if ((x.keep || x.feedable || x.cols != 0) &&
	    reach_modern(run, REACH_OBJECTS, e) != 0)
		return NULL;
	if (run->guest_wire < REACH_OBJECTS)
		x.id = NULL;
	x.leaving = x.leaving && run->guest_wire >= REACH_CONDITIONS;
	(void)reach_do(ctx, run, start, &s, e);
	return s.guest;
}

/* -- fences ---------------------------------------------------------------- */

struct fencing {
	uint64_t generation, known;
	bool done;
};

static int
fence(void *arg, struct engine *en, const struct guest_place *at, struct err *e)
{
	struct fencing *f = arg;

	/* A one-shot init has nothing to fence. */
	f->done = *at->dir == '\0' && at->wire < 3;
	return f->done
		   ? 0
		   : guest_fence(en, at, f->generation, &f->done, &f->known, e);
}

int
reach_fence(const struct run_ctx *ctx, struct run *run, int64_t generation,
    int64_t *ret_known, struct err *e)
{
	struct fencing f = {.generation = (uint64_t)generation};

	*ret_known = 0;
	if (!str_eq(run->state, "running"))
		return 0;
	if (do_once_more(ctx, run, true, fence, &f, e) != 0) {
		const struct err was = *e;

		/* One that is paused is as little over as one that is silent.
		 */
		(void)reach_explain(ctx, run, e);
		return e->kind == ERR_RUN_NOT_RUNNING &&
			       !str_eq(e->text, was.text)
			   ? 0
			   : -1;
	}
	if (f.done)
		return 0;
	if (f.known < f.generation || f.known > KNOWN_MAX)
		return err_set(e, ERR_GUEST, "the run's init made no sense");
	*ret_known = (int64_t)f.known;
	return 0;
}
