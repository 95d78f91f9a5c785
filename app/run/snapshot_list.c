/* The snapshots that there are, and what is left of those that there are not.
 */
#include "docker/commit.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/hold.h"
#include "run/snapshot.h"
#include "run/snapshot_label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRACE_MS 60000 /* nothing younger is left over (DESIGN 7) */

/* -- the list -------------------------------------------------------------- */

static int
by_age(const void *a, const void *b)
{
	const struct snapshot *one = a, *two = b;

	return strcmp(one->image, two->image);
}

int
snapshot_list(const struct run_ctx *ctx, struct arena *a,
    struct snapshot_list *ret_list, struct err *e)
{
	struct image_list images;
	struct snapshot_list list = {NULL, 0};

	if (image_list(ctx->engine, SNAPSHOT_LABEL_INSTANCE, ctx->instance,
		&images, e) != 0)
		return -1;
	list.item = arena_alloc(a, (images.count + 1) * sizeof(*list.item));
	for (size_t i = 0; i < images.count; i++)
		list.count +=
		    snapshot_read(&images.item[i], a, &list.item[list.count]);
	image_list_release(&images);
	qsort(list.item, list.count, sizeof(*list.item), by_age);
	*ret_list = list;
	return 0;
}

/* -- removing one ---------------------------------------------------------- */

static int
read_reference(const char *image, char ret_id[ULID_SIZE], struct err *e)
{
	if (str_starts(image, SNAPSHOT_PREFIX) &&
	    ulid_parse(image + strlen(SNAPSHOT_PREFIX), ret_id))
		return 0;
	return err_set(e, ERR_INPUT,
	    "image is not a snapshot's: these are " SNAPSHOT_PREFIX
	    "<id>, as GET /v1/snapshots lists them. Not \"%.200s\".",
	    image);
}

static int
is_ours(
    const struct run_ctx *ctx, const char *id, bool *ret_ours, struct err *e)
{
	struct image_list images;

	if (image_list(ctx->engine, SNAPSHOT_LABEL, id, &images, e) != 0)
		return -1;
	*ret_ours = false;
	for (size_t i = 0; i < images.count; i++) {
		const struct image_item *item = &images.item[i];
		const char *instance =
		    image_label(item, SNAPSHOT_LABEL_INSTANCE);

		if (*item->tags != NULL && instance != NULL &&
		    str_eq(instance, ctx->instance))
			*ret_ours = true;
	}
	image_list_release(&images);
	return 0;
}

int
snapshot_remove(const struct run_ctx *ctx, const char *image, struct err *e)
{
	char id[ULID_SIZE], name[sizeof(SNAPSHOT_PREFIX) + ULID_SIZE];
	bool ours;

	if (read_reference(image, id, e) != 0 ||
	    is_ours(ctx, id, &ours, e) != 0)
		return -1;
	(void)snprintf(name, sizeof(name), SNAPSHOT_PREFIX "%s", id);
	str_lower(name);
	if (ours && image_remove(ctx->engine, name, e) == 0)
		return 0;
	if (!ours || e->kind == ERR_ABSENT)
		return err_set(e, ERR_IMAGE_ABSENT,
		    "There is no snapshot %s; GET /v1/snapshots lists them.",
		    name);
	if (e->kind == ERR_CONFLICT)
		return err_set(e, ERR_CONFLICT,
		    "A run was made of %s and still needs it; delete the run "
		    "first.",
		    name);
	return -1;
}

/* -- what is left over ----------------------------------------------------- */

static void
undo_items(const struct run_ctx *ctx, const struct image_list *images)
{
	struct err ignored = ERR_INIT;

	for (size_t i = 0; i < images->count; i++)
		if (*images->item[i].tags == NULL)
			(void)image_remove(
			    ctx->engine, images->item[i].id, &ignored);
}

void
snapshot_undo(const struct run_ctx *ctx, const char *token)
{
	struct err ignored = ERR_INIT;
	struct image_list images;

	if (image_list(ctx->engine, SNAPSHOT_LABEL, token, &images, &ignored) !=
	    0)
		return;
	undo_items(ctx, &images);
	image_list_release(&images);
}

/* Nobody works at what was made of that run under that token any more. */
static int
is_left(const struct run_ctx *ctx, const char *run_id, const char *token,
    int64_t created_ms, bool *ret_left, struct err *e)
{
	struct arena a = ARENA_INIT;
	struct err absent = ERR_INIT;
	char text[HOLD_TEXT_SIZE];
	struct run run;

	*ret_left = false;
	if (clock_wall_ms() - created_ms < GRACE_MS)
		return 0;
	(void)snprintf(text, sizeof(text), SNAPSHOT_HOLD " %.26s", token);
	int rc = run_get(ctx->redis, run_id, true, &a, &run, &absent);
	if (rc == 0)
		*ret_left =
		    !str_eq(run.hold, text) || run.hold_until_ms <= run.read_ms;
	else if (absent.kind == ERR_RUN_ABSENT)
		*ret_left = true;
	else
		*e = absent;
	arena_release(&a);
	return rc == 0 || *ret_left ? 0 : -1;
}

/* 1 where it was removed. */
static int
clean_image(
    const struct run_ctx *ctx, const struct image_item *item, struct err *e)
{
	const char *token = image_label(item, SNAPSHOT_LABEL);
	const char *run = image_label(item, SNAPSHOT_LABEL ".run");
	bool left;

	if (*item->tags != NULL || token == NULL || run == NULL)
		return 0;
	if (is_left(ctx, run, token, item->created_ms, &left, e) != 0)
		return -1;
	if (!left)
		return 0;
	if (image_remove(ctx->engine, item->id, e) == 0)
		return 1;
	/* Somebody gave it a name, or made something of it. */
	return e->kind == ERR_ABSENT || e->kind == ERR_CONFLICT ? 0 : -1;
}

int
snapshot_clean(const struct run_ctx *ctx, int64_t *ret_removed, struct err *e)
{
	struct image_list images;
	struct err first = ERR_INIT, one;

	*ret_removed = 0;
	if (image_list(ctx->engine, SNAPSHOT_LABEL_INSTANCE, ctx->instance,
		&images, e) != 0)
		return -1;
	for (size_t i = 0; i < images.count; i++) {
		int rc = clean_image(ctx, &images.item[i], &one);

		*ret_removed += rc > 0;
		if (rc < 0 && first.kind == ERR_NONE)
			first = one;
	}
	image_list_release(&images);
	if (first.kind == ERR_NONE)
		return 0;
	*e = first;
	return -1;
}

bool
snapshot_staging(const struct container_info *info)
{
	const char *token = container_label(info, STAGE_LABEL);

	return token != NULL && *token != '\0';
}

int
snapshot_clean_staging(const struct run_ctx *ctx,
    const struct container_info *info, bool *ret_removed, struct err *e)
{
	const char *run = container_label(info, STAGE_LABEL_RUN);

	if (is_left(ctx, run != NULL ? run : "",
		container_label(info, STAGE_LABEL), info->created_ms,
		ret_removed, e) != 0)
		return -1;
	return *ret_removed ? container_remove(ctx->engine, info->id, e) : 0;
}
