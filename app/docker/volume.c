/* Volumes, as calls of the engine. */
#include "docker/volume.h"
#include "docker/container_json.h"
#include "lib/jw.h"
#include "lib/mem.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MS 30000
#define PATH_MAX_SIZE (8u * 1024)
#define BODY_MAX (1u << 20)

/* -- reading -------------------------------------------------------------- */

static int
read_volume(const json_t *object, struct volume_info *ret_info)
{
	const char *name = json_string_value(json_object_get(object, "Name"));
	const char *mountpoint =
	    json_string_value(json_object_get(object, "Mountpoint"));
	struct volume_info info = {.name = NULL};

	if (name == NULL || mountpoint == NULL)
		return -1;
	info.name = mem_strdup(name);
	info.mountpoint = mem_strdup(mountpoint);
	container_json_labels(
	    json_object_get(object, "Labels"), &info.labels, &info.label_count);
	*ret_info = info;
	return 0;
}

static int
read_reply(const struct engine_reply *reply, struct volume_info *ret_info,
    struct err *e)
{
	json_auto_t *answer =
	    json_loadb(reply->body.data, reply->body.size, 0, NULL);

	if (read_volume(answer, ret_info) == 0)
		return 0;
	return err_set(e, ERR_ENGINE, "Docker's volume makes no sense");
}

void
volume_info_release(struct volume_info *info)
{
	free(info->name);
	free(info->mountpoint);
	free(info->labels);
	memset(info, 0, sizeof(*info));
}

void
volume_list_release(struct volume_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		volume_info_release(&list->item[i]);
	free(list->item);
	list->item = NULL;
	list->count = 0;
}

/* -- calls ---------------------------------------------------------------- */

static void
write_spec(struct buf *body, const struct volume_spec *spec)
{
	struct jw w = JW_INIT(body);

	jw_open(&w, '{');
	jw_str(&w, "Name", spec->name);
	jw_str(&w, "Driver", "local");
	jw_key(&w, "DriverOpts");
	jw_open(&w, '{');
	if (spec->type != NULL) {
		jw_str(&w, "type", spec->type);
		jw_str(&w, "device", spec->device);
		jw_str(&w, "o", spec->options);
	}
	jw_close(&w, '}');
	jw_key(&w, "Labels");
	jw_open(&w, '{');
	for (size_t i = 0; i < spec->label_count; i++)
		jw_str(&w, spec->labels[i].key, spec->labels[i].value);
	jw_close(&w, '}');
	jw_close(&w, '}');
}

int
volume_create(struct engine *en, const struct volume_spec *spec,
    struct volume_info *ret_info, struct err *e)
{
	BUF_AUTO body = BUF_INIT(BODY_MAX);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	write_spec(&body, spec);
	if (body.over)
		return err_set(e, ERR_INPUT, "a volume's labels are too large");
	const struct engine_call call = {.method = "POST",
	    .path = "/volumes/create",
	    .json = body.data,
	    .timeout_ms = CALL_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot create a volume");
	if (reply.status != 201 && reply.status != 200)
		return engine_refused(&reply, "cannot create a volume", e);
	return read_reply(&reply, ret_info, e);
}

int
volume_inspect(struct engine *en, const char *name,
    struct volume_info *ret_info, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&path, "/volumes/");
	engine_escape(&path, name);
	const struct engine_call call = {
	    .method = "GET", .path = path.data, .timeout_ms = CALL_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot look at a volume");
	if (reply.status != 200)
		return engine_refused(&reply, "cannot look at a volume", e);
	return read_reply(&reply, ret_info, e);
}

int
volume_remove(struct engine *en, const char *name, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&path, "/volumes/");
	engine_escape(&path, name);
	const struct engine_call call = {
	    .method = "DELETE", .path = path.data, .timeout_ms = CALL_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot remove a volume");
	if (reply.status == 204 || reply.status == 404)
		return 0;
	(void)engine_refused(&reply, "cannot remove a volume", e);
	if (strstr(e->text, "active mounts") != NULL)
		e->kind = ERR_CONFLICT;
	return -1;
}

int
volume_list(struct engine *en, const char *key, const char *value,
    struct volume_list *ret_list, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&path, "/volumes?filters=");
	container_json_filter(&path, key, value);
	const struct engine_call call = {
	    .method = "GET", .path = path.data, .timeout_ms = CALL_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot list volumes");
	if (reply.status != 200)
		return engine_refused(&reply, "cannot list volumes", e);
	json_auto_t *answer =
	    json_loadb(reply.body.data, reply.body.size, 0, NULL);
	/* null where there are none. */
	const json_t *all = json_object_get(answer, "Volumes");
	struct volume_list list = {
	    mem_zalloc(mem_array(json_array_size(all), sizeof(*list.item))), 0};
	for (size_t i = 0; i < json_array_size(all); i++)
		if (read_volume(
			json_array_get(all, i), &list.item[list.count]) == 0)
			list.count++;
	*ret_list = list;
	return 0;
}
