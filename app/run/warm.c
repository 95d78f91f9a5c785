/* The warm volume of a run: made, mounted, taken down. */
#include "run/warm.h"
#include "docker/volume.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/snapshot_stage.h"
#include "store/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_MS 10000  /* who has it longer is stuck, or stopped */
#define FILL_MS 600000 /* 10 GB of a slow disk's */

/* Hard links outlive a copy-up, and directories of the lower layer can be
 * renamed, as npm does (overlayfs.rst: index, redirect_dir). */
#define OVERLAY_OPTIONS "index=on,redirect_dir=on"

#define ROOT_MAX 1000 /* three paths of it make an overlay's options */

/* lock_hash() of nothing: "dir .\n" */
static const char empty_hash[] =
    "0819327635d3c0417b8d66210cdd5111798852735de3ce3af44a3c2476726115";

bool
warm_has(const struct run *run)
{
	return run->warm_repo != NULL && *run->warm_repo != '\0';
}

/* -- which generation ------------------------------------------------------ */

static int
on_disk(const struct run_ctx *ctx, const char *repo,
    struct cache_manifest *ret_manifest, bool *ret_there, struct err *e)
{
	*ret_there = cache_current(ctx->config, repo, ret_manifest, e) == 0;
	return *ret_there || e->kind == ERR_ABSENT ? 0 : -1;
}

/* Pin that generation, if Redis takes it for the current one as well. */
static int
pin(const struct run_ctx *ctx, const struct run *run, const char *gen,
    bool *ret_pinned, struct err *e)
{
	char known[ULID_SIZE];

	*ret_pinned = false;
	if (warm_boot(ctx->redis, run->warm_repo, run->id, known, e) != 0)
		return e->kind == ERR_ABSENT ? 0 : -1;
	*ret_pinned = str_eq(known, gen);
	if (*ret_pinned)
		return 0;
	return warm_unpin(ctx->redis, run->warm_repo, known, run->id, e);
}

int
warm_teach(
    const struct run_ctx *ctx, const struct cache_manifest *disk, struct err *e)
{
	const struct warm warm = {disk->repo, disk->gen, disk->lock.hash,
	    disk->lock.dir, disk->created_ms, disk->bytes, disk->entries,
	    disk->used_ms};

	return warm_learn(ctx->redis, &warm, e);
}

static int
teach_and_pin(const struct run_ctx *ctx, const struct run *run,
    struct cache_manifest *disk, bool *ret_there, struct err *e)
{
	bool pinned = false;

	if (on_disk(ctx, run->warm_repo, disk, ret_there, e) != 0)
		return -1;
	if (!*ret_there)
		return 0;
	if (warm_teach(ctx, disk, e) != 0 ||
	    pin(ctx, run, disk->gen, &pinned, e) != 0)
		return -1;
	return pinned ? 0
		      : err_set(e, ERR_BUSY,
			    "The template of %s changes just now; try again.",
			    run->warm_repo);
}

/*
 * The current generation, pinned; *ret_there false where there is none. Redis
 * hands pins out, the disk says whether they are of any use: it may be newer
 * than a Redis that was lost, or older than one that a crash left behind.
 */
static int
pin_current(const struct run_ctx *ctx, const struct run *run,
    struct cache_manifest *disk, bool *ret_there, struct err *e)
{
	bool pinned = false;
	int lock;

	if (on_disk(ctx, run->warm_repo, disk, ret_there, e) != 0)
		return -1;
	if (!*ret_there)
		return 0;
	if (pin(ctx, run, disk->gen, &pinned, e) != 0)
		return -1;
	if (pinned)
		return 0;
	if (cache_lock(ctx->config, run->warm_repo, LOCK_MS, &lock, e) != 0)
		return -1;
	int rc = teach_and_pin(ctx, run, disk, ret_there, e);
	cache_unlock(lock);
	return rc;
}

/* -- the volume ------------------------------------------------------------ */

/* A plain one where type is NULL. */
static int
make_volume(const struct run_ctx *ctx, const struct run *run, const char *type,
    const char *device, const char *options, struct err *e)
{
	bool overlay = type != NULL && str_eq(type, "overlay");
	const struct label labels[] = {
	    {"teploy.sandbox", "1"},
	    {"teploy.sandbox.run", run->id},
	    {"teploy.sandbox.instance", ctx->instance},
	    {WARM_LABEL_REPO, run->warm_repo},
	    {WARM_LABEL_GEN, run->warm_gen},
	};
	char name[RUN_VOLUME_SIZE];
	struct volume_info info;

	run_volume(run->id, WARM_VOLUME, name);
	const struct volume_spec spec = {
	    .name = name,
	    .type = type,
	    .device = device,
	    .options = options,
	    .labels = labels,
	    .label_count = overlay ? 5 : 4,
	};
	if (volume_create(ctx->engine, &spec, &info, e) != 0)
		return -1;
	volume_info_release(&info);
	return 0;
}

/* SBX_CACHE_ROOT/runs/<ID>/part, made and opened. */
static int
make_part(const struct run_ctx *ctx, const char *id, const char *part,
    char path[CACHE_PATH_SIZE], struct err *e)
{
	cache_run_path(ctx->config, id, part, path);
	char *slash = strrchr(path, '/');
	*slash = '\0';
	bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
	*slash = '/';
	made = made && (mkdir(path, 0700) == 0 || errno == EEXIST);
	int fd = made ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd < 0)
		return err_sys(e,
		    errno == ENOSPC ? ERR_FILE_SPACE : ERR_INTERNAL,
		    "cannot make a warm volume's directory");
	return fd;
}

static int
open_tree(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, ERR_INTERNAL, "cannot open a template");
	return fd;
}

/* The upper directory is what is seen of the root. */
static int
make_overlay(const struct run_ctx *ctx, const struct run *run,
    const char *lower, struct arena *a, struct err *e)
{
	char upper[CACHE_PATH_SIZE], work[CACHE_PATH_SIZE];
	FD_AUTO from = open_tree(lower, e);
	FD_AUTO work_fd =
	    from >= 0 ? make_part(ctx, run->id, "work", work, e) : -1;
	FD_AUTO to =
	    work_fd >= 0 ? make_part(ctx, run->id, "upper", upper, e) : -1;

	if (to < 0 || tree_dress(from, to, e) != 0)
		return -1;
	return make_volume(ctx, run, "overlay", "overlay",
	    arena_printf(a, "lowerdir=%s,upperdir=%s,workdir=%s,%s", lower,
		upper, work, OVERLAY_OPTIONS),
	    e);
}

/* The engine takes no escapes in options, the kernel no more than a page. */
static bool
fits_options(const struct config *config)
{
	return strpbrk(config->cache_root, ",:\\\"") == NULL &&
	       strlen(config->cache_root) <= ROOT_MAX;
}

static int
make_copy(const struct run_ctx *ctx, const struct run *run, const char *lower,
    const struct tree_watch *watch, struct err *e)
{
	char path[CACHE_PATH_SIZE];
	struct tree_sum sum;
	FD_AUTO from = open_tree(lower, e);
	FD_AUTO to = from >= 0 ? make_part(ctx, run->id, "tree", path, e) : -1;

	if (to < 0 || tree_copy(from, to, watch, &sum, e) != 0)
		return -1;
	return make_volume(ctx, run, "none", path, "bind", e);
}

static int
make_booted(const struct run_ctx *ctx, struct run *run,
    const struct cache_manifest *from, const struct tree_watch *watch,
    struct arena *a, struct err *e)
{
	char lower[CACHE_PATH_SIZE];

	run->warm_gen = arena_strdup(a, from->gen);
	run->warm_hash = arena_strdup(a, from->lock.hash);
	run->warm_dir = arena_strdup(a, from->lock.dir);
	run->warm_booted = true;
	cache_touch(ctx->config, run->warm_repo);
	cache_tree_path(ctx->config, run->warm_repo, from->gen, lower);
	if (fits_options(ctx->config) && cache_overlay(ctx->config)) {
		run->warm_kind = "overlay";
		return make_overlay(ctx, run, lower, a, e);
	}
	run->warm_kind = "copy";
	return make_copy(ctx, run, lower, watch, e);
}

int
warm_prepare(const struct run_ctx *ctx, struct run *run, bool snapshot,
    const struct tree_watch *watch, struct arena *a, struct err *e)
{
	struct cache_manifest current;
	bool there = false;

	if (!warm_has(run))
		return 0;
	run->warm_kind = snapshot ? "image" : "cold";
	run->warm_gen = "";
	run->warm_hash = empty_hash;
	run->warm_dir = ".";
	run->warm_booted = false;
	if (cache_setup(ctx->config, e) != 0 ||
	    (!snapshot && pin_current(ctx, run, &current, &there, e) != 0))
		return -1;
	if (!there)
		return make_volume(ctx, run, NULL, NULL, NULL, e);
	return make_booted(ctx, run, &current, watch, a, e);
}

bool
warm_mount(
    const struct run *run, char name[RUN_VOLUME_SIZE], struct mount *ret_mount)
{
	if (!warm_has(run))
		return false;
	run_volume(run->id, WARM_VOLUME, name);
	*ret_mount = (struct mount){
	    .type = "volume",
	    .source = name,
	    .target = run->warm_path,
	    .no_copy = !str_eq(run->warm_kind, "image"),
	};
	return true;
}

int
warm_fill_ms(const struct run *run)
{
	return warm_has(run) && str_eq(run->warm_kind, "image") ? FILL_MS : 0;
}

/* -- the end --------------------------------------------------------------- */

/* The generation that the volume needs, "" where it needs none. */
static int
look_up(const struct run_ctx *ctx, const char *volume,
    char repo[WARM_REPO_SIZE], char gen[ULID_SIZE], struct err *e)
{
	struct volume_info info;

	repo[0] = gen[0] = '\0';
	if (volume_inspect(ctx->engine, volume, &info, e) != 0)
		return e->kind == ERR_ABSENT ? 0 : -1;
	for (size_t i = 0; i < info.label_count; i++) {
		const struct label *l = &info.labels[i];

		if (str_eq(l->key, WARM_LABEL_REPO))
			(void)snprintf(repo, WARM_REPO_SIZE, "%s", l->value);
		if (str_eq(l->key, WARM_LABEL_GEN))
			(void)snprintf(gen, ULID_SIZE, "%s", l->value);
	}
	volume_info_release(&info);
	return 0;
}

int
warm_remove(const struct run_ctx *ctx, const char *id, struct err *e)
{
	char name[RUN_VOLUME_SIZE], path[CACHE_PATH_SIZE];
	char repo[WARM_REPO_SIZE] = "", gen[ULID_SIZE] = "";
	struct err ignored = ERR_INIT;
	bool layers = false;

	run_volume(id, WARM_VOLUME, name);
	if (cache_on(ctx->config)) {
		cache_run_path(ctx->config, id, "", path);
		layers = access(path, F_OK) == 0;
	}
	if (layers && look_up(ctx, name, repo, gen, e) != 0)
		return -1;
	int rc = volume_remove(ctx->engine, name, e);
	/* A snapshot on its way has it. */
	if (rc != 0 && e->kind == ERR_CONFLICT &&
	    stage_end(ctx, id, &ignored) == 0)
		rc = volume_remove(ctx->engine, name, e);
	/* Left to the reaper where the engine does not let go of it. */
	if (rc != 0)
		return e->kind == ERR_CONFLICT ? 0 : -1;
	if (layers && cache_discard_run(ctx->config, id, e) != 0)
		return -1;
	/* A pin that stays lapses. */
	if (gen[0] != '\0')
		(void)warm_unpin(ctx->redis, repo, gen, id, &ignored);
	return 0;
}
