/* Images, as calls of the engine. */
#include "docker/image.h"
#include "docker/auth.h"
#include "docker/pull.h"
#include "docker/reference.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define INSPECT_MS 10000
#define PULL_MS (6 * 3600 * 1000)
#define PULL_IDLE_MS (2 * 60 * 1000)
#define URL_MAX (8u * 1024)
#define CONFIG_MAX (1u << 20)
#define AUTH_MAX (128u * 1024)

/* -- inspect -------------------------------------------------------------- */

void
image_info_release(struct image_info *info)
{
	free(info->id);
	free(info->user);
	free(info->config);
	info->id = info->user = info->config = NULL;
}

static int
read_info(const struct buf *body, struct image_info *ret_info, struct err *e)
{
	json_auto_t *answer = json_loadb(body->data, body->size, 0, NULL);
	const char *id = json_string_value(json_object_get(answer, "Id"));
	const json_t *config = json_object_get(answer, "Config");
	const char *user = json_string_value(json_object_get(config, "User"));
	const json_t *dir = json_object_get(config, "WorkingDir");

	if (id == NULL)
		return err_set(e, ERR_ENGINE, "Docker's image makes no sense");
	ret_info->id = mem_strdup(id);
	ret_info->user = mem_strdup(user != NULL ? user : "");
	ret_info->healthcheck =
	    json_is_object(json_object_get(config, "Healthcheck"));
	ret_info->working_dir = json_string_length(dir) > 0;
	ret_info->layers = (int64_t)json_array_size(
	    json_object_get(json_object_get(answer, "RootFS"), "Layers"));
	ret_info->bytes = json_integer_value(json_object_get(answer, "Size"));
	ret_info->config =
	    json_is_object(config) ? json_dumps(config, JSON_COMPACT) : NULL;
	if (ret_info->config == NULL)
		ret_info->config = mem_strdup("{}");
	return 0;
}

int
image_inspect(struct engine *en, const char *reference,
    struct image_info *ret_info, struct err *e)
{
	struct reference parsed;
	BUF_AUTO path = BUF_INIT(URL_MAX);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	if (reference_parse(reference, &parsed, e) != 0)
		return -1;
	buf_adds(&path, "/images/");
	engine_escape(&path, reference);
	buf_adds(&path, "/json");
	const struct engine_call call = {
	    .method = "GET", .path = path.data, .timeout_ms = INSPECT_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot look at the image");
	if (reply.status == 404)
		return err_set(
		    e, ERR_IMAGE_ABSENT, "no image \"%s\" is here", reference);
	if (reply.status != 200) {
		(void)engine_refused(&reply, "cannot look at the image", e);
		e->kind = reply.status == 400 ? ERR_INPUT : e->kind;
		return -1;
	}
	return read_info(&reply.body, ret_info, e);
}

/* -- pull ----------------------------------------------------------------- */

struct puller {
	struct pull pull;
	const struct image_pull *how;
	struct err bad; /* why the stream cannot be read, if it cannot */
};

static int
take_progress(void *arg, const char *bytes, size_t size)
{
	struct puller *p = arg;
	int64_t current = p->pull.current, total = p->pull.total;

	if (pull_feed(&p->pull, bytes, size, &p->bad) != 0)
		return -1;
	if (p->how->progress == NULL ||
	    (current == p->pull.current && total == p->pull.total))
		return 0;
	return p->how->progress(p->how->arg, p->pull.current, p->pull.total);
}

static bool
caller_gone(void *arg)
{
	const struct puller *p = arg;

	return p->how->gone != NULL && p->how->gone(p->how->arg);
}

/* What the engine said, in the caller's terms. */
static int
pull_refused(const struct engine_reply *reply, struct err *e)
{
	(void)engine_refused(reply, "Docker", e);
	e->kind = reply->status == 404	 ? ERR_IMAGE_ABSENT
		  : reply->status == 400 ? ERR_INPUT
					 : pull_blame(e->text);
	return -1;
}

/* Why the call itself failed: of its silence the registry is the cause. */
static int
pull_failed(const struct puller *p, struct err *e)
{
	if (p->bad.kind != ERR_NONE)
		*e = p->bad;
	else if (e->kind == ERR_ENGINE_TIMEOUT)
		return err_set(e, ERR_REGISTRY, "its registry does not answer");
	return -1;
}

static int
run_pull(struct engine *en, const char *path, const char *auth,
    struct puller *p, struct err *e)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = {.method = "POST",
	    .path = path,
	    .registry_auth = auth[0] != '\0' ? auth : NULL,
	    .timeout_ms = PULL_MS,
	    .idle_ms = PULL_IDLE_MS,
	    .consume = take_progress,
	    .gone = p->how->gone != NULL ? caller_gone : NULL,
	    .arg = p};

	if (engine_do(en, &call, &reply, e) != 0)
		return pull_failed(p, e);
	if (reply.status != 200)
		return pull_refused(&reply, e);
	if (pull_feed(&p->pull, "\n", 1, e) != 0)
		return -1;
	if (p->pull.error[0] != '\0')
		return err_set(
		    e, pull_blame(p->pull.error), "%s", p->pull.error);
	return 0;
}

/* The credentials that the configuration has for that host, or "". */
static int
find_auth(
    const char *config_path, const char *host, struct buf *to, struct err *e)
{
	size_t size;

	if (config_path == NULL || config_path[0] == '\0')
		return 0;
	char *config = fd_read_file(config_path, CONFIG_MAX, &size, e);
	if (config == NULL)
		return err_wrap(e, "SBX_DOCKER_CONFIG");
	int rc = auth_header(config, size, host, to, e);
	free(config);
	return rc;
}

int
image_pull(struct engine *en, const char *reference,
    const struct image_pull *how, struct err *e)
{
	struct reference parsed;
	struct puller p = {PULL_INIT, how, ERR_INIT};
	BUF_AUTO path = BUF_INIT(URL_MAX);
	BUF_AUTO auth = BUF_INIT(AUTH_MAX);

	if (reference_parse(reference, &parsed, e) != 0)
		return -1;
	if (parsed.is_id)
		return err_set(e, ERR_IMAGE_ABSENT,
		    "no image \"%s\" is here, and an id cannot be pulled",
		    reference);
	if (find_auth(how->docker_config, parsed.host, &auth, e) != 0)
		return -1;
	buf_adds(&path, "/images/create?fromImage=");
	engine_escape(&path, parsed.name);
	buf_adds(&path, "&tag=");
	engine_escape(&path, parsed.version);
	int rc = run_pull(en, path.data, auth.data, &p, e);
	pull_release(&p.pull);
	if (rc != 0)
		return err_wrap(
		    e, "cannot pull the image \"%.300s\"", reference);
	return 0;
}
