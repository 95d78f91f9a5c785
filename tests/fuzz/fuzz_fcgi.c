/*
 * http/fcgi: whatever comes over a worker's socket is refused with a reason, or
 * is a request whose parameters and body are what its records hold, and whose
 * reply is records up to their end. All of it goes through libfcgi.
 */
#include "check.h"
#include "http/fcgi.h"
#include "http/record.h"
#include "http/target.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define END_REQUEST 3
#define STDOUT 6
#define REPLY_MAX 8192
#define AT_ONCE 1000 /* of a body */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fcgi *fcgi;

static void
set_up(void)
{
	static int cut[2]; /* never readable: nobody is cut off */
	struct err e = ERR_INIT;

	check(pipe2(cut, O_CLOEXEC) == 0 && fcgi_setup(&e) == 0);
	fcgi = fcgi_new(1, cut[0], &e);
	check(fcgi != NULL);
}

/* -- parameters ------------------------------------------------------------ */

static size_t
get_size(const char *bytes, size_t *at)
{
	const unsigned char *p = (const unsigned char *)bytes + *at;

	*at += *p < 0x80 ? 1 : 4;
	return *p < 0x80 ? *p
			 : (size_t)(*p & 0x7f) << 24 | (size_t)p[1] << 16 |
			       (size_t)p[2] << 8 | p[3];
}

/* Of a head that is whole: what its records of parameters hold. */
static void
join(const char *head, size_t size, struct buf *to)
{
	for (size_t at = 0; at < size;) {
		const unsigned char *p = (const unsigned char *)head + at;
		size_t content = (size_t)p[4] << 8 | p[5];

		if (p[1] == RECORD_PARAMS)
			buf_add(to, head + at + RECORD_HEAD, content);
		at += RECORD_HEAD + content + p[6];
	}
}

/* The library has the first of that name, or "". */
static void
check_param(const struct buf *all, const char *name, const char *has)
{
	const char *found = "";
	char *rest = NULL;

	for (size_t at = 0; at < all->size && rest == NULL;) {
		size_t key = get_size(all->data, &at);
		size_t value = get_size(all->data, &at);
		BUF_AUTO one = BUF_INIT(all->size + 1);

		buf_add(&one, all->data + at, key);
		buf_addc(&one, '=');
		buf_add(&one, all->data + at + key, value);
		at += key + value;
		if (str_starts(one.data, name)) {
			rest = buf_take(&one);
			found = rest + strlen(name);
		}
	}
	check(str_eq(found, has));
	free(rest);
}

static void
check_params(const struct exchange *x, const char *head, size_t size)
{
	BUF_AUTO all = BUF_INIT(size);

	join(head, size, &all);
	check_param(&all, "REQUEST_METHOD=", x->method);
	check_param(&all, "REQUEST_URI=", x->target);
	check_param(&all, "HTTP_AUTHORIZATION=", x->authorization);
	check_param(&all, "HTTP_IF_MATCH=", x->if_match);
}

/* -- the rest -------------------------------------------------------------- */

/* True where it ended; what does not go on is not waited for. */
static bool
read_body(struct exchange *x, struct buf *body)
{
	struct err e = ERR_INIT;
	char piece[AT_ONCE];
	int64_t n;

	while ((n = exchange_read(x, piece, sizeof(piece), 0, &e)) > 0)
		buf_add(body, piece, (size_t)n);
	check(n == 0 || *e.text != '\0');
	return n == 0;
}

/* The same, by records alone. */
static void
check_body(unsigned id, const char *bytes, size_t size, const struct buf *body)
{
	struct record_body b = {.id = id};
	char *content = mem_strndup(bytes, size);

	memcpy(content, bytes, size);
	int64_t n = record_squeeze(&b, content, size);
	check(n >= 0 && b.ended && (size_t)n == body->size);
	check(n == 0 || memcmp(content, body->data, body->size) == 0);
	free(content);
}

static void
check_reply(unsigned id, const uint8_t *p, size_t size)
{
	bool ended = false;
	size_t out = 0;

	while (!ended) {
		check(size >= RECORD_HEAD && p[0] == 1);
		size_t content = (size_t)p[4] << 8 | p[5];
		size_t whole = RECORD_HEAD + content + p[6];
		check(((unsigned)p[2] << 8 | p[3]) == id && whole <= size);
		check(p[1] == STDOUT || p[1] == END_REQUEST);
		if (p[1] == STDOUT && out == 0)
			check(content > 8 &&
			      memcmp(p + RECORD_HEAD, "Status: ", 8) == 0);
		out += content;
		ended = p[1] == END_REQUEST;
		p += whole;
		size -= whole;
	}
	check(size == 0);
}

static void
check_request(struct exchange *x)
{
	struct err e = ERR_INIT;

	check(x->method != NULL && x->target != NULL && x->accept != NULL &&
	      x->authorization != NULL && x->if_match != NULL);
	check(x->content_length >= -1 && *x->id != '\0');
	check(x->head == str_eq(x->method, "HEAD"));
	if (target_parse(x, &e) != 0)
		check(e.kind == ERR_PATH);
}

static void
serve(struct exchange *x, int peer, unsigned id, const char *body, size_t size)
{
	BUF_AUTO got = BUF_INIT(size);
	struct err e = ERR_INIT;
	uint8_t reply[REPLY_MAX];

	check_request(x);
	bool ended = read_body(x, &got);
	if (ended)
		check_body(id, body, size, &got);
	else
		(void)shutdown(peer, SHUT_WR); /* it would be waited for */
	int rc = exchange_reply(x, 200, "text/plain", "good", 4, &e);
	fcgi_end(fcgi, x);
	ssize_t n = recv(peer, reply, sizeof(reply), MSG_DONTWAIT);
	if (ended && rc == 0) {
		check(n > 0);
		check_reply(id, reply, (size_t)n);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	struct err e = ERR_INIT;
	struct exchange x;
	unsigned id = 0;
	int pair[2];

	if (fcgi == NULL)
		set_up();
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	if (size > 0 && send(pair[1], data, size, MSG_DONTWAIT) < 0)
		size = 0;
	int64_t head = record_request((const char *)data, size, &id);
	if (head <= 0)
		(void)shutdown(pair[1], SHUT_WR);
	int rc = fcgi_begin(fcgi, pair[0], &arena, &x, &e);
	check(rc == 0 ? head > 0 : *e.text != '\0');
	if (rc == 0)
		check_params(&x, (const char *)data, (size_t)head);
	if (rc == 0)
		serve(&x, pair[1], id, (const char *)data + head,
		    size - (size_t)head);
	fd_close(&pair[1]);
	arena_release(&arena);
	return 0;
}
