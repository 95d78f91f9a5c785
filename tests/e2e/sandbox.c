/* Short cuts for the common steps of a test. */
#include "sandbox.h"
#include "../check.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "outside.h"
#include "stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define OUTPUT_MAX ((size_t)1 << 30)
#define EXEC_MS 120000

void
run_from(json_t *body, char ret_id[ULID_SIZE])
{
	REPLY_AUTO r = http_json("POST", "/v1/runs", body);

	if (r.status != 201)
		fail_msg("create: %ld %s", r.status, r.body.data);
	(void)snprintf(
	    ret_id, ULID_SIZE, "%s", json_string_value(json_at(r.json, "id")));
}

void
run_new(const char *image, char ret_id[ULID_SIZE])
{
	run_from(json_pack("{s:s}", "image", image), ret_id);
}

const char *
run_url(const char *id, const char *what)
{
	static char path[200];

	(void)snprintf(
	    path, sizeof(path), "/v1/runs/%s%s%s", id, *what ? "/" : "", what);
	return path;
}

void
run_end(const char *id)
{
	if (*id == '\0')
		return;
	REPLY_AUTO r = http_do("DELETE", run_url(id, ""), NULL, NULL);
	if (r.status != 204)
		fail_msg("destroy %s: %ld %s", id, r.status, r.body.data);
}

int
run_ask(const char *id, const char *what)
{
	int fd = client_connect();
	char text[600];

	int n = snprintf(text, sizeof(text),
	    "POST %s HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer %s\r\n"
	    "Content-Length: 0\r\n\r\n",
	    run_url(id, what), stack.token);
	assert_true(fd >= 0);
	assert_int_equal(send(fd, text, (size_t)n, 0), n);
	return fd;
}

bool
run_has_socket(const char *id)
{
	redisReply *way = redis_do("HGET sbx:run:%s transport", id);
	bool socket = way->str != NULL && str_eq(way->str, "socket");

	freeReplyObject(way);
	return socket;
}

void
executed_release(struct executed *x)
{
	buf_release(&x->out);
	buf_release(&x->err);
	buf_release(&x->frames);
	buf_release(&x->problem);
	json_decref(x->exit);
}

struct executed
exec_finish(struct stream *s)
{
	struct executed x = {stream_status(s), BUF_INIT(OUTPUT_MAX),
	    BUF_INIT(OUTPUT_MAX), BUF_INIT(OUTPUT_MAX), NULL,
	    BUF_INIT(OUTPUT_MAX), 0};
	int64_t start = clock_mono_ms();
	const struct event *ev;

	while (x.status == 200 && (ev = stream_next(s, EXEC_MS)) != NULL) {
		if (str_eq(ev->name, ":"))
			continue;
		if (x.exit != NULL)
			fail_msg("%s came after exit", ev->name);
		buf_addf(&x.frames, "%s ", ev->name);
		if (str_eq(ev->name, "stdout"))
			buf_add(&x.out, ev->data, ev->size);
		else if (str_eq(ev->name, "stderr"))
			buf_add(&x.err, ev->data, ev->size);
		else if (str_eq(ev->name, "exit"))
			x.exit = json_loadb(ev->data, ev->size, 0, NULL);
	}
	while (!stream_ended(s))
		(void)stream_next(s, EXEC_MS);
	if (x.status != 200)
		buf_add(&x.problem, stream_body(s)->data, stream_size(s));
	x.took_ms = clock_mono_ms() - start;
	return x;
}

struct executed
exec_json(const char *id, json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT);
	int64_t start = clock_mono_ms();
	struct stream *s = stream_open(run_url(id, "exec"), text, NULL);
	struct executed x = exec_finish(s);

	x.took_ms = clock_mono_ms() - start;
	stream_close(s);
	free(text);
	json_decref(body);
	return x;
}

struct executed
exec_sh(const char *id, const char *cmd)
{
	return exec_json(id, json_pack("{s:s}", "cmd", cmd));
}

int
exit_code(const struct executed *x)
{
	if (x->status != 200)
		fail_msg("exec: %ld %s", x->status, x->problem.data);
	if (x->exit == NULL)
		fail_msg("the stream ended without an exit event, after \"%s\"",
		    x->out.data);
	return (int)json_integer_value(json_at(x->exit, "exitCode"));
}

void
check_problem(
    const struct reply *r, long status, const char *code, const char *detail)
{
	if (r->status != status)
		fail_msg(
		    "status %ld, not %ld: %s", r->status, status, r->body.data);
	const json_t *said = json_object_get(r->json, "detail");
	const json_t *word = json_object_get(r->json, "code");
	if (!json_is_string(said) || !json_is_string(word) ||
	    json_integer_value(json_object_get(r->json, "status")) != status ||
	    !json_is_string(json_object_get(r->json, "title")) ||
	    !json_is_string(json_object_get(r->json, "server")) ||
	    !str_starts(json_string_value(json_at(r->json, "type")),
		"https://neutron.dev/errors/"))
		fail_msg("not a whole problem: %s", r->body.data);
	if (code != NULL && !str_eq(json_string_value(word), code))
		fail_msg("code %s, not %s: %s", json_string_value(word), code,
		    r->body.data);
	if (detail != NULL && strstr(json_string_value(said), detail) == NULL)
		fail_msg(
		    "the detail does not say \"%s\": %s", detail, r->body.data);
}
