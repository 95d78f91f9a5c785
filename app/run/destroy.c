/* Taking a run down. */
#include "run/destroy.h"
#include "docker/container.h"
#include "run/place.h"
#include "run/reach.h"
#include "store/run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The directory is flat and the host's alone: files, then the directory. */
static int
remove_directory(const struct config *config, const char *id, struct err *e)
{
	static const char *const files[] = {"env"};
	char path[RUN_PATH_SIZE];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		run_path(config, id, files[i], path);
		if (unlink(path) != 0 && errno != ENOENT)
			return err_sys(
			    e, ERR_INTERNAL, "cannot remove %s", path);
	}
	run_path(config, id, NULL, path);
	if (rmdir(path) != 0 && errno != ENOENT)
		return err_sys(e, ERR_INTERNAL, "cannot remove %s", path);
	return 0;
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
