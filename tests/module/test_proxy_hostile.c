/*
 * The built sbx-proxy, by hand, and the requests of hostile.h: what answers
 * they get, and what of them reaches anybody.
 */
#include "../../proxy/chunk.h"
#include "../../proxy/head.h"
#include "../wait.h"
#include "hostile.h"
#include "hostile_origin.h"
#include "hostile_proxy.h"
#include "lib/fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE_MS 10000
#define BYTEWISE_MAX 2000 /* longer rows come in one write only */
#define FAULTS_MAX 100
#define LAST_REQUEST                                    \
	"GET http://a.test:{p}/end HTTP/1.1\r\n" A_HOST \
	"Connection: close\r\n\r\n"

static int faults;

/* -- one conversation ------------------------------------------------------ */

/* What can be read within so many ms; false at the end of the connection. */
static bool
take(int fd, struct buf *out, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char bytes[65536];

	if (poll(&p, 1, ms) == 0)
		return true;
	ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
	if (got > 0)
		buf_add(out, bytes, (size_t)got);
	return got > 0;
}

/* Everything that comes back until the proxy hangs up. */
static void
hear(int fd, struct buf *out)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	bool open = true;

	while (open && clock_mono_ms() < end)
		open = take(fd, out, 100);
	if (open)
		buf_adds(out, "(the connection stays open)");
}

static void
converse(const struct buf *bytes, size_t step, bool half_close, struct buf *out)
{
	FD_AUTO fd = hostile_connect_proxy();
	bool open = true;

	assert_true(fd >= 0);
	for (size_t at = 0; at < bytes->size && open; at += step) {
		size_t left = bytes->size - at;

		(void)send(fd, bytes->data + at, left < step ? left : step,
		    MSG_NOSIGNAL);
		if (step < bytes->size)
			open = take(fd, out, 0);
	}
	if (half_close)
		(void)shutdown(fd, SHUT_WR);
	if (open)
		hear(fd, out);
}

/* Bytes of the body behind that head; *ret_whole: it ends there. */
static size_t
body_of(const struct head *h, const char *at, size_t size, bool *ret_whole)
{
	struct chunk c = CHUNK_INIT;
	size_t used = size;

	*ret_whole = true;
	if (h->body == BODY_NONE)
		used = 0;
	if (h->body == BODY_LENGTH) {
		*ret_whole = h->length <= size;
		used = *ret_whole ? (size_t)h->length : size;
	}
	if (h->body == BODY_CHUNKED) {
		long got = chunk_feed(&c, at, size, ret_whole);

		used = got < 0 ? size : (size_t)got;
	}
	return used;
}

/* The statuses of all answers, as hostile.h writes them. */
static void
statuses(const struct buf *in, const struct buf *got, struct buf *out)
{
	static struct head h;
	static const struct slice get = {"GET", 3}, head_method = {"HEAD", 4};
	bool connects = strstr(in->data, "CONNECT ") != NULL;
	bool heads = strncmp(in->data, "HEAD ", 5) == 0, whole;
	struct head_fault f;
	size_t used;

	for (size_t at = 0; at < got->size; at += used) {
		const char *from = got->data + at;

		buf_adds(out, at > 0 ? " " : "");
		if (head_answer(from, got->size - at,
			heads && at == 0 ? &head_method : &get, true, &h, &used,
			&f) != 1) {
			buf_addf(out, "\"%.80s\"", from);
			return;
		}
		if (connects && h.status == 200 && h.body == BODY_CLOSE)
			h.body = BODY_NONE;
		used += body_of(&h, from + used, got->size - at - used, &whole);
		buf_addf(out, "%d%s", h.status, whole ? "" : "~");
	}
}

/* -- one row --------------------------------------------------------------- */

static void
fault_in(const char *group, const struct hostile *row, size_t step,
    const char *what, const char *text)
{
	print_error("%s: \"%s\"%s: %s: %s\n", group, row->what,
	    step == 1 ? ", byte by byte" : "", what, text);
	faults++;
}

/* One of the alternatives. */
static bool
is_wanted(const char *want, bool *keep, const char *got)
{
	char text[256];
	size_t size = strlen(got);

	for (;;) {
		size_t part = strcspn(want, "|");

		*keep = part > 0 && want[part - 1] == '+';
		(void)snprintf(text, sizeof(text), "%.*s%s",
		    (int)(*keep ? part - 1 : part), want, *keep ? " 200" : "");
		if (strlen(text) == size && strcmp(text, got) == 0)
			return true;
		if (want[part] == '\0')
			return false;
		want += part + 1;
	}
}

/* What must not be in a request that a proxy sent on. */
static const char *
never_sent(const struct buf *seen)
{
	static const char *const never[] = {"smuggled", "denied.test",
	    "Proxy-Connection:", "Proxy-Authorization:", "c2VjcmV0", "\r\nTE:",
	    "\r\nKeep-Alive:", "\r\nHTTP2-Settings:", "http://a.test",
	    "keep-alive"};

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		size_t size = strlen(never[i]);

		for (size_t at = 0; at + size <= seen->size; at++)
			if (strncasecmp(seen->data + at, never[i], size) == 0)
				return never[i];
	}
	return NULL;
}

static void
check_row(const char *group, const struct hostile *row, size_t step)
{
	BUF_AUTO in = BUF_INIT(1u << 20);
	BUF_AUTO got = BUF_INIT(1u << 22);
	BUF_AUTO seen = BUF_INIT(1u << 22);
	BUF_AUTO names = BUF_INIT(65536);
	BUF_AUTO said = BUF_INIT(65536);
	BUF_AUTO sees = BUF_INIT(65536);
	bool keep = strchr(row->want, '+') != NULL;
	bool connects = strstr(row->bytes, "CONNECT ") != NULL;

	hostile_fill_in(&in, row->bytes, row->size);
	if (keep)
		hostile_fill_in(&in, LAST_REQUEST, sizeof(LAST_REQUEST) - 1);
	if (row->sees != NULL)
		hostile_fill_in(&sees, row->sees, strlen(row->sees));
	origin_play(row->says);
	converse(&in, step, connects, &got);
	int reach = origin_seen(&seen, &names);
	statuses(&in, &got, &said);
	const struct buf *where = row->says != NULL ? &got : &seen;
	if (!is_wanted(row->want, &keep, said.data))
		fault_in(group, row, step, row->want, said.data);
	if (reach != row->reach + keep)
		fault_in(group, row, step, "requests there", seen.data);
	if (sees.size > 0 &&
	    memmem(where->data, where->size, sees.data, sees.size) == NULL)
		fault_in(group, row, step, "not seen", where->data);
	if (never_sent(&seen) != NULL)
		fault_in(group, row, step, never_sent(&seen), seen.data);
	if (memmem(got.data, got.size, "smuggled", 8) != NULL)
		fault_in(group, row, step, "smuggled back", got.data);
	if (names.size > 0 && strstr(row->bytes, "nx.test") == NULL)
		fault_in(group, row, step, "asked for", names.data);
}

static void
check_group(const char *name, const struct hostile_group *g)
{
	int before = faults;

	for (size_t i = 0; i < g->count && faults < FAULTS_MAX; i++) {
		check_row(name, &g->rows[i], 1u << 20);
		if (g->rows[i].size < BYTEWISE_MAX)
			check_row(name, &g->rows[i], 1);
	}
	assert_int_equal(faults - before, 0);
}

#define GROUP_TEST(test, group)                        \
	static void test(void **state)                 \
	{                                              \
		(void)state;                           \
		check_group(#group, &hostile_##group); \
	}

GROUP_TEST(targets_name_an_admitted_host_and_port, targets)
GROUP_TEST(request_lines_are_taken_to_the_letter, lines)
GROUP_TEST(fields_are_taken_to_the_letter, fields)
GROUP_TEST(framing_has_one_meaning, framing)
GROUP_TEST(chunks_have_one_meaning, chunks)
GROUP_TEST(what_is_of_this_connection_stays_here, hops)
GROUP_TEST(tunnels_lead_to_admitted_hosts, connect)
GROUP_TEST(each_request_of_a_connection_is_judged, chains)
GROUP_TEST(answers_have_one_meaning, answers)

/* -- what is too large to be written down ---------------------------------- */

/* A head with that many bytes more in its target, fields, and value. */
static void
check_large(
    size_t path, size_t fields, size_t value, const char *want, int reach)
{
	BUF_AUTO bytes = BUF_INIT(1u << 20);
	struct hostile row = {.what = "large", .want = want, .reach = reach};

	buf_adds(&bytes, "GET http://a.test:{p}/");
	for (size_t i = 0; i < path; i++)
		buf_addc(&bytes, 'x');
	buf_adds(&bytes, " HTTP/1.1\r\n" A_HOST);
	for (size_t i = 0; i < fields; i++)
		buf_adds(&bytes, "X: y\r\n");
	buf_adds(&bytes, "Z: ");
	for (size_t i = 0; i < value; i++)
		buf_addc(&bytes, 'z');
	buf_adds(&bytes, "\r\n\r\n");
	row.bytes = bytes.data;
	row.size = bytes.size;
	check_row("large", &row, 1u << 20);
}

static void
heads_have_a_largest_size(void **state)
{
	(void)state;
	faults = 0;
	check_large(8000, 0, 0, "200+", 1);
	check_large(9000, 0, 0, "414", 0);
	check_large(0, 120, 0, "200+", 1);
	check_large(0, 127, 0, "431", 0);
	check_large(0, 0, 32000, "200+", 1);
	check_large(0, 0, 33000, "431", 0);
	check_large(100000, 0, 0, "414", 0);
	check_large(0, 10000, 0, "431", 0);
	assert_int_equal(faults, 0);
}

/* A head that does not come to its end in time. */
static void
slow_heads_are_ended(void **state)
{
	static const char *const starts[] = {
	    "G", "GET http://a.test:1/ HTTP/1.1\r\n", GET_A A_HOST "X: y"};
	const size_t count = sizeof(starts) / sizeof(starts[0]);
	int fd[sizeof(starts) / sizeof(starts[0])];

	(void)state;
	for (size_t i = 0; i < count; i++) {
		fd[i] = hostile_connect_proxy();
		assert_true(fd[i] >= 0);
		assert_int_equal(
		    send(fd[i], starts[i], strlen(starts[i]), MSG_NOSIGNAL),
		    (ssize_t)strlen(starts[i]));
	}
	for (size_t i = 0; i < count; i++) {
		BUF_AUTO in = BUF_INIT(1);
		BUF_AUTO out = BUF_INIT(65536);
		BUF_AUTO said = BUF_INIT(1000);

		hear(fd[i], &out);
		fd_close(&fd[i]);
		statuses(&in, &out, &said);
		assert_string_equal(said.data, "408");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(targets_name_an_admitted_host_and_port),
	    cmocka_unit_test(request_lines_are_taken_to_the_letter),
	    cmocka_unit_test(fields_are_taken_to_the_letter),
	    cmocka_unit_test(framing_has_one_meaning),
	    cmocka_unit_test(chunks_have_one_meaning),
	    cmocka_unit_test(what_is_of_this_connection_stays_here),
	    cmocka_unit_test(tunnels_lead_to_admitted_hosts),
	    cmocka_unit_test(each_request_of_a_connection_is_judged),
	    cmocka_unit_test(answers_have_one_meaning),
	    cmocka_unit_test(heads_have_a_largest_size),
	    cmocka_unit_test(slow_heads_are_ended),
	};

	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}
