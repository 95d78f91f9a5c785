/*
 * docker/: whatever the engine answers to any call is refused with a reason, or
 * is what the call promises; and what an image says of itself is a
 * configuration that its snapshots can have. The first byte says with which
 * status, the others are the body of every answer.
 */
#include "check.h"
#include "docker/commit.h"
#include "docker/container_disk.h"
#include "docker/events.h"
#include "docker/image.h"
#include "docker/info.h"
#include "docker/network.h"
#include "docker/volume.h"
#include "lib/str.h"
#include "run/snapshot_config.h"
#include "run/snapshot_label.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	long status;
	const uint8_t *bytes;
	size_t size;
} answer;

/* In place of engine_do. */
int __wrap_engine_do(struct engine *en, const struct engine_call *call,
    struct engine_reply *ret_reply, struct err *e);

int
__wrap_engine_do(struct engine *en, const struct engine_call *call,
    struct engine_reply *ret_reply, struct err *e)
{
	(void)en;
	(void)e;
	check(call->path[0] == '/' && call->timeout_ms > 0);
	ret_reply->status = answer.status;
	buf_add(&ret_reply->body, answer.bytes, answer.size);
	return 0;
}

/* What a call came to: true where it succeeded. */
static bool
good(int rc, const struct err *e)
{
	check((rc == 0) == (e->kind == ERR_NONE));
	check(rc == 0 || *e->text != '\0');
	return rc == 0;
}

static void
check_labels(const struct label *labels, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(strlen(labels[i].key) + strlen(labels[i].value) <=
		      answer.size);
}

/* -- containers ------------------------------------------------------------ */

static void
check_container(const struct container_info *c)
{
	check(*c->id != '\0' && strlen(c->id) < CONTAINER_ID_SIZE);
	check(c->name != NULL && c->image != NULL && c->status != NULL);
	check(c->created_ms >= 0 && c->finished_ms >= 0);
	check_labels(c->labels, c->label_count);
}

static void
ask_for_containers(void)
{
	struct container_info one = {0};
	struct container_disk disk = {0};
	struct container_list list = {0};
	struct err e = ERR_INIT, of_disk = ERR_INIT, of_list = ERR_INIT;
	int64_t code = 0;

	if (good(container_inspect(NULL, "a", &one, &e), &e)) {
		check_container(&one);
		/* It looks at less of the same answer. */
		check(container_disk(NULL, "a", true, &disk, &of_disk) == 0);
		check(disk.size >= -1);
	}
	container_info_release(&one);
	container_disk_release(&disk);
	if (good(container_list(NULL, "k", "v", &list, &of_list), &of_list))
		for (size_t i = 0; i < list.count; i++)
			check_container(&list.item[i]);
	container_list_release(&list);
	struct err of_wait = ERR_INIT;
	(void)good(
	    container_wait(NULL, "a", NULL, NULL, &code, &of_wait), &of_wait);
}

/* -- images ---------------------------------------------------------------- */

/* A snapshot of it has its configuration, and labels over that. */
static void
check_config(const char *base)
{
	static const struct label own = {"teploy.sandbox.snapshot", "x"};
	static const struct label inherited[] = {
	    {"teploy.sandbox.run", "y"}, {"theirs", "z"}};
	const struct snapshot_config c = {base, &own, 1, inherited, 2};
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct snapshot_base found;
	const char *text;

	check(snapshot_config(&c, &a, &text, &e) == 0);
	json_auto_t *config = json_loads(text, 0, NULL);
	json_t *labels = json_object_get(config, "Labels");
	const char *mine = json_string_value(json_object_get(labels, own.key));
	const char *run =
	    json_string_value(json_object_get(labels, "teploy.sandbox.run"));
	check(mine != NULL && str_eq(mine, "x") && run != NULL && *run == '\0');
	check(json_is_array(json_object_get(config, "Entrypoint")));
	check(snapshot_base(base, "/work/a", &a, &found, &e) == 0);
	for (size_t i = 1; i < found.volume_count; i++)
		check(strcmp(found.volume[i - 1], found.volume[i]) < 0);
	json_auto_t *excludes =
	    json_loads(snapshot_excludes(&found, "/more", &a), 0, NULL);
	check(json_array_size(excludes) == found.volume_count + 1);
	arena_release(&a);
}

static void
check_item(const struct image_item *item)
{
	struct arena a = ARENA_INIT;
	struct snapshot s;

	check(*item->id != '\0' && strlen(item->id) < IMAGE_ID_SIZE);
	check_labels(item->labels, item->label_count);
	if (snapshot_read(item, &a, &s))
		check(str_starts(s.image, SNAPSHOT_PREFIX) &&
		      s.layers <= INT32_MAX && *s.excludes == '[');
	arena_release(&a);
}

static void
ask_for_images(const char *bytes)
{
	const struct commit_watch nobody = {NULL, NULL};
	struct image_info image = {0};
	struct image_list list = {0};
	char id[IMAGE_ID_SIZE] = "";
	struct err e = ERR_INIT, of_list = ERR_INIT, of_commit = ERR_INIT;

	if (good(image_inspect(NULL, "debian:12", &image, &e), &e)) {
		check(image.id != NULL && image.user != NULL);
		check(image.layers >= 0);
		check_config(image.config);
	}
	image_info_release(&image);
	if (good(image_list(NULL, "k", "v", &list, &of_list), &of_list))
		for (size_t i = 0; i < list.count; i++)
			check_item(&list.item[i]);
	image_list_release(&list);
	/* That is tried again, after a while. */
	if (strstr(bytes, "already exists") == NULL &&
	    good(commit_container(NULL, "a", "{}", &nobody, id, &of_commit),
		&of_commit))
		check(*id != '\0');
}

/* -- the rest -------------------------------------------------------------- */

static void
ask_for_volumes(void)
{
	struct volume_info one = {0};
	struct volume_list list = {0};
	struct network_list networks = {0};
	struct err e = ERR_INIT, of_list = ERR_INIT, of_networks = ERR_INIT;

	if (good(volume_inspect(NULL, "a", &one, &e), &e)) {
		check(one.name != NULL && one.mountpoint != NULL);
		check_labels(one.labels, one.label_count);
	}
	volume_info_release(&one);
	if (good(volume_list(NULL, "k", "v", &list, &of_list), &of_list))
		for (size_t i = 0; i < list.count; i++)
			check(list.item[i].name != NULL);
	volume_list_release(&list);
	if (good(network_list(NULL, "k", "v", &networks, &of_networks),
		&of_networks))
		for (size_t i = 0; i < networks.count; i++)
			check(networks.item[i].name != NULL);
	network_list_release(&networks);
}

static void
ask_for_the_engine(void)
{
	struct engine_info info;
	struct err e = ERR_INIT, of_events = ERR_INIT;
	bool restart = false;

	if (good(engine_info(NULL, "runsc", &info, &e), &e))
		check(strlen(info.version) < sizeof(info.version) &&
		      strlen(info.root) < sizeof(info.root));
	(void)good(
	    events_restart_ended(NULL, "a", &restart, &of_events), &of_events);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const long status[] = {
	    200, 201, 204, 304, 400, 404, 409, 500, 503};

	if (size < 1)
		return 0;
	BUF_AUTO body = BUF_INIT(size);
	buf_add(&body, data + 1, size - 1);
	answer.status = status[data[0] % (sizeof(status) / sizeof(status[0]))];
	answer.bytes = data + 1;
	answer.size = size - 1;
	ask_for_containers();
	ask_for_images(body.data);
	ask_for_volumes();
	ask_for_the_engine();
	return 0;
}
