/* The engine's calls. */
#include "model_state.h"
#include "lib/clock.h"
#include "lib/jw.h"
#include "lib/str.h"
#include "lib/ulid.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODE_KILLED (128 + SIGKILL)

/* What a call is about: the segment of its path after the first, its container
 * where it names one. */
struct subject {
	char name[128];
	struct container *container;
};

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

static void
forget_network(struct network *n)
{
	json_decref(n->labels);
	memset(n, 0, sizeof(*n));
}

void
state_age_networks(struct model_state *s)
{
	for (size_t i = 0; i < MODEL_CONTAINERS; i++) {
		const char *run = json_string_value(json_object_get(
		    s->network[i].labels, "teploy.sandbox.run"));
		char id[ULID_SIZE];

		if (run == NULL)
			continue;
		(void)snprintf(id, sizeof(id), "0000000000%s", run + 10);
		json_object_set_new(s->network[i].labels, "teploy.sandbox.run",
		    json_string(id));
	}
}

void
state_clear(struct model_state *s)
{
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		forget(&s->container[i]);
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		forget_network(&s->network[i]);
	s->made = 0;
	s->pulled = false;
}

static int
refuse(struct buf *text, int status, const char *why)
{
	buf_addf(text, "{\"message\":\"%s\"}", why);
	return status;
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

static int
call_image(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	(void)r;
	if (str_starts(about->name, "absent") && !s->pulled)
		return refuse(text, 404, "No such image");
	buf_adds(text, "{\"Id\":\"sha256:1\",\"Config\":{\"User\":\"\"}}");
	return 200;
}

static int
call_pull(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	(void)r, (void)about;
	s->pulled = true;
	buf_adds(text,
	    "{\"status\":\"Pulling from library\"}\r\n"
	    "{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":"
	    "{\"current\":1,\"total\":2}}\r\n"
	    "{\"status\":\"Pull complete\",\"id\":\"a\"}\r\n");
	return 200;
}

static int
call_create(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	const char *name = strchr(r->path, '=') + 1;
	json_auto_t *body = json_loads(r->body, 0, NULL);
	struct container *c = s->container;

	(void)about;
	if (state_find(s, name) != NULL)
		return refuse(text, 409, "Conflict. The name is in use");
	while (c->name[0] != '\0')
		if (++c == s->container + MODEL_CONTAINERS)
			abort(); /* a test that makes so many is wrong */
	c->labels = json_incref(json_object_get(body, "Labels"));
	c->status = "created";
	c->created_ms = clock_wall_ms();
	(void)snprintf(c->name, sizeof(c->name), "%s", name);
	(void)snprintf(c->id, sizeof(c->id), "c0ffee%058zx", ++s->made);
	(void)snprintf(c->image, sizeof(c->image), "%s",
	    json_string_value(json_object_get(body, "Image")));
	(void)snprintf(c->network, sizeof(c->network), "%s",
	    json_string_value(json_object_get(
		json_object_get(body, "HostConfig"), "NetworkMode")));
	buf_addf(text, "{\"Id\":\"%s\",\"Warnings\":[]}", c->id);
	return 201;
}

static struct network *
find_network(struct model_state *s, const char *name)
{
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		if (str_eq(s->network[i].name, name))
			return &s->network[i];
	return NULL;
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
	    find_network(s, about->container->network) == NULL)
		return refuse(text, 404, "network not found");
	about->container->status = "running";
	return 204;
}

static int
call_kill(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct container *c = about->container;

	(void)s;
	if (c == NULL)
		return refuse(text, 404, "No such container");
	if (!state_runs(c))
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

	(void)s, (void)r;
	if (c == NULL)
		return refuse(text, 404, "No such container");
	clock_text(c->created_ms, created);
	clock_text(c->finished_ms, finished);
	char *labels = json_dumps(c->labels, JSON_COMPACT);
	buf_addf(text,
	    "{\"Id\":\"%s\",\"Name\":\"/%s\",\"Created\":\"%s\",\"Config\":{"
	    "\"Image\":\"%s\",\"Labels\":%s},\"State\":{\"Status\":\"%s\","
	    "\"Running\":%s,\"OOMKilled\":false,\"ExitCode\":%d,"
	    "\"FinishedAt\":\"%s\",\"Pid\":%d},"
	    "\"NetworkSettings\":{\"SandboxKey\":\"/nowhere/%s\"}}",
	    c->id, c->name, created, c->image, labels, c->status,
	    state_runs(c) ? "true" : "false", c->code,
	    c->finished_ms > 0 ? finished : "0001-01-01T00:00:00Z",
	    state_runs(c) ? (int)getpid() : 0, c->id);
	free(labels);
	return 200;
}

/* Those with a label whose value the filter has: an instance id is random. */
static int
call_list(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct jw w = JW_INIT(text);

	(void)about;
	jw_open(&w, '[');
	for (size_t i = 0; i < MODEL_CONTAINERS; i++) {
		const struct container *c = &s->container[i];
		const char *instance = json_string_value(
		    json_object_get(c->labels, "teploy.sandbox.instance"));

		if (instance == NULL || strstr(r->path, instance) == NULL)
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

/* None: execs are the only way to its guests. */
static int
call_volumes(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	(void)s, (void)r, (void)about;
	buf_adds(text, "{\"Volumes\":null}");
	return 200;
}

static int
call_network_create(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	json_auto_t *body = json_loads(r->body, 0, NULL);
	const char *name = json_string_value(json_object_get(body, "Name"));
	const char *subnet = json_string_value(json_object_get(
	    json_array_get(
		json_object_get(json_object_get(body, "IPAM"), "Config"), 0),
	    "Subnet"));

	(void)about;
	if (find_network(s, name) != NULL)
		return refuse(text, 409, "network with that name exists");
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		if (str_eq(s->network[i].subnet, subnet))
			return refuse(text, 403,
			    "Pool overlaps with other one on this address "
			    "space");
	struct network *n = find_network(s, "");
	if (n == NULL)
		abort(); /* a test that makes so many is wrong */
	(void)snprintf(n->name, sizeof(n->name), "%s", name);
	(void)snprintf(n->subnet, sizeof(n->subnet), "%s", subnet);
	n->labels = json_incref(json_object_get(body, "Labels"));
	buf_adds(text, "{\"Id\":\"0\",\"Warning\":\"\"}");
	return 201;
}

static int
call_network_list(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	json_auto_t *all = json_array();

	(void)r, (void)about;
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		if (s->network[i].name[0] != '\0')
			json_array_append_new(all,
			    json_pack("{s:s,s:O}", "Name", s->network[i].name,
				"Labels", s->network[i].labels));
	char *list = json_dumps(all, JSON_COMPACT);
	buf_adds(text, list);
	free(list);
	return 200;
}

static int
call_network_remove(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct network *n = find_network(s, about->name);

	(void)r;
	if (n == NULL)
		return refuse(text, 404, "network not found");
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		if (s->container[i].name[0] != '\0' &&
		    str_eq(s->container[i].network, n->name) &&
		    state_runs(&s->container[i]))
			return refuse(text, 403, "it has active endpoints");
	forget_network(n);
	return 204;
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
	int (*call)(struct model_state *s, const struct fake_request *r,
	    const struct subject *about, struct buf *text);
} calls[] = {
    {"GET", "/version", call_version},
    {"GET", "/_ping", call_ping},
    {"GET", "/images/*/json", call_image},
    {"POST", "/images/create?*", call_pull},
    {"POST", "/containers/create?name=*", call_create},
    {"POST", "/containers/*/start", call_start},
    {"POST", "/containers/*/kill?*", call_kill},
    {"POST", "/containers/*/exec", call_exec},
    {"POST", "/exec/*/start", call_exec_start},
    {"GET", "/containers/json?*", call_list},
    {"GET", "/containers/*/json", call_inspect},
    {"DELETE", "/containers/*", call_remove},
    {"GET", "/volumes?*", call_volumes},
    {"POST", "/networks/create", call_network_create},
    {"GET", "/networks?*", call_network_list},
    {"DELETE", "/networks/*", call_network_remove},
};

int
state_call(struct model_state *s, const struct fake_request *r,
    struct buf *text, const struct container **ret_exec)
{
	struct subject about = {.container = NULL};
	const char *second = strchr(r->path + 1, '/');

	*ret_exec = NULL;
	if (second != NULL)
		(void)snprintf(about.name, sizeof(about.name), "%.*s",
		    (int)strcspn(second + 1, "/?"), second + 1);
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
