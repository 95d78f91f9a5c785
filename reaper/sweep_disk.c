/*
 * What each run holds of the disk: its container's writable layer, its warm
 * volume, and the volumes that its image declares. Told in its record; flagged
 * beyond SBX_RUN_DISK_WARN_GB; ended beyond SBX_RUN_DISK_MAX_GB, before it
 * fills the host's disk. Its files stay as they are.
 *
 * Files that were deleted while open are not seen. They are found by way of
 * /proc/PID/fd alone, for which the reaper would need to be able to trace any
 * process (CAP_SYS_PTRACE); and what is mapped, or kept by a gVisor, would be
 * missed still. The disk's free space has them.
 *
 * All runs are looked at every SBX_DISK_SAMPLE_SEC, sooner while the disk fills
 * fast, and never for more than half of the time.
 */
#include "docker/container.h"
#include "docker/container_disk.h"
#include "docker/info.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/log.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "lib/tree.h"
#include "run/cache.h"
#include "run/exit.h"
#include "run/place.h"
#include "run/snapshot.h"
#include "store/disk.h"
#include "store/run.h"
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define PAGE 200
#define LOOK_MS 2000 /* between two looks at the free space */
#define RUN_MS 10000 /* a tree that takes longer is as large as was seen */
#define FAST_SHARE 8 /* of what was free is gone since: look at the runs */
#define GIB (1LL << 30)

/* What outlives a round. */
struct disk {
	char *engine_root;    /* NULL until the engine has told */
	char next[ULID_SIZE]; /* the page at which a round that ran out of time
			       * goes on; "" at the start */
	int64_t began_ms, due_ms; /* this sample; the next. CLOCK_MONOTONIC */
	int64_t free_bytes;	  /* at the last sample, -1 not known */
};

/* A round over some or all runs. */
struct look {
	struct sweeper *s;
	struct disk *disk;
	int64_t deadline;
	dev_t cache_dev;
	bool has_cache;
	int64_t flagged, stopped;
	struct err first; /* of the failures, s->failed */
};

int
disk_open(struct sweeper *s, struct err *e)
{
	struct disk *d = mem_zalloc(sizeof(*d));

	(void)e;
	d->free_bytes = -1;
	s->own = d;
	return 0;
}

void
disk_close(struct sweeper *s)
{
	struct disk *d = s->own;

	free(d->engine_root);
	free(d);
	s->own = NULL;
}

/* -- measuring a run ------------------------------------------------------- */

struct patience {
	const struct sweeper *s;
	int64_t until;
};

static bool
is_over(void *arg)
{
	const struct patience *p = arg;

	return sweep_over(p->s, p->until);
}

/* Add what is below a directory of the host. *ret_there: it could be opened. */
static int
add_tree(struct look *l, const char *path, struct disk_use *use,
    bool *ret_there, struct err *e)
{
	struct patience patience = {l->s, clock_mono_ms() + RUN_MS};
	const struct tree_watch watch = {is_over, &patience};
	struct tree_sum sum = {0};
	struct err cut = ERR_INIT;
	struct stat st;
	FD_AUTO dir =
	    open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	*ret_there = dir >= 0 && fstat(dir, &st) == 0;
	if (!*ret_there)
		return 0;
	if (tree_measure(dir, &watch, &sum, &cut) != 0 &&
	    cut.kind != ERR_GONE_AWAY && cut.kind != ERR_TOO_LARGE) {
		*e = cut;
		return -1;
	}
	use->bytes += sum.bytes;
	if (l->has_cache && st.st_dev == l->cache_dev)
		use->cache += sum.bytes;
	return 0;
}

/* The writable layer; where it is not to be seen from here, the engine counts.
 */
static int
add_layer(struct look *l, const struct run *run,
    const struct container_disk *disk, struct disk_use *use, struct err *e)
{
	struct container_disk counted;
	bool there = false;

	if (*disk->upper != '\0' &&
	    add_tree(l, disk->upper, use, &there, e) != 0)
		return -1;
	if (there)
		return 0;
	if (container_disk(
		l->s->ctx.engine, run->container, true, &counted, e) != 0)
		return -1;
	use->bytes += counted.size > 0 ? counted.size : 0;
	container_disk_release(&counted);
	return 0;
}

/* An overlay's own part lies in the cache; its mount shows the generation too.
 */
static int
add_warm(struct look *l, const struct run *run, const char *source,
    struct disk_use *use, struct err *e)
{
	char path[CACHE_PATH_SIZE];
	bool there;

	if (str_eq(run->warm_kind, "overlay"))
		cache_run_path(l->s->ctx.config, run->id, "upper", path);
	else if (str_eq(run->warm_kind, "copy"))
		cache_run_path(l->s->ctx.config, run->id, "tree", path);
	else
		return add_tree(l, source, use, &there, e);
	return add_tree(l, path, use, &there, e);
}

static int
add_volumes(struct look *l, const struct run *run,
    const struct container_disk *disk, struct disk_use *use, struct err *e)
{
	char guest[RUN_VOLUME_SIZE], warm[RUN_VOLUME_SIZE];
	bool there;

	run_volume(run->id, "guest", guest); /* memory, no disk */
	run_volume(run->id, "warm", warm);
	for (size_t i = 0; i < disk->count; i++) {
		const struct container_volume *v = &disk->volume[i];
		int rc = 0;

		if (str_eq(v->name, warm))
			rc = add_warm(l, run, v->source, use, e);
		else if (!str_eq(v->name, guest))
			rc = add_tree(l, v->source, use, &there, e);
		if (rc != 0)
			return -1;
	}
	return 0;
}

/* -- what comes of it ------------------------------------------------------ */

static void
tell(const char *event, const struct run *run, const struct disk_use *use,
    int64_t limit_gb)
{
	LOG_AT(LEVEL_WARNING, w, event)
	{
		jw_str(&w, "run", run->id);
		jw_int(&w, "bytes", use->bytes);
		jw_int(&w, "limitGb", limit_gb);
		if (*run->warm_repo != '\0')
			jw_str(&w, "warm", run->warm_repo);
	}
}

static int
stop(struct look *l, struct run *run, const struct disk_use *use, struct err *e)
{
	bool present;

	if (container_signal(l->s->ctx.engine, run->container, SIGKILL, e) != 0)
		return e->kind == ERR_CONFLICT || e->kind == ERR_ABSENT ? 0
									: -1;
	l->stopped++;
	tell("run.disk_stopped", run, use, l->s->ctx.config->run_disk_max_gb);
	run->stop_reason = DISK_LIMIT;
	return run_exit_await(&l->s->ctx, run, &present, e);
}

static bool
beyond(int64_t bytes, int64_t gib)
{
	return gib > 0 && bytes > gib * GIB;
}

static int
look_at(struct look *l, struct run *run, struct err *e)
{
	const struct config *config = l->s->ctx.config;
	struct container_disk disk;
	struct disk_use use = {0};
	bool news = false;

	if (container_disk(l->s->ctx.engine, run->container, false, &disk, e) !=
	    0)
		return -1;
	int rc = add_layer(l, run, &disk, &use, e);
	if (rc == 0)
		rc = add_volumes(l, run, &disk, &use, e);
	bool paused = disk.paused;
	container_disk_release(&disk);
	if (rc != 0)
		return -1;
	use.warned = beyond(use.bytes, config->run_disk_warn_gb);
	use.over = beyond(use.bytes, config->run_disk_max_gb);
	if (disk_note_run(l->s->ctx.redis, run->id, &use, &news, e) != 0)
		return -1;
	if (news) {
		l->flagged++;
		tell("run.disk_flagged", run, &use, config->run_disk_warn_gb);
	}
	/* One that is held still for a copy does not grow, and a kill would let
	 * it go on in the midst of it: a later round finds it. */
	if (use.over && !paused && str_eq(run->state, "running"))
		return stop(l, run, &use, e);
	return 0;
}

static void
look_at_one(struct look *l, struct run *run)
{
	struct err e = ERR_INIT;

	if (*run->container == '\0' ||
	    (!str_eq(run->state, "running") && !str_eq(run->state, "exited")))
		return;
	/* Without a container it is going, or the reconciliation's. */
	if (look_at(l, run, &e) == 0 || e.kind == ERR_ABSENT ||
	    e.kind == ERR_RUN_ABSENT)
		return;
	if (l->s->failed++ == 0)
		l->first = e;
}

/* -- the box --------------------------------------------------------------- */

static int64_t
free_at(const char *path)
{
	struct statvfs st;

	if (path == NULL || *path == '\0' || statvfs(path, &st) != 0)
		return INT64_MAX;
	return (int64_t)st.f_bavail * (int64_t)st.f_frsize;
}

/* Of the cache's disk, or the engine's, where there is less; -1 where neither
 * is known. */
static int64_t
free_bytes(const struct sweeper *s)
{
	const struct disk *d = s->own;
	int64_t cache = free_at(s->ctx.config->cache_root);
	int64_t engine = free_at(d->engine_root);
	int64_t least = cache < engine ? cache : engine;

	return least == INT64_MAX ? -1 : least;
}

static int
note_box(struct look *l, struct err *e)
{
	struct snapshot_list snapshots;
	int64_t bytes = 0;

	if (snapshot_list(&l->s->ctx, &l->s->arena, &snapshots, e) != 0)
		return -1;
	for (size_t i = 0; i < snapshots.count; i++)
		bytes += snapshots.item[i].bytes;
	const struct figure figures[] = {
	    {"disk free", free_bytes(l->s)},
	    {"disk snapshots", bytes},
	    {"snapshots", (int64_t)snapshots.count},
	};
	return disk_note_box(
	    l->s->ctx.redis, figures, sizeof(figures) / sizeof(figures[0]), e);
}

/* -- the round ------------------------------------------------------------- */

/* The period is over, or the disk fills fast; never sooner than a sample took.
 */
static bool
is_due(struct sweeper *s)
{
	struct disk *d = s->own;
	int64_t now = clock_mono_ms(), least = free_bytes(s);

	if (d->next[0] != '\0' || now >= d->due_ms)
		return true;
	return d->free_bytes >= 0 && least >= 0 &&
	       d->free_bytes - least > d->free_bytes / FAST_SHARE;
}

/* False where time ran out. */
static int
look_at_all(struct look *l, bool *ret_done, struct err *e)
{
	struct run_page page;

	*ret_done = false;
	do {
		if (run_all(l->s->ctx.redis, l->disk->next, PAGE, &l->s->arena,
			&page, e) != 0)
			return -1;
		for (size_t i = 0; i < page.count; i++) {
			if (sweep_over(l->s, l->deadline))
				return 0;
			look_at_one(l, &page.run[i]);
			memcpy(l->disk->next, page.run[i].id, ULID_SIZE);
		}
		memcpy(l->disk->next, page.next, ULID_SIZE);
	} while (page.next[0] != '\0');
	*ret_done = true;
	return 0;
}

static void
tell_round(const struct look *l)
{
	l->s->dealt = l->flagged + l->stopped;
	if (l->s->failed == 0)
		return;
	LOG_AT(LEVEL_WARNING, w, "disk.sampling_failed")
	{
		jw_int(&w, "failed", l->s->failed);
		jw_str(&w, "error", l->first.text);
	}
}

static void
begin_look(struct look *l)
{
	struct err ignored = ERR_INIT;
	struct engine_info info;
	struct stat st;

	l->has_cache = cache_on(l->s->ctx.config) &&
		       stat(l->s->ctx.config->cache_root, &st) == 0;
	if (l->has_cache)
		l->cache_dev = st.st_dev;
	if (l->disk->engine_root == NULL &&
	    engine_info(l->s->ctx.engine, "", &info, &ignored) == 0)
		l->disk->engine_root = mem_strdup(info.root);
	if (l->disk->next[0] == '\0')
		l->disk->began_ms = clock_mono_ms();
}

int
disk_round(struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e)
{
	struct disk *d = s->own;
	struct look l = {.s = s, .disk = d, .deadline = deadline};
	int64_t start = clock_mono_ms();
	bool done;

	if (s->away || !is_due(s))
		return 0;
	begin_look(&l);
	if (look_at_all(&l, &done, e) != 0)
		return -1;
	tell_round(&l);
	int64_t now = clock_mono_ms();
	if (now - start > *wait_ms)
		*wait_ms = now - start;
	if (!done)
		return 0;
	d->free_bytes = free_bytes(s);
	d->due_ms = d->began_ms + s->ctx.config->disk_sample_sec * 1000;
	return note_box(&l, e);
}
