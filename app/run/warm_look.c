/* What is in a run's warm volume. */
#include "docker/volume.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/exit.h"
#include "run/mounted.h"
#include "run/warm.h"
#include "store/warm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTE "warm" /* a file in the host's directory of the run */
#define NOTE_MAX 512

/* -- the tree on the host -------------------------------------------------- */

int
warm_check(const struct run_ctx *ctx, struct run *run, struct err *e)
{
	bool present;

	if (!warm_has(run))
		return err_set(e, ERR_INPUT,
		    "Run %s has no warm volume; a run gets one by \"warm\": "
		    "{\"repo\": \"owner/name\"} when it is created.",
		    run->id);
	if (!str_eq(run->state, "running"))
		return run_not_running(run, e);
	if (run_exit_observe(ctx, run, &present, e) != 0)
		return -1;
	return present && str_eq(run->state, "running")
		   ? 0
		   : run_not_running(run, e);
}

/* 409, with words: what is to be done is the operator's. */
static int
out_of_sight(const struct run *run, struct err *e)
{
	return err_set(e, ERR_CONFLICT,
	    "The warm volume of run %s is not mounted where this process can "
	    "see it. Either the Docker engine mounts in a mount namespace of "
	    "its own: take PrivateMounts and MountFlags out of its unit. Or it "
	    "was restarted under the run (live-restore, before version 24). "
	    "Or what the volume lies on was removed from SBX_CACHE_ROOT. "
	    "Then make the run anew.",
	    run->id);
}

static int
open_directory(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Where the engine has it; a copy is where we made it. */
static int
open_volume(const struct run_ctx *ctx, const struct run *run, struct err *e)
{
	char name[RUN_VOLUME_SIZE], path[CACHE_PATH_SIZE];
	struct volume_info info;
	int fd;

	if (str_eq(run->warm_kind, "copy")) {
		cache_run_path(ctx->config, run->id, "tree", path);
		fd = open_directory(path);
	} else {
		run_volume(run->id, WARM_VOLUME, name);
		if (volume_inspect(ctx->engine, name, &info, e) != 0)
			return -1;
		fd = open_directory(info.mountpoint);
		volume_info_release(&info);
	}
	return fd >= 0 ? fd : out_of_sight(run, e);
}

/* An overlay that is not mounted is an empty directory of the engine's; one
 * whose layers somebody removed has nothing to tell. */
static bool
own_overlay(const struct run_ctx *ctx, const struct run *run, int fd)
{
	char lower[CACHE_PATH_SIZE], upper[CACHE_PATH_SIZE];

	cache_tree_path(ctx->config, run->warm_repo, run->warm_gen, lower);
	cache_run_path(ctx->config, run->id, "upper", upper);
	return access(lower, F_OK) == 0 && access(upper, F_OK) == 0 &&
	       mounted_overlay(fd, lower, upper);
}

int
warm_open(
    const struct run_ctx *ctx, struct run *run, int *ret_tree, struct err *e)
{
	if (warm_check(ctx, run, e) != 0)
		return -1;
	FD_AUTO fd = open_volume(ctx, run, e);
	if (fd < 0)
		return -1;
	if (str_eq(run->warm_kind, "overlay") && !own_overlay(ctx, run, fd)) {
		/* It has ended just now? */
		return warm_check(ctx, run, e) != 0 ? -1 : out_of_sight(run, e);
	}
	*ret_tree = fd_take(&fd);
	return 0;
}

int
warm_look(const struct run_ctx *ctx, struct run *run,
    struct lock_hash *ret_hash, struct err *e)
{
	int fd = -1;

	if (warm_open(ctx, run, &fd, e) != 0)
		return -1;
	int rc = lock_hash(fd, ret_hash, e);
	fd_close(&fd);
	return rc;
}

/* -- what it was booted with ----------------------------------------------- */

static bool
is_empty(int fd)
{
	const struct dirent *entry;
	bool empty = true;
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;

	while (dir != NULL && empty && (entry = readdir(dir)) != NULL)
		empty =
		    str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..");
	if (dir != NULL)
		(void)closedir(dir);
	return empty;
}

/* A container's labels are older than what the engine put into the volume: the
 * host's directory of the run has it for the day on which the record is lost.
 */
static int
write_note(const struct config *config, const struct run *run, struct err *e)
{
	char path[RUN_PATH_SIZE], text[NOTE_MAX];

	run_path(config, run->id, NOTE, path);
	int size = snprintf(text, sizeof(text), "%d %s %s\n", run->warm_booted,
	    run->warm_hash, run->warm_dir);
	return fd_write_file(path, 0600, text, (size_t)size, e);
}

static void
read_note(const struct config *config, struct run *run, struct arena *a)
{
	char path[RUN_PATH_SIZE];
	struct err ignored = ERR_INIT;
	size_t size;

	run_path(config, run->id, NOTE, path);
	char *text = fd_read_file(path, NOTE_MAX, NULL, &ignored);
	if (text == NULL)
		return;
	const char *at = text, *word = str_word(&at, " \n", &size);
	run->warm_booted = word != NULL && *word == '1';
	word = str_word(&at, " \n", &size);
	if (word != NULL)
		run->warm_hash = arena_strndup(a, word, size);
	word = str_word(&at, " \n", &size);
	if (word != NULL)
		run->warm_dir = arena_strndup(a, word, size);
	free(text);
}

void
warm_restore(const struct run_ctx *ctx, struct run *run, struct arena *a)
{
	struct err ignored = ERR_INIT;

	if (!warm_has(run))
		return;
	if (str_eq(run->warm_kind, "image"))
		read_note(ctx->config, run, a);
	/* The reaper's sweep of the cache keeps it from now on. */
	if (str_eq(run->warm_kind, "overlay"))
		(void)warm_pin(ctx->redis, run->warm_repo, run->warm_gen,
		    run->id, &ignored);
}

static int
look_at_seed(
    const struct run_ctx *ctx, struct run *run, struct arena *a, struct err *e)
{
	struct lock_hash lock;
	FD_AUTO fd = open_volume(ctx, run, e);

	if (fd < 0 || lock_hash(fd, &lock, e) != 0)
		return -1;
	run->warm_booted = !is_empty(fd);
	run->warm_hash = arena_strdup(a, lock.hash);
	run->warm_dir = arena_strdup(a, lock.dir);
	return write_note(ctx->config, run, e);
}

int
warm_settle(
    const struct run_ctx *ctx, struct run *run, struct arena *a, struct err *e)
{
	if (!warm_has(run))
		return 0;
	if (str_eq(run->warm_kind, "image") &&
	    look_at_seed(ctx, run, a, e) != 0)
		return -1;
	return run_warmed(ctx->redis, run, e);
}
