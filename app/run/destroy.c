/* Taking a run down. */
#include "run/destroy.h"
#include "docker/container.h"
#include "lib/str.h"
#include "run/egress.h"
#include "run/place.h"
#include "run/reach.h"
#include "run/warm.h"
#include "store/run.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

/* The directory is flat and the host's alone: files, then the directory. */
static int
remove_directory(const struct config *config, const char *id, struct err *e)
{
	char path[RUN_PATH_SIZE];
	const struct dirent *entry;
	int failed = 0;

	run_path(config, id, NULL, path);
	DIR *dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (!str_eq(entry->d_name, ".") &&
		    !str_eq(entry->d_name, "..") &&
		    unlinkat(dirfd(dir), entry->d_name, 0) != 0 &&
		    errno != ENOENT)
			failed = errno;
	if (dir != NULL)
		(void)closedir(dir);
	if (failed == 0 && rmdir(path) != 0 && errno != ENOENT)
		failed = errno;
	errno = failed;
	return failed == 0 ? 0
			   : err_sys(e, ERR_INTERNAL, "cannot remove %s", path);
}

int
run_remove(const struct run_ctx *ctx, const char *id, struct err *e)
{
	char name[RUN_NAME_SIZE];

	run_name(id, name);
	if (container_remove(ctx->engine, name, e) != 0)
		return err_wrap(e, "removing the container of run %s", id);
	if (reach_remove(ctx, id, e) != 0)
		return err_wrap(e, "removing the volume of run %s", id);
	if (warm_remove(ctx, id, e) != 0)
		return err_wrap(e, "removing the warm volume of run %s", id);
	if (egress_end(ctx, id, e) != 0)
		return err_wrap(e, "run %s", id);
	return remove_directory(ctx->config, id, e);
}

int
run_teardown(const struct run_ctx *ctx, const char *id, struct err *e)
{
	if (run_destroying(ctx->redis, id, e) != 0)
		return -1;
	if (run_remove(ctx, id, e) != 0)
		return -1;
	return run_forget(ctx->redis, id, e);
}
