/* Containers, as calls of the engine. */
#include "docker/container.h"
#include "docker/container_json.h"
#include "lib/clock.h"
#include "lib/str.h"

#include <jansson.h>
#include <poll.h>
#include <string.h>

#define INSPECT_MS 10000
#define LIST_MS 30000
#define CREATE_MS 60000
#define START_MS 60000
#define REMOVE_MS 60000
#define WAIT_MS (6 * 3600 * 1000)
#define PATH_MAX_SIZE (8u * 1024)
#define BODY_MAX (1u << 20)

/* "/containers/<id><tail>" */
static void
container_path(struct buf *path, const char *id, const char *tail)
{
	buf_adds(path, "/containers/");
	engine_escape(path, id);
	buf_adds(path, tail);
}

/* -- create --------------------------------------------------------------- */

/*
 * What a 400 complains of may be the caller's choice: then its words help. All
 * else in a create is ours or the operator's, and its words may show a path of
 * the host ("bind source path does not exist: ...").
 */
static int
create_refused(const struct engine_reply *reply, struct err *e)
{
	static const char *const callers[] = {
	    "memory limit", "CPUs", "reference format"};

	(void)engine_refused(reply, "cannot create the container", e);
	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++)
		if (reply->status == 400 && strstr(e->text, callers[i]))
			e->kind = ERR_INPUT;
	return -1;
}

int
container_create(struct engine *en, const struct container_spec *spec,
    char ret_id[CONTAINER_ID_SIZE], struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	BUF_AUTO body = BUF_INIT(BODY_MAX);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&path, "/containers/create?name=");
	engine_escape(&path, spec->name);
	container_json_write(&body, spec);
	if (path.over || body.over)
		return err_set(
		    e, ERR_INPUT, "the run's description is too large");
	const struct engine_call call = {.method = "POST",
	    .path = path.data,
	    .json = body.data,
	    .timeout_ms = spec->timeout_ms > 0 ? spec->timeout_ms : CREATE_MS,
	    .gone = spec->gone,
	    .arg = spec->gone_arg};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot create the container");
	if (reply.status != 201)
		return create_refused(&reply, e);
	json_auto_t *answer =
	    json_loadb(reply.body.data, reply.body.size, 0, NULL);
	const char *id = json_string_value(json_object_get(answer, "Id"));
	if (id == NULL || strlen(id) >= CONTAINER_ID_SIZE)
		return err_set(
		    e, ERR_ENGINE, "Docker's new container has no id");
	memcpy(ret_id, id, strlen(id) + 1);
	return 0;
}

/* -- start, pause, wait, signal
 * -------------------------------------------------------- */

int
container_start(struct engine *en, const char *id, bool (*gone)(void *arg),
    void *arg, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	container_path(&path, id, "/start");
	const struct engine_call call = {.method = "POST",
	    .path = path.data,
	    .timeout_ms = START_MS,
	    .gone = gone,
	    .arg = arg};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot start the container");
	if (reply.status != 204 && reply.status != 304)
		return engine_refused(&reply, "cannot start the container", e);
	return 0;
}

/* Both are refused, in words alone, where they have nothing to do. */
static int
freeze(struct engine *en, const char *id, const char *verb, const char *already,
    struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	container_path(&path, id, verb);
	const struct engine_call call = {
	    .method = "POST", .path = path.data, .timeout_ms = START_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot pause or resume the container");
	if (reply.status == 204 || strstr(reply.body.data, already) != NULL)
		return 0;
	(void)engine_refused(&reply, "cannot pause or resume the container", e);
	/* Of the engine; of runc, where it has just ended. */
	if (strstr(e->text, "not running") != NULL ||
	    strstr(e->text, "a stopped container") != NULL)
		e->kind = ERR_CONFLICT;
	/* Of runc, once it has tried for a while. */
	else if (strstr(e->text, "to freeze") != NULL)
		e->kind = ERR_BUSY;
	return -1;
}

int
container_pause(struct engine *en, const char *id, struct err *e)
{
	return freeze(en, id, "/pause", "already paused", e);
}

int
container_unpause(struct engine *en, const char *id, struct err *e)
{
	return freeze(en, id, "/unpause", "not paused", e);
}

int
container_wait(struct engine *en, const char *id, bool (*gone)(void *arg),
    void *arg, int64_t *ret_code, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	container_path(&path, id, "/wait");
	const struct engine_call call = {.method = "POST",
	    .path = path.data,
	    .timeout_ms = WAIT_MS,
	    .gone = gone,
	    .arg = arg};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot wait for the container");
	if (reply.status != 200)
		return engine_refused(
		    &reply, "cannot wait for the container", e);
	json_auto_t *answer =
	    json_loadb(reply.body.data, reply.body.size, 0, NULL);
	const json_t *code = json_object_get(answer, "StatusCode");
	if (!json_is_integer(code))
		return err_set(
		    e, ERR_ENGINE, "Docker's container ended without a code");
	*ret_code = json_integer_value(code);
	return 0;
}

int
container_signal(
    struct engine *en, const char *id, int signal_number, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	container_path(&path, id, "/kill");
	buf_addf(&path, "?signal=%d", signal_number);
	const struct engine_call call = {
	    .method = "POST", .path = path.data, .timeout_ms = START_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot signal the container");
	if (reply.status != 204)
		return engine_refused(&reply, "cannot signal the container", e);
	return 0;
}

/* -- look ----------------------------------------------------------------- */

int
container_inspect(struct engine *en, const char *id,
    struct container_info *ret_info, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	container_path(&path, id, "/json");
	const struct engine_call call = {
	    .method = "GET", .path = path.data, .timeout_ms = INSPECT_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot look at the container");
	if (reply.status != 200)
		return engine_refused(
		    &reply, "cannot look at the container", e);
	return container_json_inspect(
	    reply.body.data, reply.body.size, ret_info, e);
}

int
container_list(struct engine *en, const char *key, const char *value,
    struct container_list *ret_list, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&path, "/containers/json?all=1&filters=");
	container_json_filter(&path, key, value);
	const struct engine_call call = {
	    .method = "GET", .path = path.data, .timeout_ms = LIST_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot list containers");
	if (reply.status != 200)
		return engine_refused(&reply, "cannot list containers", e);
	return container_json_list(
	    reply.body.data, reply.body.size, ret_list, e);
}

const char *
container_label(const struct container_info *info, const char *key)
{
	for (size_t i = 0; i < info->label_count; i++)
		if (str_eq(info->labels[i].key, key))
			return info->labels[i].value;
	return NULL;
}

/* -- remove --------------------------------------------------------------- */

/* One attempt: 1 gone, 0 another removal is at it, -1 failed. */
static int
try_remove(struct engine *en, const char *path, int timeout_ms, struct err *e)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = {
	    .method = "DELETE", .path = path, .timeout_ms = timeout_ms};

	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot remove the container");
	if (reply.status == 204 || reply.status == 404)
		return 1;
	(void)engine_refused(&reply, "cannot remove the container", e);
	e->kind = ERR_ENGINE;
	return reply.status == 409 && strstr(e->text, "in progress") ? 0 : -1;
}

int
container_remove(struct engine *en, const char *id, struct err *e)
{
	int64_t deadline = clock_mono_ms() + REMOVE_MS;
	BUF_AUTO path = BUF_INIT(PATH_MAX_SIZE);
	struct err last = ERR_INIT;
	int pause_ms = 10, rc;

	container_path(&path, id, "?force=1&v=1");
	/* Asking again, not just looking: where the other removal fails, the
	 * container stays, and this one takes over. */
	while ((rc = try_remove(en, path.data, clock_left(deadline), &last)) ==
	       0) {
		if (clock_left(deadline) <= pause_ms) {
			last.kind = ERR_ENGINE_TIMEOUT;
			break;
		}
		(void)poll(NULL, 0, pause_ms);
		pause_ms = pause_ms < 500 ? pause_ms * 2 : 500;
	}
	if (rc > 0)
		return 0;
	*e = last;
	return -1;
}
