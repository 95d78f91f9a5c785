/*
 * Redis is the truth for what was decided, Docker for what exists (DESIGN 1):
 * making the two agree, in both directions.
 *
 * Nothing is removed here but what cannot be a run. What must go gets a record
 * in state destroying where it has none, and is then due like any other, with
 * the removers' concurrency and the back-off of failed teardowns.
 *
 * Order matters: containers are listed before records. A record is made before
 * its container and goes after it, so a container without a record is not on
 * its way; and a record without a container is looked at again by name.
 */
#include "deadlines.h"
#include "docker/container.h"
#include "docker/volume.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "orphan.h"
#include "run/destroy.h"
#include "run/egress.h"
#include "run/exit.h"
#include "run/hold.h"
#include "run/place.h"
#include "run/reach.h"
#include "run/snapshot.h"
#include "run/warm.h"
#include "store/run.h"
#include "sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRACE_MS 60000 /* nothing younger is an orphan (DESIGN 7) */
#define DAY_MS (24 * 3600 * 1000LL)
#define PAGE 1000

struct pass {
	struct sweeper *s;
	int64_t deadline; /* of the round */
	int64_t redis_now;
	struct container_list containers;
	struct run *run; /* every record, sorted by id */
	bool *seen;	 /* its container was listed */
	size_t count;
	int64_t adopted, exited, lost, orphans, directories, volumes, failed;
	int64_t resumed; /* were paused, and held by nobody */
	int64_t staged;	 /* containers and images of snapshots that failed */
	int64_t young;	 /* containers without a record, still in their grace */
	struct err first; /* of the failures */
};

int
reconcile_open(struct sweeper *s, struct err *e)
{
	struct deadlines *known = mem_zalloc(sizeof(*known));
	struct err ignored = ERR_INIT;

	(void)e;
	s->own = known;
	/* Whatever is wrong with the file, a reaper without it is better than
	 * none: it then goes by the labels. */
	(void)deadlines_load(known, s->ctx.config, &ignored);
	return 0;
}

void
reconcile_close(struct sweeper *s)
{
	deadlines_release(s->own);
	free(s->own);
	s->own = NULL;
}

/* -- what there is --------------------------------------------------------- */

static int
load_records(struct pass *p, struct err *e)
{
	struct arena *a = &p->s->arena;
	struct run_page page = {0};
	size_t room = 0;

	do {
		if (run_all(p->s->ctx.redis, page.next, PAGE, a, &page, e) != 0)
			return -1;
		if (p->count + page.count > room) {
			struct run *old = p->run;

			room = (p->count + page.count) * 2;
			p->run = arena_alloc(a, room * sizeof(*p->run));
			if (p->count > 0)
				memcpy(p->run, old, p->count * sizeof(*old));
		}
		if (page.count > 0)
			memcpy(p->run + p->count, page.run,
			    page.count * sizeof(*page.run));
		p->count += page.count;
	} while (page.next[0] != '\0');
	p->seen = arena_alloc(a, p->count + 1);
	return 0;
}

static int
by_id(const void *id, const void *entry)
{
	return strcmp(id, entry); /* which begins with its id */
}

static struct run *
find_record(struct pass *p, const char *id)
{
	/* bsearch(3) with no array is undefined even for none. */
	return p->count == 0
		   ? NULL
		   : bsearch(id, p->run, p->count, sizeof(*p->run), by_id);
}

/* When the run of these labels was to end, as far as anybody knows. */
static int64_t
deadline_of(const struct pass *p, const struct run *run)
{
	int64_t known = deadlines_find(p->s->own, run->id);

	return known > 0 ? known : run->created_ms + run->ttl_sec * 1000;
}

static void
note(struct pass *p, int rc, const struct err *e)
{
	if (rc == 0)
		return;
	if (p->failed++ == 0)
		p->first = *e;
}

/* -- containers ------------------------------------------------------------ */

/* The container has no record: it gets one, to be torn down. */
static int
condemn(struct pass *p, const char *container, struct run *run, struct err *e)
{
	struct container_info info;
	bool adopted;

	/* Still there? A DELETE may have finished since the list was made, and
	 * its run must not come back as a ghost. */
	if (container_inspect(p->s->ctx.engine, container, &info, e) != 0)
		return e->kind == ERR_ABSENT ? 0 : -1;
	container_info_release(&info);
	run->state = "destroying";
	if (run_adopt(p->s->ctx.redis, run, &adopted, e) != 0)
		return -1;
	p->orphans += adopted;
	return 0;
}

/* It was held still by somebody who has gone, or was paused by hand: its
 * commands must end at their deadline, and its callers would wait in vain. */
static int
resume(struct pass *p, const struct run *run, struct err *e)
{
	bool resumed;

	if (hold_mend(&p->s->ctx, run, &resumed, e) != 0)
		return e->kind == ERR_RUN_NOT_RUNNING ? 0 : -1;
	p->resumed += resumed;
	return 0;
}

static int
staging(struct pass *p, const struct container_info *info, struct err *e)
{
	bool removed = false;
	int rc = snapshot_clean_staging(&p->s->ctx, info, &removed, e);

	p->staged += removed;
	return rc;
}

static int
adopt(struct pass *p, const struct container_info *info, struct run *run,
    struct err *e)
{
	bool adopted = false, present;

	run->state = "running";
	egress_restore(p->s->ctx.config, run, &p->s->arena);
	warm_restore(&p->s->ctx, run, &p->s->arena);
	if (run_adopt(p->s->ctx.redis, run, &adopted, e) != 0)
		return -1;
	if (!adopted) /* destroyed already, by its tombstone */
		return condemn(p, info->id, run, e);
	p->adopted++;
	if (orphan_ended(info))
		return run_exit_observe(&p->s->ctx, run, &present, e);
	if (str_eq(info->status, "paused") && resume(p, run, e) != 0)
		return -1;
	/* Without a way of its own it is reached by Docker's exec. */
	return reach_again(&p->s->ctx, run, &p->s->arena, e);
}

static int
judge_orphan(struct pass *p, const struct container_info *info, struct err *e)
{
	struct run run;
	bool whole = orphan_read(info, &run);

	if (str_eq(info->status, "removing"))
		return 0;
	if (clock_wall_ms() - info->created_ms < GRACE_MS) {
		p->young++;
		return 0;
	}
	if (run.id[0] == '\0') { /* not a run: nothing else can remove it */
		p->orphans++;
		return container_remove(p->s->ctx.engine, info->id, e);
	}
	bool worth = orphan_lives(info) || orphan_ended(info);
	if (whole && worth && p->redis_now < deadline_of(p, &run))
		return adopt(p, info, &run, e);
	return condemn(p, info->id, &run, e);
}

static int
observe(struct pass *p, struct run *run, struct err *e)
{
	bool present;

	if (run_exit_observe(&p->s->ctx, run, &present, e) != 0)
		return -1;
	if (present) {
		p->exited += str_eq(run->state, "exited");
		return 0;
	}
	p->lost++;
	/* A DELETE may have been quicker. */
	if (run_teardown(&p->s->ctx, run->id, e) != 0)
		return e->kind == ERR_RUN_ABSENT ? 0 : -1;
	return 0;
}

/* Why it ended may be known better by now. */
static int
review(struct pass *p, struct run *run, struct err *e)
{
	bool changed;

	if (run_exit_review(&p->s->ctx, run, &changed, e) != 0)
		return -1;
	p->exited += changed;
	return 0;
}

static int
one_container(struct pass *p, const struct container_info *info, struct err *e)
{
	const char *label = container_label(info, "teploy.sandbox.run");
	char id[ULID_SIZE];
	struct run *run = NULL;

	if (snapshot_staging(info))
		return staging(p, info, e);
	if (label != NULL && ulid_parse(label, id))
		run = find_record(p, id);
	if (run == NULL)
		return judge_orphan(p, info, e);
	p->seen[run - p->run] = true;
	if (str_eq(run->state, "running") && orphan_ended(info))
		return observe(p, run, e);
	if (str_eq(run->state, "exited"))
		return review(p, run, e);
	if (str_eq(run->state, "running") && str_eq(info->status, "paused") &&
	    !hold_stands(run))
		return resume(p, run, e);
	return 0;
}

/* -- run directories ------------------------------------------------------- */

/* A container tells of that run: it was judged with it. */
static bool
has_container(const struct pass *p, const char *id)
{
	for (size_t i = 0; i < p->containers.count; i++) {
		const char *label = container_label(
		    &p->containers.item[i], "teploy.sandbox.run");

		if (label != NULL && str_eq(label, id))
			return true;
	}
	return false;
}

static int
one_directory(struct pass *p, int dir_fd, const char *name, struct err *e)
{
	char id[ULID_SIZE];
	struct stat st;
	struct run run = {.state = "destroying"};
	bool adopted;

	if (!ulid_parse(name, id) || find_record(p, id) != NULL ||
	    has_container(p, id))
		return 0;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    clock_wall_ms() - st.st_mtim.tv_sec * 1000 < GRACE_MS)
		return 0;
	memcpy(run.id, id, ULID_SIZE);
	if (run_adopt(p->s->ctx.redis, &run, &adopted, e) != 0)
		return -1;
	p->directories += adopted;
	return 0;
}

static void
sweep_directories(struct pass *p)
{
	char path[RUN_PATH_SIZE];
	struct err e = ERR_INIT;
	const struct dirent *entry;

	run_path(p->s->ctx.config, "", NULL, path);
	DIR *dir = opendir(path);
	if (dir == NULL) {
		if (errno != ENOENT)
			note(p,
			    err_sys(&e, ERR_INTERNAL, "cannot list %s", path),
			    &e);
		return;
	}
	while ((entry = readdir(dir)) != NULL && !sweep_over(p->s, p->deadline))
		note(p, one_directory(p, dirfd(dir), entry->d_name, &e), &e);
	(void)closedir(dir);
}

/* -- volumes --------------------------------------------------------------- */

static int
one_volume(struct pass *p, const struct volume_info *info, struct err *e)
{
	char id[ULID_SIZE];

	for (size_t i = 0; i < info->label_count; i++) {
		if (!str_eq(info->labels[i].key, "teploy.sandbox.run") ||
		    !ulid_parse(info->labels[i].value, id))
			continue;
		if (find_record(p, id) != NULL || has_container(p, id) ||
		    p->redis_now - ulid_time(id) < GRACE_MS)
			return 0;
		if (volume_remove(p->s->ctx.engine, info->name, e) != 0)
			return e->kind == ERR_CONFLICT ? 0 : -1;
		p->volumes++;
		return 0;
	}
	return 0;
}

static void
sweep_volumes(struct pass *p)
{
	struct volume_list list;
	struct err e = ERR_INIT;

	if (volume_list(p->s->ctx.engine, "teploy.sandbox.instance",
		p->s->ctx.instance, &list, &e) != 0) {
		note(p, -1, &e);
		return;
	}
	for (size_t i = 0; i < list.count && !sweep_over(p->s, p->deadline);
	     i++)
		note(p, one_volume(p, &list.item[i], &e), &e);
	volume_list_release(&list);
}

/* -- snapshots ------------------------------------------------------------- */

static void
sweep_snapshots(struct pass *p)
{
	struct err e = ERR_INIT;
	int64_t removed = 0;

	note(p, snapshot_clean(&p->s->ctx, &removed, &e), &e);
	p->staged += removed;
}

/* -- the round ------------------------------------------------------------- */

static void
tell(const struct pass *p, int64_t start)
{
	if (p->adopted + p->exited + p->lost + p->orphans + p->directories +
		p->volumes + p->resumed + p->staged + p->failed ==
	    0)
		return;
	LOG_AT(p->failed > 0 ? LEVEL_WARNING : LEVEL_INFO, w, "runs.reconciled")
	{
		jw_int(&w, "adopted", p->adopted);
		jw_int(&w, "exited", p->exited);
		jw_int(&w, "lost", p->lost);
		jw_int(&w, "orphans", p->orphans);
		jw_int(&w, "directories", p->directories);
		jw_int(&w, "volumes", p->volumes);
		jw_int(&w, "resumed", p->resumed);
		jw_int(&w, "staged", p->staged);
		jw_int(&w, "failed", p->failed);
		if (p->failed > 0)
			jw_str(&w, "error", p->first.text);
		jw_int(&w, "ms", clock_mono_ms() - start);
	}
}

/* Without Redis: no container may outlive the longest life there is. */
static void
enforce_day(struct pass *p)
{
	for (size_t i = 0; i < p->containers.count; i++) {
		struct err e = ERR_INIT;
		struct run run;

		(void)orphan_read(&p->containers.item[i], &run);
		if (sweep_over(p->s, p->deadline))
			return;
		if (run.id[0] == '\0' || run.created_ms == 0 ||
		    clock_wall_ms() - run.created_ms < DAY_MS)
			continue;
		p->orphans++;
		note(p, run_remove(&p->s->ctx, run.id, &e), &e);
	}
}

static int
reconcile(struct pass *p, struct err *e)
{
	struct err one = ERR_INIT;

	if (store_now(p->s->ctx.redis, &p->redis_now, e) != 0 ||
	    load_records(p, e) != 0)
		return -1;
	for (size_t i = 0; i < p->containers.count; i++) {
		if (sweep_over(p->s, p->deadline))
			return 0;
		note(p, one_container(p, &p->containers.item[i], &one), &one);
	}
	for (size_t i = 0; i < p->count; i++) {
		const char *state = p->run[i].state;

		if (sweep_over(p->s, p->deadline))
			return 0;
		/* What is creating or destroying is somebody's work. */
		if (!p->seen[i] &&
		    (str_eq(state, "running") || str_eq(state, "exited")))
			note(p, observe(p, &p->run[i], &one), &one);
	}
	sweep_directories(p);
	sweep_volumes(p);
	sweep_snapshots(p);
	/* While anything awaits its adoption, what is known of it stays. */
	if (p->young + p->failed > 0)
		return 0;
	return deadlines_keep(p->s->own, p->run, p->count, p->s->ctx.config, e);
}

int
reconcile_round(
    struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e)
{
	struct pass p = {.s = s, .deadline = deadline};
	int64_t start = clock_mono_ms();
	int rc = 0;

	if (container_list(s->ctx.engine, "teploy.sandbox.instance",
		s->ctx.instance, &p.containers, e) != 0)
		return -1;
	if (s->away)
		enforce_day(&p);
	else
		rc = reconcile(&p, e);
	container_list_release(&p.containers);
	tell(&p, start);
	s->dealt = p.adopted + p.exited + p.lost + p.orphans + p.directories +
		   p.volumes + p.resumed + p.staged;
	s->failed = p.failed;
	if (clock_mono_ms() >= deadline)
		*wait_ms = 0;
	return rc;
}
