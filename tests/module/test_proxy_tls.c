/* TLS in tunnels: whom a hello is for. */
#include "../wait.h"
#include "lib/buf.h"
#include "proxy_fixture.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void
put16(struct buf *b, size_t value)
{
	buf_addc(b, (char)(value >> 8));
	buf_addc(b, (char)value);
}

/* RFC 8446 4.1.2; name NULL: none. */
static void
put_hello(struct buf *out, const char *name)
{
	BUF_AUTO body = BUF_INIT(4096);
	size_t size = name != NULL ? strlen(name) : 0;

	put16(&body, 0x0303);
	for (int i = 0; i < 32; i++)
		buf_addc(&body, (char)i);
	buf_addc(&body, 0);		 /* session */
	buf_add(&body, "\0\2\x13\1", 4); /* ciphers */
	buf_add(&body, "\1\0", 2);	 /* compression */
	put16(&body, name != NULL ? size + 9 : 0);
	if (name != NULL) {
		put16(&body, 0);
		put16(&body, size + 5);
		put16(&body, size + 3);
		buf_addc(&body, 0);
		put16(&body, size);
		buf_adds(&body, name);
	}
	buf_add(out, "\x16\3\1", 3);
	put16(out, body.size + 4);
	buf_add(out, "\1\0", 2);
	put16(out, body.size);
	buf_add(out, body.data, body.size);
}

/* Whether a tunnel to that host takes a hello with that name. */
static bool
is_taken(const struct proxy_fixture *f, const char *host, const char *name)
{
	BUF_AUTO hello = BUF_INIT(4096);
	int fd, origin;
	char bytes[4096];
	ssize_t n;

	put_hello(&hello, name);
	fd = proxy_tunnel(f, host, &origin);
	proxy_send(fd, hello.data, hello.size);
	(void)shutdown(fd, SHUT_WR);
	struct pollfd p = {.fd = origin, .events = POLLIN};
	assert_int_equal(poll(&p, 1, 20000), 1);
	n = recv(origin, bytes, sizeof(bytes), MSG_WAITALL);
	assert_true(n <= 0 || ((size_t)n == hello.size &&
				  memcmp(bytes, hello.data, hello.size) == 0));
	if (n <= 0)
		proxy_hear_end(fd);
	(void)close(fd);
	(void)close(origin);
	return n > 0;
}

static void
a_server_name_that_contradicts_is_not_sent_on(void **state)
{
	struct proxy_fixture f;

	(void)state;
	proxy_start(&f,
	    "origin.test:$O\nother.test:$O\n127.0.0.1:$O\n"
	    "private 127.0.0.0/8\n",
	    NULL);
	assert_true(is_taken(&f, "origin.test:$O", "origin.test"));
	assert_true(is_taken(&f, "origin.test:$O", "ORIGIN.Test"));
	assert_true(is_taken(&f, "origin.test:$O", NULL));
	assert_false(is_taken(&f, "origin.test:$O", "evil.test"));
	assert_false(is_taken(&f, "origin.test:$O", "other.test"));
	assert_false(is_taken(&f, "origin.test:$O", "a.origin.test"));
	/* An address has no name that could contradict it. */
	assert_true(is_taken(&f, "127.0.0.1:$O", "evil.test"));
	proxy_stop(&f);

	proxy_start(&f, "origin.test:$O\nprivate 127.0.0.0/8\nsni off\n", NULL);
	assert_true(is_taken(&f, "origin.test:$O", "evil.test"));
	proxy_stop(&f);
}

static void
a_hello_may_come_byte_by_byte(void **state)
{
	struct proxy_fixture f;
	BUF_AUTO hello = BUF_INIT(4096);
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	put_hello(&hello, "origin.test");
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	for (size_t i = 0; i < hello.size; i++) {
		/* None of it goes on before all of it is known. */
		assert_int_equal(
		    recv(origin, (char[1]){0}, 1, MSG_PEEK | MSG_DONTWAIT), -1);
		proxy_send(fd, hello.data + i, 1);
	}
	char bytes[4096];
	assert_int_equal(
	    recv(origin, bytes, hello.size, MSG_WAITALL), (ssize_t)hello.size);
	assert_memory_equal(bytes, hello.data, hello.size);
	(void)close(fd);
	(void)close(origin);
	proxy_stop(&f);
}

/* -- another hello --------------------------------------------------------- */

#define WITH_SIZE(text) text, sizeof(text) - 1
#define CIPHERS "\x14\3\3\0\1\1"
#define EARLY_DATA "\x17\3\3\0\5early"

/* RFC 8446 4.1.4, and the change of ciphers behind it (D.4). */
static const char retry[] =
    "\x16\3\3\0\x30\2\0\0\x2c\3\3\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d"
    "\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09"
    "\xe2\xc8\xa8\x33\x9c\0\x13\1\0\0\4\0\x2b\0\0" CIPHERS;

/* A ServerHello, as far as it matters. */
static const char hello_of_server[] = "\x16\3\3\0\x30\2\0\0\x2c\3\3"
				      "01234567890123456789012345678901"
				      "\0\x13\1\0\0\4\0\x2b\0\0";

static void
must_get(int fd, const void *bytes, size_t size)
{
	char *got = malloc(size);

	assert_non_null(got);
	proxy_must_be_readable(fd, "bytes");
	assert_int_equal(recv(fd, got, size, MSG_WAITALL), (ssize_t)size);
	assert_memory_equal(got, bytes, size);
	free(got);
}

static void
must_get_hello(int fd, const char *name)
{
	BUF_AUTO hello = BUF_INIT(4096);

	put_hello(&hello, name);
	must_get(fd, hello.data, hello.size);
}

static void
say_hello(int fd, const char *name)
{
	BUF_AUTO hello = BUF_INIT(4096);

	put_hello(&hello, name);
	proxy_send(fd, hello.data, hello.size);
}

/* The next thing to be read there is this; nothing was read before it. */
static bool
is_silent(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 0;
}

/* A tunnel whose hello was answered with a wish for another. */
static int
open_retried(const struct proxy_fixture *f, int *ret_origin)
{
	int fd = proxy_tunnel(f, "origin.test:$O", ret_origin);

	say_hello(fd, "origin.test");
	must_get_hello(*ret_origin, "origin.test");
	proxy_send(*ret_origin, WITH_SIZE(retry));
	must_get(fd, WITH_SIZE(retry));
	return fd;
}

/* The whole of it, once bytes go both ways unread. */
static void
must_be_open(int fd, int origin)
{
	proxy_send(origin, WITH_SIZE(hello_of_server));
	must_get(fd, WITH_SIZE(hello_of_server));
	proxy_send(fd, WITH_SIZE("\x16 whatever"));
	must_get(origin, WITH_SIZE("\x16 whatever"));
	(void)close(fd);
	proxy_hear_end(origin);
	(void)close(origin);
}

static void
must_be_ended(int fd, int origin)
{
	proxy_hear_end(fd);
	proxy_hear_end(origin);
	(void)close(fd);
	(void)close(origin);
}

static void
another_hello_must_be_for_the_same_host(void **state)
{
	static const char *const others[] = {"evil.test", "other.test"};
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = open_retried(&f, &origin);
	proxy_send(fd, WITH_SIZE(CIPHERS));
	must_get(origin, WITH_SIZE(CIPHERS));
	say_hello(fd, "origin.test");
	must_get_hello(origin, "origin.test");
	must_be_open(fd, origin);
	for (size_t i = 0; i < 2; i++) {
		fd = open_retried(&f, &origin);
		proxy_send(fd, WITH_SIZE(CIPHERS));
		must_get(origin, WITH_SIZE(CIPHERS));
		say_hello(fd, others[i]);
		must_be_ended(fd, origin);
	}
	/* Each of them. */
	fd = open_retried(&f, &origin);
	say_hello(fd, "origin.test");
	must_get_hello(origin, "origin.test");
	proxy_send(origin, WITH_SIZE(retry));
	must_get(fd, WITH_SIZE(retry));
	say_hello(fd, "evil.test");
	must_be_ended(fd, origin);
	/* What is none, after all. */
	fd = open_retried(&f, &origin);
	proxy_send(fd, WITH_SIZE("GET / HTTP/1.1\r\n"));
	must_be_ended(fd, origin);
	proxy_stop(&f);
}

/* Whoever knows that another one will be wanted need not wait for that. */
static void
another_hello_is_judged_when_it_comes_early(void **state)
{
	struct proxy_fixture f;
	BUF_AUTO both = BUF_INIT(4096);
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	put_hello(&both, "origin.test");
	put_hello(&both, "evil.test");
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_send(fd, both.data, both.size);
	must_get_hello(origin, "origin.test");
	assert_true(is_silent(origin));
	proxy_send(origin, WITH_SIZE(retry));
	must_be_ended(fd, origin);

	/* Nor when the run does not wait for an answer. */
	struct linger none = {.l_onoff = 1, .l_linger = 0};
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_send(fd, both.data, both.size);
	must_get_hello(origin, "origin.test");
	assert_int_equal(
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
	(void)close(fd);
	proxy_hear_end(origin);
	(void)close(origin);

	/* In one record with the first. */
	both.size = 0;
	put_hello(&both, "origin.test");
	size_t first = both.size;
	put_hello(&both, "evil.test");
	memmove(
	    both.data + first, both.data + first + 5, both.size - first - 5);
	both.size -= 5;
	both.data[3] = (char)((both.size - 5) >> 8);
	both.data[4] = (char)((both.size - 5) & 0xff);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_send(fd, both.data, both.size);
	must_be_ended(fd, origin);
	proxy_stop(&f);
}

/* What is sent along with a hello goes on once that is answered. */
static void
early_data_arrives(void **state)
{
	struct proxy_fixture f;
	BUF_AUTO all = BUF_INIT(4096);
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	put_hello(&all, "origin.test");
	buf_add(&all, EARLY_DATA, sizeof(EARLY_DATA) - 1);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_send(fd, all.data, all.size);
	must_get_hello(origin, "origin.test");
	proxy_send(origin, WITH_SIZE(hello_of_server));
	must_get(fd, WITH_SIZE(hello_of_server));
	must_get(origin, WITH_SIZE(EARLY_DATA));
	must_be_open(fd, origin);

	/* Also where it is of no use, and byte by byte. */
	fd = open_retried(&f, &origin);
	buf_reset(&all);
	buf_add(&all, EARLY_DATA CIPHERS, sizeof(EARLY_DATA CIPHERS) - 1);
	put_hello(&all, "origin.test");
	for (size_t i = 0; i < all.size; i++)
		proxy_send(fd, all.data + i, 1);
	must_get(origin, all.data, all.size);
	must_be_open(fd, origin);
	proxy_stop(&f);
}

/* Nobody can end a tunnel that nobody answers by saying nothing more. */
static void
a_client_that_leaves_before_it_is_answered_is_gone(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	say_hello(fd, "origin.test");
	must_get_hello(origin, "origin.test");
	(void)close(fd);
	proxy_hear_end(origin);
	(void)close(origin);
	/* And the other way round. */
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	say_hello(fd, "origin.test");
	must_get_hello(origin, "origin.test");
	(void)close(origin);
	proxy_hear_end(fd);
	(void)close(fd);
	proxy_stop(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_server_name_that_contradicts_is_not_sent_on),
	    cmocka_unit_test(a_hello_may_come_byte_by_byte),
	    cmocka_unit_test(another_hello_must_be_for_the_same_host),
	    cmocka_unit_test(another_hello_is_judged_when_it_comes_early),
	    cmocka_unit_test(early_data_arrives),
	    cmocka_unit_test(
		a_client_that_leaves_before_it_is_answered_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
