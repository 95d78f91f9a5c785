/* Asking the worker, and judging what it says. */
#include "torture_client.h"
#include "../wait.h"
#include "lib/str.h"
#include "torture.h"
#include "torture_world.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS                                                  \
	15000 /* within so long; the contract's words are stricter \
	       */
#define CALM_MS 20000

void
said_release(struct said *s)
{
	json_decref(s->json);
	s->json = NULL;
	buf_release(&s->raw);
}

/* -- judging -------------------------------------------------------------- */

/* The value at a path of names, "a.b"; NULL where there is none. */
static const json_t *
value_at(const json_t *json, const char *path)
{
	char part[64];

	for (;;) {
		size_t size = strcspn(path, ".");

		(void)snprintf(part, sizeof(part), "%.*s", (int)size, path);
		json = json_object_get(json, part);
		if (path[size] == '\0')
			return json;
		path += size + 1;
	}
}

static const char *
text_at(const json_t *json, const char *path)
{
	const char *text = json_string_value(value_at(json, path));

	return text != NULL ? text : "";
}

static void
judge_problem(const json_t *p, int status)
{
	static const char *const members[] = {
	    "type", "title", "detail", "server", "code"};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (*text_at(p, members[i]) == '\0')
			wrong("a problem without %s", members[i]);
	if (json_integer_value(json_object_get(p, "status")) != status)
		wrong("a problem of another status than %d", status);
	if (strstr(text_at(p, "detail"), "/some/path") != NULL)
		wrong("a problem tells a path of the host");
}

/* The last block of a stream: "event: NAME\ndata: TEXT". */
static void
take_event(struct said *s, const char *block)
{
	const char *data = strstr(block, "\ndata: ");

	if (!str_starts(block, "event: ") || data == NULL)
		return;
	(void)snprintf(s->event, sizeof(s->event), "%.*s",
	    (int)strcspn(block + 7, "\n"), block + 7);
	json_decref(s->json);
	s->json = json_loads(data + 7, JSON_DISABLE_EOF_CHECK, NULL);
}

static void
judge_stream(struct said *s, const char *body)
{
	char *copy = strdup(body), *rest = copy, *end;

	if (!str_starts(copy, ": ok\n\n"))
		wrong("a stream that begins otherwise than with `: ok`");
	while ((end = strstr(rest, "\n\n")) != NULL) {
		*end = '\0';
		if (str_eq(s->event, "exit") || str_eq(s->event, "run") ||
		    str_eq(s->event, "error"))
			wrong("an event after the last one");
		take_event(s, rest);
		rest = end + 2;
	}
	if (*rest != '\0')
		wrong("a stream that ends within an event");
	if (str_eq(s->event, "error"))
		judge_problem(s->json, (int)json_integer_value(
					   json_object_get(s->json, "status")));
	else if (!str_eq(s->event, "run") && !str_eq(s->event, "exit"))
		wrong("a stream without a last event");
	free(copy);
}

static void
judge(struct said *s, const struct fcgi_reply *reply)
{
	const char *end = strstr(s->raw.data, "\r\n\r\n");

	if (end == NULL ||
	    sscanf(s->raw.data, "Status: %3d ", &s->status) != 1) {
		wrong("no answer");
		return;
	}
	if (fcgi_has_line(reply, "Content-Type: text/event-stream")) {
		judge_stream(s, end + 4);
		return;
	}
	s->json = json_loads(end + 4, 0, NULL);
	if (s->status == 204)
		return;
	if (!json_is_object(s->json))
		wrong("a body that is no JSON object: %.80s", end + 4);
	else if (s->status >= 400 &&
		 !fcgi_has_line(
		     reply, "Content-Type: application/problem+json"))
		wrong("a problem of another type");
	else if (s->status >= 400)
		judge_problem(s->json, s->status);
	else if (*text_at(s->json, "server") == '\0')
		wrong("an answer without server");
}

/* -- asking --------------------------------------------------------------- */

static void
send_request(int fd, const char *method, const char *target, const char *body,
    const char *const *more)
{
	const char *headers[8] = {
	    "HTTP_AUTHORIZATION=Bearer " WORLD_TOKEN, NULL};
	size_t count = 1;

	for (; more != NULL && *more != NULL && count < 7; more++)
		headers[count++] = *more;
	headers[count] = NULL;
	fcgi_head(fd, method, target, headers);
	if (body != NULL)
		fcgi_stdin(fd, body, strlen(body), strlen(body));
	fcgi_stdin_end(fd);
}

struct asking
ask_begin(const char *method, const char *target, const char *body,
    const char *const *more)
{
	struct asking a = {.fd = fcgi_connect(world.socket),
	    .begun = clock_mono_ms(),
	    .reply = FCGI_REPLY_INIT};

	send_request(a.fd, method, target, body, more);
	return a;
}

/* Closing one half is all that a worker can see of a client's end (FACTS A). */
void
ask_leave(struct asking *a)
{
	(void)shutdown(a->fd, SHUT_WR);
	a->left = true;
}

/* The next record; meanwhile, where the engine holds a call, leave. */
static void
read_next(struct asking *a)
{
	struct pollfd p = {a->fd, POLLIN, 0};

	while (poll(&p, 1, 2) == 0 && !a->left)
		if (model_holds(world.model)) {
			ask_leave(a);
			model_release(world.model);
		}
	fcgi_read_record(a->fd, &a->reply);
}

void
ask_await(struct asking *a)
{
	while (!a->reply.closed && a->reply.out.size == 0)
		read_next(a);
}

struct said
ask_end(struct asking *a)
{
	struct said s = {.raw = BUF_INIT(1 << 20), .left = a->left};

	while (!a->reply.closed)
		read_next(a);
	(void)close(a->fd);
	s.left = a->left;
	buf_add(&s.raw, a->reply.out.data, a->reply.out.size);
	if (!s.left && !a->reply.ended)
		wrong("an answer without its end");
	else if (!s.left)
		judge(&s, &a->reply);
	if (clock_mono_ms() - a->begun > ANSWER_MS)
		wrong("an answer after %lld ms",
		    (long long)(clock_mono_ms() - a->begun));
	fcgi_reply_release(&a->reply);
	return s;
}

struct said
ask(const char *method, const char *target, const char *body,
    const char *const *more)
{
	struct asking a = ask_begin(method, target, body, more);

	return ask_end(&a);
}

struct said
ask_calm(const char *method, const char *target, const char *body,
    const char *const *more)
{
	int64_t deadline = clock_mono_ms() + CALM_MS;
	struct said s = ask(method, target, body, more);

	while (s.status == 503 && clock_mono_ms() < deadline) {
		said_release(&s);
		(void)poll(NULL, 0, 10);
		s = ask(method, target, body, more);
	}
	return s;
}

bool
expect(const struct said *s, int status)
{
	if (s->left || s->status == status)
		return s->status == status;
	if (s->status != 500 && s->status != 502 && s->status != 503 &&
	    s->status != 504 && s->status != 507)
		wrong("%d instead of %d: %s", s->status, status,
		    text_at(s->json, "detail"));
	return false;
}

const char *
said_text(const struct said *s, const char *path)
{
	return text_at(s->json, path);
}

json_int_t
said_number(const struct said *s, const char *path)
{
	return json_integer_value(value_at(s->json, path));
}

const char *
target_of(const char *id, const char *what)
{
	static char target[96];

	(void)snprintf(target, sizeof(target), "/v1/runs/%.26s%s%s", id,
	    *what != '\0' ? "/" : "", what);
	return target;
}
