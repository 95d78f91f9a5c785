/* Many exec streams in one thread. */
#include "streams.h"
#include "../e2e/harness.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPENING 64 /* requests that wait for their answer's head */
#define SILENT_SEC 60
#define EVENTS 256
#define LINE_ROOM 400

/* Where in an HTTP answer the next byte is: RFC 9112, 7.1. */
enum part { PART_HEAD, PART_CHUNK_SIZE, PART_CHUNK, PART_CHUNK_END, PART_OVER };

struct stream_of_lines {
	int fd;
	enum part part;
	size_t chunk;	       /* bytes of it to come */
	char frame[LINE_ROOM]; /* of HTTP: the line so far */
	char text[LINE_ROOM];  /* of the event stream: likewise */
	size_t frame_size, text_size;
	char event[16];
	long next; /* line */
	bool exited;
};

struct streams {
	struct streams_plan plan;
	struct stream_of_lines *all;
	int loop;
	int64_t start_us, last_us; /* anything was read */
	size_t opened, answered;
	_Atomic size_t began, ended;
	pthread_t thread;
	struct streams_result result;
};

static int64_t
now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* -- what arrives ---------------------------------------------------------- */

static void
wrong(struct streams *s, const struct stream_of_lines *l, const char *what,
    const char *text)
{
	if (s->result.wrong++ == 0)
		(void)snprintf(s->result.example, sizeof(s->result.example),
		    "stream %zu, after line %ld: %s: %s", (size_t)(l - s->all),
		    l->next, what, text);
}

static void
take_late(struct streams *s, long number, double ms)
{
	if (number >= s->plan.lines) {
		samples_add(&s->result.burst, ms);
		return;
	}
	if (ms > s->result.worst) {
		s->result.worst = ms;
		s->result.worst_at =
		    (double)(clock_mono_us() - s->start_us) / 1e6;
	}
	samples_add(&s->result.late, ms);
	s->result.too_late += ms > STREAMS_LATE_MS;
}

/* "NUMBER NANOSECONDS", of standard output. */
static void
take_line(struct streams *s, struct stream_of_lines *l, const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);
	int64_t written = *end == ' ' ? strtoll(end, &end, 10) : 0;

	if (written == 0 || *end != '\0' || number < l->next) {
		wrong(s, l, "no line of a ticker", text);
		return;
	}
	s->began += l->next == 0;
	s->result.lost += (size_t)(number - l->next);
	l->next = number + 1;
	take_late(s, number, (double)(now_ns() - written) / 1e6);
}

static void
take_text(struct streams *s, struct stream_of_lines *l, const char *text)
{
	if (str_starts(text, "event: "))
		(void)snprintf(l->event, sizeof(l->event), "%.15s", text + 7);
	else if (!str_starts(text, "data: "))
		return;
	else if (str_eq(l->event, "stdout") && text[6] != '\0')
		take_line(s, l, text + 6);
	else if (str_eq(l->event, "exit"))
		l->exited = true;
	if (str_eq(l->event, "stderr") ||
	    (l->exited && strstr(text, "\"exitCode\":0,") == NULL))
		wrong(s, l, l->event, text);
}

static void
take_frame(struct streams *s, struct stream_of_lines *l, const char *text)
{
	switch (l->part) {
	case PART_HEAD:
		if (str_starts(text, "HTTP/1.1 ") &&
		    !str_starts(text, "HTTP/1.1 200 "))
			wrong(s, l, "refused", text);
		if (*text != '\0')
			break;
		l->part = PART_CHUNK_SIZE;
		s->answered++;
		break;
	case PART_CHUNK_SIZE:
		l->chunk = strtoul(text, NULL, 16);
		l->part = l->chunk > 0 ? PART_CHUNK : PART_OVER;
		break;
	case PART_CHUNK_END:
		l->part = PART_CHUNK_SIZE;
		break;
	default:
		break;
	}
}

/* Put a byte to a line; true where that is whole, without its end. */
static bool
add_byte(char line[LINE_ROOM], size_t *size, char byte)
{
	if (byte != '\n') {
		if (byte != '\r' && *size < LINE_ROOM - 1)
			line[(*size)++] = byte;
		return false;
	}
	line[*size] = '\0';
	*size = 0;
	return true;
}

static void
take_byte(struct streams *s, struct stream_of_lines *l, char byte)
{
	if (l->part != PART_CHUNK) {
		if (add_byte(l->frame, &l->frame_size, byte))
			take_frame(s, l, l->frame);
		return;
	}
	if (add_byte(l->text, &l->text_size, byte))
		take_text(s, l, l->text);
	if (--l->chunk == 0)
		l->part = PART_CHUNK_END;
}

/* -- connections ----------------------------------------------------------- */

static void
end(struct streams *s, struct stream_of_lines *l)
{
	long whole = s->plan.lines + s->plan.burst;

	fd_close(&l->fd);
	s->answered += l->part == PART_HEAD;
	s->began += l->next == 0;
	s->ended++;
	s->result.lost += (size_t)(whole - l->next);
	s->result.cut += !l->exited || l->part != PART_OVER;
}

static void
read_some(struct streams *s, struct stream_of_lines *l)
{
	char bytes[16384];
	ssize_t size = recv(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->last_us = clock_mono_us();
	for (ssize_t i = 0; i < size; i++)
		take_byte(s, l, bytes[i]);
	if (size <= 0 || l->part == PART_OVER)
		end(s, l);
}

/* Connect, ask for a ticker, and read it from now on. */
static void
open_next(struct streams *s)
{
	size_t number = s->opened++;
	struct stream_of_lines *l = &s->all[number];
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = l};
	char body[200], text[1000];

	int size = snprintf(body, sizeof(body),
	    "{\"argv\":[\"/work/ticker\",\"%ld\",\"%ld\",\"%zu\"],"
	    "\"timeoutSec\":%ld}",
	    s->plan.lines, s->plan.burst,
	    number * (size_t)1000000000 / s->plan.streams,
	    s->plan.lines + s->plan.burst + SILENT_SEC);
	size = snprintf(text, sizeof(text),
	    "POST /v1/runs/%s/exec HTTP/1.1\r\nHost: box\r\nAuthorization: "
	    "Bearer %s\r\n"
	    "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
	    s->plan.run[number % s->plan.runs], stack.token, size, body);
	l->fd = client_connect();
	if (send(l->fd, text, (size_t)size, MSG_NOSIGNAL) != size ||
	    epoll_ctl(s->loop, EPOLL_CTL_ADD, l->fd, &event) != 0) {
		wrong(s, l, "no connection", strerror(errno));
		end(s, l);
	}
}

static void *
hold(void *arg)
{
	struct epoll_event event[EVENTS];
	struct streams *s = arg;

	while (s->ended < s->plan.streams) {
		while (s->opened < s->plan.streams &&
		       s->opened - s->answered < OPENING)
			open_next(s);
		int count = epoll_wait(s->loop, event, EVENTS, 1000);
		for (int i = 0; i < count; i++)
			read_some(s, event[i].data.ptr);
		if (clock_mono_us() - s->last_us < SILENT_SEC * 1000000LL)
			continue;
		/* Nobody says anything any more. */
		for (size_t i = 0; i < s->plan.streams; i++)
			if (i >= s->opened || s->all[i].fd >= 0)
				end(s, &s->all[i]);
	}
	return NULL;
}

struct streams *
streams_start(const struct streams_plan *plan)
{
	struct streams *s = mem_zalloc(sizeof(*s));

	s->plan = *plan;
	s->all = mem_zalloc(mem_array(plan->streams, sizeof(*s->all)));
	for (size_t i = 0; i < plan->streams; i++)
		s->all[i].fd = -1;
	s->loop = epoll_create1(EPOLL_CLOEXEC);
	s->start_us = s->last_us = clock_mono_us();
	assert_int_equal(pthread_create(&s->thread, NULL, hold, s), 0);
	return s;
}

size_t
streams_began(const struct streams *s)
{
	return s->began;
}

size_t
streams_ended(const struct streams *s)
{
	return s->ended;
}

struct streams_result
streams_finish(struct streams *s)
{
	(void)pthread_join(s->thread, NULL);
	struct streams_result result = s->result;
	(void)close(s->loop);
	free(s->all);
	free(s);
	return result;
}
