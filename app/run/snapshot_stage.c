/* The staging container. */
#include "run/snapshot_stage.h"
#include "lib/str.h"
#include "run/place.h"
#include "run/reach.h"
#include "run/snapshot_label.h"
#include "run/warm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VOLUME_AT REACH_ROOT "/vol"
#define MEMORY_BYTES (INT64_C(512) << 20) /* and more is page cache */
#define PIDS 16
#define NAME_SIZE (sizeof(RUN_PREFIX "snap-") + ULID_SIZE)

static void
name(const char *token, char to[NAME_SIZE])
{
	(void)snprintf(to, NAME_SIZE, RUN_PREFIX "snap-%s", token);
	str_lower(to);
}

/* Init, and the volume where the run has one. */
static size_t
fill_mounts(const struct run_ctx *ctx, const struct run *run,
    char volume[RUN_VOLUME_SIZE], struct mount to[REACH_INIT_MOUNTS + 1])
{
	size_t count = reach_init_mounts(ctx->config, to);

	if (!warm_mount(run, volume, &to[count]))
		return count;
	to[count].target = VOLUME_AT;
	to[count].readonly = true;
	to[count].no_copy = true;
	return count + 1;
}

int
stage_create(const struct run_ctx *ctx, const struct stage_spec *spec,
    struct label labels[STAGE_LABELS], char ret_id[CONTAINER_ID_SIZE],
    struct err *e)
{
	static const char *const drop[] = {
	    "NET_RAW", "MKNOD", "AUDIT_WRITE", NULL};
	const char *const entrypoint[] = {GUEST_PROGRAM, "copy", "--from",
	    VOLUME_AT, "--to", spec->run->warm_path, NULL};
	const struct label ours[STAGE_LABELS] = {
	    {"teploy.sandbox", "1"},
	    {"teploy.sandbox.instance", ctx->instance},
	    {STAGE_LABEL, spec->token},
	    {STAGE_LABEL_RUN, spec->run->id},
	};
	/* A run that is removed meanwhile takes its volume along, and the
	 * engine would make another: one that is known for the run's. */
	const struct label of_run[] = {
	    {"teploy.sandbox.instance", ctx->instance},
	    {"teploy.sandbox.run", spec->run->id}};
	char own_name[NAME_SIZE], volume[RUN_VOLUME_SIZE];
	struct mount mounts[REACH_INIT_MOUNTS + 1] = {{.labels = NULL}};
	size_t mount_count = fill_mounts(ctx, spec->run, volume, mounts);

	mounts[mount_count - 1].labels = of_run;
	mounts[mount_count - 1].label_count = 2;

	memcpy(labels, ours, sizeof(ours));
	name(spec->token, own_name);
	const struct container_spec container = {
	    .name = own_name,
	    .image = spec->image,
	    /* Root, as in run/create.c. */
	    .user = spec->base->has_user ? "0:0" : "",
	    .entrypoint = entrypoint,
	    /* The engine would make the image's, where the run removed it. */
	    .working_dir = spec->base->has_working_dir ? "/" : NULL,
	    .no_healthcheck = spec->no_healthcheck,
	    .labels = labels,
	    .label_count = STAGE_LABELS,
	    .mounts = mounts,
	    .mount_count = mount_count,
	    .network = "none",
	    /* Ours alone runs in it, and a gVisor may keep its files. */
	    .runtime = str_starts(ctx->config->runtime, "runsc")
			   ? "runc"
			   : ctx->config->runtime,
	    .memory_bytes = MEMORY_BYTES,
	    .pids = PIDS,
	    .cap_drop = drop,
	};
	if (container_create(ctx->engine, &container, ret_id, e) != 0)
		return err_wrap(e, "staging");
	return 0;
}

int
stage_copy(const struct run_ctx *ctx, const char *id,
    const struct commit_watch *watch, struct err *e)
{
	int64_t code;

	if (container_start(ctx->engine, id, NULL, NULL, e) != 0 ||
	    container_wait(
		ctx->engine, id, watch->gone, watch->arg, &code, e) != 0)
		return err_wrap(e, "staging");
	if (code == 0)
		return 0;
	if (code == ENOSPC)
		return commit_full(e);
	return err_set(e, ERR_ENGINE,
	    "copying the warm volume ended with exit code %lld",
	    (long long)code);
}

int
stage_end(const struct run_ctx *ctx, const char *run, struct err *e)
{
	struct container_list list;
	int rc = 0;

	if (container_list(ctx->engine, STAGE_LABEL_RUN, run, &list, e) != 0)
		return -1;
	for (size_t i = 0; i < list.count && rc == 0; i++)
		rc = container_remove(ctx->engine, list.item[i].id, e);
	container_list_release(&list);
	return rc;
}

void
stage_remove(const struct run_ctx *ctx, const char *token)
{
	struct err ignored = ERR_INIT;
	char own_name[NAME_SIZE];

	name(token, own_name);
	(void)container_remove(ctx->engine, own_name, &ignored);
}
