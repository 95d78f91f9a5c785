/* Images made of containers, as calls of the engine. */
#include "docker/commit.h"
#include "docker/container_json.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define LONG_MS (6 * 3600 * 1000)
#define SHORT_MS 60000
#define PATH_SIZE (64u * 1024)
#define COMMIT_TRIES 3
#define RETRY_MS 100

/* -- what all have in common ----------------------------------------------- */

static int
copy_id(const char *id, char to[IMAGE_ID_SIZE], struct err *e)
{
	if (id == NULL || *id == '\0' || strlen(id) >= IMAGE_ID_SIZE)
		return err_set(e, ERR_ENGINE, "Docker's new image has no id");
	memcpy(to, id, strlen(id) + 1);
	return 0;
}

int
commit_full(struct err *e)
{
	return err_set(e, ERR_FILE_SPACE,
	    "The disk on which the engine keeps images is full.");
}

/* The engine tells of it in the kernel's words alone. */
static int
explain(struct err *e)
{
	if (strstr(e->text, "no space left") != NULL ||
	    strstr(e->text, "quota exceeded") != NULL)
		return commit_full(e);
	return -1;
}

static int
refused(const struct engine_reply *reply, const char *doing, struct err *e)
{
	(void)engine_refused(reply, doing, e);
	return explain(e);
}

/* -- commit ---------------------------------------------------------------- */

static int
try_commit(
    struct engine *en, const struct engine_call *call, char *id, struct err *e)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	if (engine_do(en, call, &reply, e) != 0)
		return err_wrap(e, "cannot commit the container");
	if (reply.status != 201)
		return refused(&reply, "cannot commit the container", e);
	json_auto_t *answer =
	    json_loadb(reply.body.data, reply.body.size, 0, NULL);
	return copy_id(json_string_value(json_object_get(answer, "Id")), id, e);
}

int
commit_container(struct engine *en, const char *container, const char *config,
    const struct commit_watch *watch, char ret_image[IMAGE_ID_SIZE],
    struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_SIZE);

	buf_adds(&path, "/commit?pause=0&container=");
	engine_escape(&path, container);
	const struct engine_call call = {.method = "POST",
	    .path = path.data,
	    .json = config,
	    .timeout_ms = LONG_MS,
	    .gone = watch->gone,
	    .arg = watch->arg};
	/* With containerd's image store two containers of one image that are
	 * committed at the same time get in each other's way. */
	for (int tries = 1;; tries++) {
		if (try_commit(en, &call, ret_image, e) == 0)
			return 0;
		if (tries == COMMIT_TRIES || e->kind == ERR_GONE_AWAY ||
		    strstr(e->text, "already exists") == NULL)
			return -1;
		(void)poll(NULL, 0, RETRY_MS * tries);
	}
}

/* -- export into import ---------------------------------------------------- */

/* Between the two: what the one gives the other is fed. */
struct pouring {
	struct engine_stream *from;
	const struct commit_watch *watch;
	const char *bytes; /* of the piece at hand, so many left */
	size_t left;
	struct err broken; /* why no more could be had */
};

static int64_t
pour(void *arg, char *to, size_t size)
{
	struct pouring *p = arg;
	int more = 1;

	if (p->left == 0)
		more = engine_stream_next(
		    p->from, &p->bytes, &p->left, &p->broken);
	if (more <= 0)
		return more;
	size = size < p->left ? size : p->left;
	memcpy(to, p->bytes, size);
	p->bytes += size;
	p->left -= size;
	return (int64_t)size;
}

static bool
pour_gone(void *arg)
{
	const struct pouring *p = arg;

	return p->watch->gone != NULL && p->watch->gone(p->watch->arg);
}

/* The engine tells the image's id, or what went wrong, in the last of several
 * JSON objects, and 200 anyhow. */
static int
read_import(const struct buf *body, char *id, struct err *e)
{
	const char *at = body->data, *end = body->data + body->size;
	const char *status = NULL;
	json_auto_t *last = NULL;

	while (at < end) {
		json_error_t stop;
		json_t *one = json_loadb(
		    at, (size_t)(end - at), JSON_DISABLE_EOF_CHECK, &stop);
		if (one == NULL)
			break;
		json_decref(last);
		last = one;
		at += stop.position;
	}
	const char *bad = json_string_value(json_object_get(last, "error"));
	if (bad != NULL) {
		(void)err_set(e, ERR_ENGINE, "cannot import: %s", bad);
		return explain(e);
	}
	status = json_string_value(json_object_get(last, "status"));
	return copy_id(status, id, e);
}

static int
run_import(struct engine *en, const char *path, struct pouring *p, char *id,
    struct err *e)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = {.method = "POST",
	    .path = path,
	    .feed = pour,
	    .timeout_ms = LONG_MS,
	    .gone = pour_gone,
	    .arg = p};

	if (engine_do(en, &call, &reply, e) != 0) {
		if (p->broken.kind != ERR_NONE)
			*e = p->broken;
		return err_wrap(e, "cannot import the file system");
	}
	if (reply.status != 200)
		return refused(&reply, "cannot import the file system", e);
	return read_import(&reply.body, id, e);
}

/* A line of a Dockerfile: quoted, so that any text is one word. */
static void
add_label(struct buf *path, const struct label *label)
{
	BUF_AUTO line = BUF_INIT(PATH_SIZE);

	buf_addf(&line, "LABEL %s=\"", label->key);
	for (const char *c = label->value; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\' || *c == '$')
			buf_addc(&line, '\\');
		buf_addc(&line, *c);
	}
	buf_addc(&line, '"');
	buf_adds(path, "&changes=");
	engine_escape(path, line.data);
}

int
commit_flat(struct engine *en, const char *container,
    const struct label *labels, size_t label_count,
    const struct commit_watch *watch, char ret_image[IMAGE_ID_SIZE],
    struct err *e)
{
	BUF_AUTO from = BUF_INIT(PATH_SIZE);
	BUF_AUTO to = BUF_INIT(PATH_SIZE);
	struct pouring p = {NULL, watch, NULL, 0, ERR_INIT};

	buf_adds(&from, "/containers/");
	engine_escape(&from, container);
	buf_adds(&from, "/export");
	buf_adds(&to, "/images/create?fromSrc=-");
	for (size_t i = 0; i < label_count; i++)
		add_label(&to, &labels[i]);
	const struct engine_call export = {.method = "GET",
	    .path = from.data,
	    .timeout_ms = LONG_MS,
	    .gone = watch->gone,
	    .arg = watch->arg};
	p.from = engine_stream_open(en, &export, e);
	if (p.from == NULL)
		return err_wrap(e, "cannot export the file system");
	int rc = engine_stream_reply(p.from)->status == 200
		     ? run_import(en, to.data, &p, ret_image, e)
		     : refused(engine_stream_reply(p.from),
			   "cannot export the file system", e);
	engine_stream_free(p.from);
	return rc;
}

/* -- names ----------------------------------------------------------------- */

int
image_tag(struct engine *en, const char *image, const char *repository,
    const char *tag, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&path, "/images/");
	engine_escape(&path, image);
	buf_adds(&path, "/tag?repo=");
	engine_escape(&path, repository);
	buf_adds(&path, "&tag=");
	engine_escape(&path, tag);
	const struct engine_call call = {
	    .method = "POST", .path = path.data, .timeout_ms = SHORT_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot tag the image");
	if (reply.status != 201)
		return refused(&reply, "cannot tag the image", e);
	return 0;
}

int
image_remove(struct engine *en, const char *image, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&path, "/images/");
	engine_escape(&path, image);
	const struct engine_call call = {
	    .method = "DELETE", .path = path.data, .timeout_ms = LONG_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot remove the image");
	/* The engine's error for one of two who remove it at once: it was
	 * there, and is gone. */
	if (reply.status == 200 ||
	    (reply.status == 500 &&
		strstr(reply.body.data, "unrecognized image ID") != NULL))
		return 0;
	return engine_refused(&reply, "cannot remove the image", e);
}

/* -- the list -------------------------------------------------------------- */

void
image_list_release(struct image_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		char **tags = list->item[i].tags;

		for (size_t n = 0; tags != NULL && tags[n] != NULL; n++)
			free(tags[n]);
		free(tags);
		free(list->item[i].labels);
	}
	free(list->item);
	list->item = NULL;
	list->count = 0;
}

const char *
image_label(const struct image_item *item, const char *key)
{
	for (size_t i = 0; i < item->label_count; i++)
		if (str_eq(item->labels[i].key, key))
			return item->labels[i].value;
	return NULL;
}

/* Without the "<none>:<none>" of older engines. */
static char **
read_tags(const json_t *tags)
{
	size_t count = json_array_size(tags), n = 0;
	char **list = mem_zalloc(mem_array(count + 1, sizeof(*list)));

	for (size_t i = 0; i < count; i++) {
		const char *tag = json_string_value(json_array_get(tags, i));

		if (tag != NULL && !str_starts(tag, "<none>"))
			list[n++] = mem_strdup(tag);
	}
	return list;
}

static int
read_item(const json_t *object, struct image_item *item, struct err *e)
{
	if (copy_id(json_string_value(json_object_get(object, "Id")), item->id,
		e) != 0)
		return -1;
	item->tags = read_tags(json_object_get(object, "RepoTags"));
	container_json_labels(json_object_get(object, "Labels"), &item->labels,
	    &item->label_count);
	item->created_ms = container_json_seconds(object, "Created");
	item->bytes = json_integer_value(json_object_get(object, "Size"));
	return 0;
}

static int
read_list(const struct buf *body, struct image_list *ret_list, struct err *e)
{
	json_auto_t *answer = json_loadb(body->data, body->size, 0, NULL);
	size_t count = json_array_size(answer);
	struct image_list list = {
	    mem_zalloc(mem_array(count, sizeof(*list.item))), count};

	if (!json_is_array(answer)) {
		image_list_release(&list);
		return err_set(
		    e, ERR_ENGINE, "Docker's list of images is none");
	}
	for (size_t i = 0; i < count; i++)
		if (read_item(json_array_get(answer, i), &list.item[i], e) !=
		    0) {
			image_list_release(&list);
			return -1;
		}
	*ret_list = list;
	return 0;
}

int
image_list(struct engine *en, const char *key, const char *value,
    struct image_list *ret_list, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&path, "/images/json?filters=");
	container_json_filter(&path, key, value);
	const struct engine_call call = {
	    .method = "GET", .path = path.data, .timeout_ms = SHORT_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot list images");
	if (reply.status != 200)
		return engine_refused(&reply, "cannot list images", e);
	return read_list(&reply.body, ret_list, e);
}
