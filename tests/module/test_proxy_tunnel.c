/* Tunnels: bytes, ends, server names. */
#include "../check.h"
#include "../wait.h"
#include "lib/buf.h"
#include "lib/str.h"
#include "proxy_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MIB (1024u * 1024)

/* -- many bytes ------------------------------------------------------------ */

/* What byte number n of a stream is, such that a piece that is lost, doubled
 * or moved shows. */
static unsigned char
byte_at(uint64_t n)
{
	return (unsigned char)((n * 2654435761u) >> 13);
}

struct stream {
	int fd;
	uint64_t sent, heard;
};

static void
send_some(struct stream *s, uint64_t size)
{
	unsigned char bytes[16384];
	size_t n = sizeof(bytes);

	if (n > size - s->sent)
		n = (size_t)(size - s->sent);
	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_at(s->sent + i);
	ssize_t rc = send(s->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (rc > 0)
		s->sent += (uint64_t)rc;
}

static bool
hear_some(struct stream *s)
{
	unsigned char bytes[65536];
	ssize_t n = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	for (ssize_t i = 0; i < n; i++)
		if (bytes[i] != byte_at(s->heard + (uint64_t)i))
			fail_msg("byte %llu is another",
			    (unsigned long long)s->heard + (uint64_t)i);
	if (n > 0)
		s->heard += (uint64_t)n;
	return n != 0;
}

/* So many bytes each way at once, each byte in its place. */
static void
exchange(int a, int b, uint64_t a_to_b, uint64_t b_to_a)
{
	struct stream s[2] = {{.fd = a}, {.fd = b}};
	int64_t end = clock_mono_ms() + 60000;

	while (s[1].heard < a_to_b || s[0].heard < b_to_a) {
		struct pollfd p[2] = {{.fd = a}, {.fd = b}};

		if (s[0].sent < a_to_b)
			p[0].events |= POLLOUT;
		if (s[1].sent < b_to_a)
			p[1].events |= POLLOUT;
		if (s[0].heard < b_to_a)
			p[0].events |= POLLIN;
		if (s[1].heard < a_to_b)
			p[1].events |= POLLIN;
		assert_true(poll(p, 2, 20000) > 0);
		assert_true(clock_mono_ms() < end);
		for (int i = 0; i < 2; i++) {
			if (p[i].revents & POLLOUT)
				send_some(&s[i], i == 0 ? a_to_b : b_to_a);
			if (p[i].revents & POLLIN)
				assert_true(hear_some(&s[i]));
		}
	}
}

/* Copied at first, then spliced, then copied again. */
static void
bytes_arrive_in_their_places(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	exchange(fd, origin, 1, 1);
	exchange(fd, origin, 100000, 200000);
	exchange(fd, origin, 64 * MIB, 3);
	exchange(fd, origin, 5, 64 * MIB);
	exchange(fd, origin, 40 * MIB, 40 * MIB);
	for (int i = 0; i < 100; i++)
		exchange(fd, origin, 7, 11);
	(void)close(fd);
	proxy_hear_end(origin);
	(void)close(origin);
	proxy_stop(&f);
}

static void
bytes_behind_connect_arrive(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_call(&f);
	proxy_say(&f, fd,
	    "CONNECT origin.test:$O HTTP/1.1\r\nHost: origin.test:$O\r\n\r\n"
	    "at once");
	origin = proxy_answer(&f);
	proxy_hear(origin, "at once");
	assert_true(str_starts(proxy_head(fd), "HTTP/1.1 200 "));
	(void)close(fd);
	(void)close(origin);
	proxy_stop(&f);
}

static void
a_web_socket_is_a_tunnel_once_it_is_agreed(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_call(&f);
	proxy_say(&f, fd,
	    "GET http://origin.test:$O/ws HTTP/1.1\r\n"
	    "Host: origin.test:$O\r\nUpgrade: websocket\r\n"
	    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n");
	origin = proxy_answer(&f);
	assert_non_null(
	    strstr(proxy_head(origin), "\r\nUpgrade: websocket\r\n"));
	proxy_say(&f, origin,
	    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
	    "Connection: Upgrade\r\n\r\n\x81\x02hi");
	assert_non_null(strstr(proxy_head(fd), "\r\nUpgrade: websocket\r\n"));
	proxy_hear(fd, "\x81\x02hi");
	proxy_say(&f, fd, "GET http://evil.test/ HTTP/1.1\r\n\r\n");
	proxy_hear(origin, "GET http://evil.test/ HTTP/1.1\r\n\r\n");
	(void)shutdown(fd, SHUT_WR);
	proxy_hear_end(origin);
	proxy_say(&f, origin, "bye");
	proxy_hear(fd, "bye");
	(void)close(fd);
	(void)close(origin);
	proxy_stop(&f);
}

/* -- ends ------------------------------------------------------------------ */

static void
ten_megabytes_come_after_the_client_shut_its_writing(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_say(&f, fd, "GET / HTTP/1.0\r\n\r\n");
	(void)shutdown(fd, SHUT_WR);
	proxy_hear(origin, "GET / HTTP/1.0\r\n\r\n");
	proxy_hear_end(origin);
	exchange(fd, origin, 0, 10 * MIB);
	(void)close(origin);
	assert_string_equal(proxy_rest(fd), "");
	(void)close(fd);
	proxy_stop(&f);
}

static void
ten_megabytes_come_after_the_origin_shut_its_writing(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_say(&f, origin, "220 ready\r\n");
	(void)shutdown(origin, SHUT_WR);
	proxy_hear(fd, "220 ready\r\n");
	proxy_hear_end(fd);
	exchange(fd, origin, 10 * MIB, 0);
	(void)close(fd);
	assert_string_equal(proxy_rest(origin), "");
	(void)close(origin);
	proxy_stop(&f);
}

/* All is sent and both ends are shut before anything is read: nothing is lost
 * of what is under way. */
static void
what_is_under_way_at_the_end_arrives(void **state)
{
	struct proxy_fixture f;
	struct stream up, down;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	up.fd = origin;
	down.fd = fd;
	up.sent = down.sent = up.heard = down.heard = 0;
	/* Each reads what the other one sent. */
	struct stream from_fd = {.fd = fd}, from_origin = {.fd = origin};
	for (int i = 0; i < 20; i++) {
		send_some(&from_fd, 300000);
		send_some(&from_origin, 300000);
	}
	(void)shutdown(fd, SHUT_WR);
	(void)shutdown(origin, SHUT_WR);
	wait_until(!hear_some(&up), 20000);
	wait_until(!hear_some(&down), 20000);
	assert_int_equal(up.heard, from_fd.sent);
	assert_int_equal(down.heard, from_origin.sent);
	(void)close(fd);
	(void)close(origin);
	proxy_stop(&f);
}

/* An origin that closes with bytes unread resets: what it said before counts
 * nevertheless. */
static void
what_was_said_before_a_reset_arrives(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_say(&f, fd, "more than is wanted");
	wait_until(
	    recv(origin, (char[1]){0}, 1, MSG_PEEK | MSG_DONTWAIT) == 1, 20000);
	proxy_say(&f, origin, "go away");
	(void)close(origin);
	assert_string_equal(proxy_rest(fd), "go away");
	(void)close(fd);
	proxy_stop(&f);
}

static void
a_stopped_reader_holds_the_sender(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	struct stream s = {.fd = fd};
	uint64_t before;
	do {
		struct pollfd p = {.fd = fd, .events = POLLOUT};

		before = s.sent;
		for (int i = 0; i < 1000; i++)
			send_some(&s, UINT64_MAX);
		(void)poll(&p, 1, 200);
	} while (s.sent > before);
	/* It is the sockets' buffers that are full, not the proxy's memory. */
	assert_true(s.sent < 64 * MIB);
	struct stream heard = {.fd = origin};
	(void)shutdown(fd, SHUT_WR);
	wait_until(!hear_some(&heard), 60000);
	assert_int_equal(heard.heard, s.sent);
	(void)close(fd);
	(void)close(origin);
	proxy_stop(&f);
}

static void
five_thousand_tunnels_leave_no_descriptor(void **state)
{
	struct proxy_fixture f;
	int fd, origin, before;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	(void)close(fd);
	proxy_hear_end(origin);
	(void)close(origin);
	before = proxy_descriptors(&f);
	for (int i = 0; i < 5000; i++) {
		fd = proxy_tunnel(&f, "origin.test:$O", &origin);
		if (i % 2 == 0) {
			(void)shutdown(fd, SHUT_WR);
			proxy_hear_end(origin);
			(void)close(origin);
			proxy_hear_end(fd);
			(void)close(fd);
		} else {
			(void)close(origin);
			proxy_hear_end(fd);
			(void)close(fd);
		}
	}
	wait_until(proxy_descriptors(&f) <= before, 20000);
	proxy_stop(&f);
}

/* SSH, SMTP ... : the other side speaks first. */
static void
the_origin_may_speak_first(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_say(&f, origin, "SSH-2.0-x\r\n");
	proxy_hear(fd, "SSH-2.0-x\r\n");
	proxy_say(&f, fd, "SSH-2.0-y\r\n");
	proxy_hear(origin, "SSH-2.0-y\r\n");
	(void)close(origin);
	proxy_hear_end(fd);
	(void)close(fd);
	proxy_stop(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_arrive_in_their_places),
	    cmocka_unit_test(bytes_behind_connect_arrive),
	    cmocka_unit_test(a_web_socket_is_a_tunnel_once_it_is_agreed),
	    cmocka_unit_test(
		ten_megabytes_come_after_the_client_shut_its_writing),
	    cmocka_unit_test(
		ten_megabytes_come_after_the_origin_shut_its_writing),
	    cmocka_unit_test(what_is_under_way_at_the_end_arrives),
	    cmocka_unit_test(what_was_said_before_a_reset_arrives),
	    cmocka_unit_test(a_stopped_reader_holds_the_sender),
	    cmocka_unit_test(five_thousand_tunnels_leave_no_descriptor),
	    cmocka_unit_test(the_origin_may_speak_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
