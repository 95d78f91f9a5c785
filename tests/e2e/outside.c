/* Docker and Redis behind the API's back. */
#include "outside.h"
#include "../check.h"
#include "curl.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "stack.h"

#include <ctype.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

struct reply
docker_do(const char *method, const char *path, const char *body)
{
	struct reply r = {0, BUF_INIT(1 << 20), BUF_INIT(64 << 20), NULL, 0};
	struct curl_slist *json =
	    curl_slist_append(NULL, "Content-Type: application/json");
	CURL *c = curl_easy_init();
	char url[4096];

	(void)snprintf(url, sizeof(url), "http://engine%s", path);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, stack.docker);
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, json);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, 60L);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, curl_into_buf);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &r.body);
	if (body != NULL)
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	if (curl_easy_perform(c) == CURLE_OK)
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &r.status);
	curl_slist_free_all(json);
	curl_easy_cleanup(c);
	r.json = json_loadb(r.body.data, r.body.size, JSON_ALLOW_NUL, NULL);
	return r;
}

json_t *
docker_container(const char *id)
{
	char path[128], name[ULID_SIZE];

	(void)snprintf(name, sizeof(name), "%s", id);
	str_lower(name);
	(void)snprintf(
	    path, sizeof(path), "/containers/teploy-sbx-%s/json", name);
	REPLY_AUTO r = docker_do("GET", path, NULL);
	if (r.status == 404)
		return NULL;
	assert_int_equal(r.status, 200);
	return json_incref(r.json);
}

size_t
docker_count(void)
{
	char path[256];

	(void)snprintf(path, sizeof(path),
	    "/containers/json?all=1&filters=%%7B%%22label%%22%%3A%%5B%%22"
	    "teploy.sandbox.instance%%3D%s%%22%%5D%%7D",
	    stack.instance);
	REPLY_AUTO r = docker_do("GET", path, NULL);
	assert_int_equal(r.status, 200);
	return json_array_size(r.json);
}

const json_t *
json_at(const json_t *json, const char *path)
{
	char name[128];

	for (const char *p = path; *p != '\0';) {
		size_t size = strcspn(p, ".");

		(void)snprintf(name, sizeof(name), "%.*s", (int)size, p);
		if (json_is_array(json) && isdigit((unsigned char)*p))
			json = json_array_get(json, (size_t)(*p - '0'));
		else
			json = json_object_get(json, name);
		if (json == NULL)
			fail_msg("there is no %s in the JSON", path);
		p += size + (p[size] == '.');
	}
	return json;
}

static const struct {
	const char *name;
	const char *argument[6];
} images[] = {
    {IMAGE_PLAIN, {NULL}},
    {IMAGE_USER, {"USER 1000"}},
    {IMAGE_ENTRY,
	{"ENTRYPOINT [\"/bin/false\"]", "CMD [\"never\"]",
	    "HEALTHCHECK CMD touch /tmp/health-checked", "ENV FROM_IMAGE=yes"}},
    {IMAGE_WORKDIR, {"WORKDIR /srv/app"}},
    {IMAGE_SCRATCH, {NULL}},
    {IMAGE_VOLUME, {"VOLUME /data"}},
    {IMAGE_DEBIAN, {NULL}},
};

static void
run_script(char **argv, const char *name)
{
	int status = 0;
	pid_t pid;

	assert_int_equal(
	    posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("cannot make the image %s", name);
}

static void
need_deep(void)
{
	char script[] = "tests/images/deep.sh", plain[] = IMAGE_PLAIN,
	     deep[] = IMAGE_DEEP, layers[12];
	char *argv[] = {script, stack.docker, plain, deep, layers, NULL};

	image_need(IMAGE_PLAIN);
	(void)snprintf(layers, sizeof(layers), "%d", IMAGE_DEEP_LAYERS);
	run_script(argv, IMAGE_DEEP);
}

/* The image that was chosen for tests that need a shell and no more is here,
 * under this name. */
static void
image_choose(const char *chosen, const char *name)
{
	char path[600];
	size_t size = strcspn(name, ":");

	(void)snprintf(path, sizeof(path), "/images/%s/tag?repo=%.*s&tag=%s",
	    chosen, (int)size, name, name + size + 1);
	REPLY_AUTO r = docker_do("POST", path, NULL);
	if (r.status == 201)
		return;
	char pull[600];
	(void)snprintf(pull, sizeof(pull), "/images/create?fromImage=%s%s",
	    chosen, strchr(chosen, ':') != NULL ? "" : ":latest");
	REPLY_AUTO pulled = docker_do("POST", pull, NULL);
	REPLY_AUTO again = docker_do("POST", path, NULL);
	if (again.status != 201)
		fail_msg(
		    "cannot have the image %s: %s", chosen, pulled.body.data);
}

void
image_need(const char *name)
{
	const char *chosen = getenv("SBX_TEST_IMAGE");
	char busybox[] = "tests/images/busybox.sh";
	char debian[] = "tests/images/debian.sh";
	char *argv[16], scratch[] = "--scratch";
	char *script = str_eq(name, IMAGE_DEBIAN) ? debian : busybox;
	size_t argc = 0, i = 0;

	if (str_eq(name, IMAGE_DEEP)) {
		need_deep();
		return;
	}
	if (chosen != NULL && *chosen != '\0' && str_eq(name, IMAGE_PLAIN)) {
		image_choose(chosen, name);
		return;
	}
	while (!str_eq(images[i].name, name))
		i++;
	argv[argc++] = script;
	if (str_eq(name, IMAGE_SCRATCH))
		argv[argc++] = scratch;
	argv[argc++] = stack.docker;
	size_t copies = argc;
	argv[argc++] = strdup(name);
	for (size_t k = 0; images[i].argument[k] != NULL; k++)
		argv[argc++] = strdup(images[i].argument[k]);
	argv[argc] = NULL;
	run_script(argv, name);
	while (argc > copies)
		free(argv[--argc]);
}

/* NULL where Redis cannot be reached. */
static redisContext *
redis_open(void)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/redis.sock", stack.run_dir);
	redisContext *c = redisConnectUnix(path);
	if (c == NULL || c->err == 0)
		return c;
	redisFree(c);
	return NULL;
}

bool
redis_answers(void)
{
	redisContext *c = redis_open();

	if (c == NULL)
		return false;
	redisReply *reply = redisCommand(c, "PING");
	bool answers = reply != NULL;
	freeReplyObject(reply);
	redisFree(c);
	return answers;
}

redisReply *
redis_do(const char *format, ...)
{
	redisContext *c = redis_open();
	va_list ap;

	assert_non_null(c);
	va_start(ap, format);
	redisReply *reply = redisvCommand(c, format, ap);
	va_end(ap);
	redisFree(c);
	assert_non_null(reply);
	return reply;
}

/* One script sees all of it: DUMP is the value's bytes, of any type (small
 * values are not compressed there). */
bool
redis_has(const char *text)
{
	static const char script[] =
	    "for _, key in ipairs(redis.call('KEYS', '*')) do\n"
	    "  if string.find(key, ARGV[1], 1, true) then return 1 end\n"
	    "  local all = redis.call('TYPE', key).ok == 'hash' and\n"
	    "    redis.call('HGETALL', key) or {redis.call('DUMP', key)}\n"
	    "  for _, value in ipairs(all) do\n"
	    "    if string.find(value, ARGV[1], 1, true) then return 1 end\n"
	    "  end\n"
	    "end\n"
	    "return 0";
	redisReply *r = redis_do("EVAL %s 0 %s", script, text);
	assert_int_equal(r->type, REDIS_REPLY_INTEGER);
	bool found = r->integer == 1;
	freeReplyObject(r);
	return found;
}
