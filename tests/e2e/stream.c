/* Event streams, read as a client would: SSE by the WHATWG rules as the pinned
 * client knows them (lines end with LF alone), or JSON lines. */
#include "client.h"
#include "curl.h"
#include "lib/clock.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_MAX ((size_t)1 << 30)
#define HEADERS_MS 60000

struct stream {
	CURL *easy;
	CURLM *multi;
	struct curl_slist *list;
	struct buf headers, body;
	size_t parsed; /* of body */
	struct event *event;
	size_t events, next;
	bool lines, started, ended;
};

static size_t
on_header(char *bytes, size_t one, size_t size, void *arg)
{
	struct stream *s = arg;

	buf_add(&s->headers, bytes, size);
	s->started |= size * one == 2 && memcmp(bytes, "\r\n", 2) == 0;
	return size;
}

static void
add_event(struct stream *s, char *name, struct buf *data, int64_t offset,
    int64_t at_us)
{
	s->event =
	    mem_realloc(s->event, mem_array(s->events + 1, sizeof(*s->event)));
	struct event *ev = &s->event[s->events++];
	ev->name = name;
	ev->size = data->size;
	ev->data = buf_take(data);
	ev->offset = offset;
	ev->at_us = at_us;
}

/* One SSE frame: the lines before an empty one. */
static void
parse_frame(struct stream *s, const char *p, const char *end, int64_t at_us)
{
	BUF_AUTO data = BUF_INIT(STREAM_MAX);
	char *name = NULL;
	int64_t offset = -1;
	bool first = true;

	while (p < end) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));
		const char *stop = lf != NULL ? lf : end;

		if (str_starts(p, "event: ")) {
			free(name);
			name = mem_strndup(p + 7, (size_t)(stop - p - 7));
		} else if (str_starts(p, "id: ")) {
			offset = strtoll(p + 4, NULL, 10);
		} else if (str_starts(p, "data:")) {
			const char *from = p + 5 + (p[5] == ' ');

			if (!first)
				buf_addc(&data, '\n');
			first = false;
			buf_add(&data, from, (size_t)(stop - from));
		} else if (*p == ':') {
			free(name);
			name = mem_strdup(":");
			buf_add(&data, p + 2, (size_t)(stop - p - 2));
		}
		p = stop + 1;
	}
	add_event(
	    s, name != NULL ? name : mem_strdup(""), &data, offset, at_us);
}

/* {"event":NAME,"data":TEXT or object} */
static void
parse_line(struct stream *s, const char *p, const char *end, int64_t at_us)
{
	BUF_AUTO text = BUF_INIT(STREAM_MAX);
	json_auto_t *json =
	    json_loadb(p, (size_t)(end - p), JSON_ALLOW_NUL, NULL);
	const json_t *data = json_object_get(json, "data");
	const char *name = json_string_value(json_object_get(json, "event"));
	const json_t *offset = json_object_get(json, "offset");

	if (json_is_string(data)) {
		buf_add(
		    &text, json_string_value(data), json_string_length(data));
	} else if (data != NULL) {
		char *dump = json_dumps(data, JSON_COMPACT);

		buf_adds(&text, dump);
		free(dump);
	}
	add_event(s, mem_strdup(name != NULL ? name : "not JSON"), &text,
	    offset != NULL ? json_integer_value(offset) : -1, at_us);
}

static size_t
on_body(char *bytes, size_t one, size_t size, void *arg)
{
	struct stream *s = arg;
	const char *mark = s->lines ? "\n" : "\n\n";
	int64_t now = clock_mono_us();

	(void)one;
	buf_add(&s->body, bytes, size);
	for (;;) {
		const char *from = s->body.data + s->parsed;
		const char *end =
		    memmem(from, s->body.size - s->parsed, mark, strlen(mark));

		if (end == NULL)
			return size;
		if (s->lines)
			parse_line(s, from, end, now);
		else
			parse_frame(s, from, end, now);
		s->parsed += (size_t)(end - from) + strlen(mark);
	}
}

/* Read what is there; where that is nothing, wait for it up to timeout_ms. */
static void
pump(struct stream *s, int timeout_ms)
{
	size_t before = s->headers.size + s->body.size;
	int running = 0;

	if (s->ended)
		return;
	curl_multi_perform(s->multi, &running);
	if (running > 0 && timeout_ms > 0 &&
	    s->headers.size + s->body.size == before) {
		curl_multi_poll(s->multi, NULL, 0, timeout_ms, NULL);
		curl_multi_perform(s->multi, &running);
	}
	s->ended = running == 0;
}

static struct stream *
begin(const char *method, const char *path, const char *body, va_list headers)
{
	struct stream *s = mem_zalloc(sizeof(*s));
	const struct buf fresh = BUF_INIT(STREAM_MAX);
	int64_t deadline = clock_mono_ms() + HEADERS_MS;

	s->headers = s->body = fresh;
	s->easy = curl_request(method, path, body, headers, &s->list);
	for (struct curl_slist *at = s->list; at != NULL; at = at->next)
		s->lines |= str_ieq(at->data, "Accept: application/x-ndjson");
	s->multi = curl_multi_init();
	curl_easy_setopt(s->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(s->easy, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(s->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(s->easy, CURLOPT_HEADERDATA, s);
	curl_multi_add_handle(s->multi, s->easy);
	while (!s->started && !s->ended && clock_left(deadline) > 0)
		pump(s, 200);
	return s;
}

struct stream *
stream_open(const char *path, const char *body, ...)
{
	va_list headers;

	va_start(headers, body);
	struct stream *s = begin("POST", path, body, headers);
	va_end(headers);
	return s;
}

struct stream *
stream_get(const char *path, ...)
{
	va_list headers;

	va_start(headers, path);
	struct stream *s = begin("GET", path, NULL, headers);
	va_end(headers);
	return s;
}

long
stream_status(const struct stream *s)
{
	long status = 0;

	curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

const struct buf *
stream_headers(const struct stream *s)
{
	return &s->headers;
}

const struct buf *
stream_body(const struct stream *s)
{
	return &s->body;
}

const struct event *
stream_next(struct stream *s, int timeout_ms)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;

	while (s->next == s->events && !s->ended) {
		pump(s, clock_left(deadline));
		if (s->next == s->events && clock_left(deadline) == 0)
			return NULL;
	}
	return s->next < s->events ? &s->event[s->next++] : NULL;
}

const struct event *
stream_await(struct stream *s, const char *name, int timeout_ms)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;
	const struct event *ev;

	do
		ev = stream_next(s, clock_left(deadline));
	while (ev != NULL && !str_eq(ev->name, name));
	return ev;
}

bool
stream_ended(struct stream *s)
{
	pump(s, 0);
	return s->ended;
}

size_t
stream_size(const struct stream *s)
{
	return s->body.size;
}

void
stream_close(struct stream *s)
{
	if (s == NULL)
		return;
	curl_multi_remove_handle(s->multi, s->easy);
	curl_easy_cleanup(s->easy);
	curl_multi_cleanup(s->multi);
	curl_slist_free_all(s->list);
	for (size_t i = 0; i < s->events; i++) {
		free(s->event[i].name);
		free(s->event[i].data);
	}
	free(s->event);
	buf_release(&s->headers);
	buf_release(&s->body);
	free(s);
}
