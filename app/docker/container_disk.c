/* A container's layer and volumes, out of its inspection. */
#include "docker/container_disk.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define INSPECT_MS 10000
#define COUNTED_MS 60000
#define PATH_MAX_SIZE 1024

void
container_disk_release(struct container_disk *disk)
{
	for (size_t i = 0; i < disk->count; i++) {
		free(disk->volume[i].name);
		free(disk->volume[i].source);
	}
	free(disk->volume);
	free(disk->upper);
	memset(disk, 0, sizeof(*disk));
}

static char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return mem_strdup(text != NULL ? text : "");
}

/* Drivers that stack layers tell the uppermost; what others tell is the whole
 * file system of the container, its image along. */
static char *
upper_of(const json_t *answer)
{
	const json_t *driver = json_object_get(answer, "GraphDriver");

	return text_of(json_object_get(driver, "Data"), "UpperDir");
}

static void
take_volumes(const json_t *mounts, struct container_disk *disk)
{
	size_t count = json_array_size(mounts);

	disk->volume = mem_zalloc(mem_array(count, sizeof(*disk->volume)));
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_array_get(mounts, i);
		const char *type =
		    json_string_value(json_object_get(one, "Type"));

		if (type != NULL && str_eq(type, "volume"))
			disk->volume[disk->count++] = (struct container_volume){
			    text_of(one, "Name"), text_of(one, "Source")};
	}
}

int
container_disk(struct engine *en, const char *id, bool counted,
    struct container_disk *ret_disk, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&path, "/containers/");
	engine_escape(&path, id);
	buf_adds(&path, counted ? "/json?size=1" : "/json");
	const struct engine_call call = {.method = "GET",
	    .path = path.data,
	    .timeout_ms = counted ? COUNTED_MS : INSPECT_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot look at the container");
	if (reply.status != 200)
		return engine_refused(
		    &reply, "cannot look at the container", e);
	json_auto_t *answer =
	    json_loadb(reply.body.data, reply.body.size, 0, NULL);
	const json_t *state = json_object_get(answer, "State");
	const json_t *size = json_object_get(answer, "SizeRw");
	if (!json_is_object(state))
		return err_set(
		    e, ERR_ENGINE, "Docker's container makes no sense");
	struct container_disk disk = {.upper = upper_of(answer),
	    .paused = json_is_true(json_object_get(state, "Paused")),
	    .size = json_is_integer(size) ? json_integer_value(size) : -1};
	take_volumes(json_object_get(answer, "Mounts"), &disk);
	*ret_disk = disk;
	return 0;
}
