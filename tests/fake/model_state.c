/* The engine's calls. */
#include "model_state.h"
#include "lib/clock.h"
#include "lib/jw.h"
#include "lib/str.h"
#include "lib/ulid.h"
#include "model_call.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODE_KILLED (128 + SIGKILL)

struct container *
state_find(struct model_state *s, const char *name)
{
	for (size_t i = 0; i < MODEL_CONTAINERS; i++) {
		struct container *c = &s->container[i];

		if (c->name[0] != '\0' &&
		    (str_eq(c->name, name) || str_eq(c->id, name)))
			return c;
	}
	return NULL;
}

bool
state_runs(const struct container *c)
{
	return str_eq(c->status, "running");
}

void
state_end(struct container *c, int code)
{
	c->status = "exited";
	c->code = code;
	c->finished_ms = clock_wall_ms();
}

static void
forget(struct container *c)
{
	json_decref(c->labels);
	memset(c, 0, sizeof(*c));
}

void
state_clear(struct model_state *s)
{
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		forget(&s->container[i]);
	for (size_t i = 0; i < MODEL_IMAGES; i++) {
		json_decref(s->image[i].labels);
		memset(&s->image[i], 0, sizeof(s->image[i]));
	}
	for (size_t i = 0; i < MODEL_VOLUMES; i++)
		state_forget_volume(&s->volume[i]);
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		state_forget_network(&s->network[i]);
	s->made = 0;
	s->pulled = false;
}

int
refuse(struct buf *text, int status, const char *why)
{
	buf_addf(text, "{\"message\":\"%s\"}", why);
	return status;
}

/* The filter is {"label":["key=value"]}, percent-encoded. */
bool
is_listed(const json_t *labels, const struct fake_request *r)
{
	BUF_AUTO wanted = BUF_INIT(1024);
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)labels, key, value)
	{
		buf_reset(&wanted);
		buf_addf(
		    &wanted, "%%22%s%%3D%s%%22", key, json_string_value(value));
		if (strstr(r->path, wanted.data) != NULL)
			return true;
	}
	return false;
}

/* -- calls ---------------------------------------------------------------- */

static int
call_version(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	(void)s, (void)r, (void)about;
	buf_adds(text, "{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"1.12\"}");
	return 200;
}

static int
call_ping(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	(void)s, (void)r, (void)about;
	buf_adds(text, "OK");
	return 200;
}

static void
take_volumes(struct container *c, const json_t *mounts)
{
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(mounts); i++) {
		const json_t *one = json_array_get(mounts, i);

		if (!str_eq(json_string_value(json_object_get(one, "Type")),
			"volume"))
			continue;
		if (count == CONTAINER_VOLUMES)
			abort();
		(void)snprintf(c->volume[count++], sizeof(c->volume[0]), "%s",
		    json_string_value(json_object_get(one, "Source")));
	}
}

static int
call_create(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	const char *name = strchr(r->path, '=') + 1;
	json_auto_t *body = json_loads(r->body, 0, NULL);
	const char *image = json_string_value(json_object_get(body, "Image"));
	struct container *c = s->container;

	(void)about;
	if (state_find(s, name) != NULL)
		return refuse(text, 409, "Conflict. The name is in use");
	if (str_starts(image, "teploy-sbx-snap") &&
	    state_image(s, image) == NULL)
		return refuse(text, 404, "No such image");
	while (c->name[0] != '\0')
		if (++c == s->container + MODEL_CONTAINERS)
			abort(); /* a test that makes so many is wrong */
	c->labels = json_incref(json_object_get(body, "Labels"));
	c->status = "created";
	c->created_ms = clock_wall_ms();
	(void)snprintf(c->name, sizeof(c->name), "%s", name);
	(void)snprintf(c->id, sizeof(c->id), "c0ffee%058zx", ++s->made);
	(void)snprintf(c->image, sizeof(c->image), "%s", image);
	take_volumes(
	    c, json_object_get(json_object_get(body, "HostConfig"), "Mounts"));
	(void)snprintf(c->image, sizeof(c->image), "%s",
	    json_string_value(json_object_get(body, "Image")));
	(void)snprintf(c->network, sizeof(c->network), "%s",
	    json_string_value(json_object_get(
		json_object_get(body, "HostConfig"), "NetworkMode")));
	buf_addf(text, "{\"Id\":\"%s\",\"Warnings\":[]}", c->id);
	return 201;
}

static int
call_start(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	(void)s, (void)r;
	if (about->container == NULL)
		return refuse(text, 404, "No such container");
	if (state_runs(about->container))
		return 304;
	if (!str_eq(about->container->network, "none") &&
	    !str_eq(about->container->network, "bridge") &&
	    state_network(s, about->container->network) == NULL)
		return refuse(text, 404, "network not found");
	about->container->status = "running";
	/* Copying, which is all that one of those does, takes no time. */
	if (json_object_get(
		about->container->labels, "teploy.sandbox.staging") != NULL)
		state_end(about->container, 0);
	return 204;
}

static int
call_pause(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct container *c = about->container;

	(void)s, (void)r;
	if (c == NULL)
		return refuse(text, 404, "No such container");
	if (str_eq(c->status, "paused"))
		return refuse(text, 409, "Container is already paused");
	if (!state_runs(c))
		return refuse(text, 409, "Container is not running");
	c->status = "paused";
	return 204;
}

static int
call_unpause(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct container *c = about->container;

	(void)s, (void)r;
	if (c == NULL)
		return refuse(text, 404, "No such container");
	if (!str_eq(c->status, "paused"))
		return refuse(text, 500, "Container is not paused");
	c->status = "running";
	return 204;
}

static int
call_wait(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	const struct container *c = about->container;

	(void)s, (void)r;
	if (c == NULL)
		return refuse(text, 404, "No such container");
	if (!str_eq(c->status, "exited"))
		abort(); /* nobody waits for a run */
	buf_addf(text, "{\"StatusCode\":%d}", c->code);
	return 200;
}

static int
call_kill(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct container *c = about->container;

	(void)s;
	if (c == NULL)
		return refuse(text, 404, "No such container");
	if (!state_runs(c) && !str_eq(c->status, "paused"))
		return refuse(text, 409, "Container is not running");
	if (str_ends(r->path, "?signal=10"))
		c->resets++;
	else
		state_end(c, CODE_KILLED);
	return 204;
}

static int
call_inspect(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	const struct container *c = about->container;
	char created[CLOCK_TEXT_SIZE], finished[CLOCK_TEXT_SIZE];

	(void)r;
	if (c == NULL)
		return refuse(text, 404, "No such container");
	clock_text(c->created_ms, created);
	clock_text(c->finished_ms, finished);
	char *labels = json_dumps(c->labels, JSON_COMPACT);
	bool paused = str_eq(c->status, "paused");
	const struct image *image = state_image(s, c->image);
	buf_addf(text,
	    "{\"Id\":\"%s\",\"Name\":\"/%s\",\"Created\":\"%s\",\"Image\":"
	    "\"%s\",\"SizeRw\":4096,\"Config\":{"
	    "\"Image\":\"%s\",\"Labels\":%s},\"State\":{\"Status\":\"%s\","
	    "\"Paused\":%s,\"Running\":%s,\"OOMKilled\":false,\"ExitCode\":%d,"
	    "\"FinishedAt\":\"%s\",\"Pid\":%d},"
	    "\"NetworkSettings\":{\"SandboxKey\":\"/nowhere/%s\"}}",
	    c->id, c->name, created, image != NULL ? image->id : "sha256:1",
	    c->image, labels, c->status, paused ? "true" : "false",
	    paused || state_runs(c) ? "true" : "false", c->code,
	    c->finished_ms > 0 ? finished : "0001-01-01T00:00:00Z",
	    paused || state_runs(c) ? (int)getpid() : 0, c->id);
	free(labels);
	return 200;
}

static int
call_list(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct jw w = JW_INIT(text);

	(void)about;
	jw_open(&w, '[');
	for (size_t i = 0; i < MODEL_CONTAINERS; i++) {
		const struct container *c = &s->container[i];

		if (!is_listed(c->labels, r))
			continue;
		char *labels = json_dumps(c->labels, JSON_COMPACT);
		jw_open(&w, '{');
		jw_str(&w, "Id", c->id);
		jw_key(&w, "Names");
		jw_open(&w, '[');
		jw_str(&w, NULL, c->name);
		jw_close(&w, ']');
		jw_str(&w, "Image", c->image);
		jw_str(&w, "State", c->status);
		jw_int(&w, "Created", c->created_ms / 1000);
		jw_raw(&w, "Labels", labels);
		jw_close(&w, '}');
		free(labels);
	}
	jw_close(&w, ']');
	return 200;
}

static int
call_remove(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	(void)s, (void)r;
	if (about->container == NULL)
		return refuse(text, 404, "No such container");
	forget(about->container);
	return 204;
}

/* One exec per container is enough: it is called like its container. */
static int
call_exec(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	(void)s, (void)r;
	if (about->container == NULL)
		return refuse(text, 404, "No such container");
	if (!state_runs(about->container))
		return refuse(text, 409, "Container is not running");
	buf_addf(text, "{\"Id\":\"%s\"}", about->container->id);
	return 201;
}

static int
call_exec_start(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	int status = call_exec(s, r, about, text);

	return status == 201 ? 101 : status;
}

/* Patterns of fnmatch(3); the first that fits. */
static const struct {
	const char *method, *path;
	model_call *call;
} calls[] = {
    {"GET", "/version", call_version},
    {"GET", "/_ping", call_ping},
    {"GET", "/images/*/json", call_image},
    {"POST", "/images/create?*", call_pull},
    {"POST", "/containers/create?name=*", call_create},
    {"POST", "/containers/*/start", call_start},
    {"POST", "/containers/*/kill?*", call_kill},
    {"POST", "/containers/*/pause", call_pause},
    {"POST", "/containers/*/unpause", call_unpause},
    {"POST", "/containers/*/wait", call_wait},
    {"POST", "/containers/*/exec", call_exec},
    {"POST", "/exec/*/start", call_exec_start},
    {"GET", "/containers/json?*", call_list},
    {"GET", "/containers/*/json", call_inspect},
    {"GET", "/containers/*/json?size=1", call_inspect},
    {"DELETE", "/containers/*", call_remove},
    {"POST", "/commit?*", call_commit},
    {"GET", "/images/json?*", call_images},
    {"POST", "/images/*/tag?*", call_tag},
    {"DELETE", "/images/*", call_untag},
    {"GET", "/volumes/*", call_volume}, /* before the next, whose ? it is */
    {"GET", "/volumes?*", call_volumes},
    {"POST", "/volumes/create", call_volume_create},
    {"DELETE", "/volumes/*", call_volume_remove},
    {"POST", "/networks/create", call_network_create},
    {"GET", "/networks?*", call_network_list},
    {"DELETE", "/networks/*", call_network_remove},
};

/* Up to the next '/' or '?'; percent-encoded is what clients send of ':'. */
static void
take_name(const char *from, char *to, size_t room)
{
	while (*from != '\0' && *from != '/' && *from != '?' && room-- > 1) {
		bool colon = str_starts(from, "%3A");

		*to++ = colon ? ':' : *from;
		from += colon ? 3 : 1;
	}
	*to = '\0';
}

int
state_call(struct model_state *s, const struct fake_request *r,
    struct buf *text, const struct container **ret_exec)
{
	struct subject about = {.container = NULL};
	const char *second = strchr(r->path + 1, '/');

	*ret_exec = NULL;
	if (second != NULL)
		take_name(second + 1, about.name, sizeof(about.name));
	about.container = state_find(s, about.name);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (!str_eq(calls[i].method, r->method) ||
		    fnmatch(calls[i].path, r->path, 0) != 0)
			continue;
		int status = calls[i].call(s, r, &about, text);
		if (status == 101)
			*ret_exec = about.container;
		return status;
	}
	return refuse(text, 404, "page not found");
}
