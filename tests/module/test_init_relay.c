/* `sbx-init exec`, between a test in the place of Docker's exec stream and a
 * test, or a real one, in the place of PID 1. */
#include "../wait.h"
#include "init_fixture.h"
#include "lib/fd.h"
#include "lib/wire.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define PID1 "@sbx-init"
#define BIG (100u << 20)
#define FLAT_KIB 2048 /* all that a relay may ever use */

static int listener = -1;

/* The test as PID 1, on that name in a network of its own. */
static int
listen_alone(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	if (geteuid() != 0)
		return 0;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	listener = fd_listen_unix(PID1, 0600, 8, &e);
	check_ok(listener, &e);
	(void)signal(SIGPIPE, SIG_IGN);
	return 0;
}

static int
stop_listening(void **state)
{
	(void)state;
	fd_close(&listener);
	return 0;
}

static int
accept_one(void)
{
	struct pollfd p = {listener, POLLIN, 0};

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(fd >= 0);
	return fd;
}

/* A relay, and PID 1's end of its connection. */
static int
open_relay(struct init *in)
{
	if (geteuid() != 0)
		skip();
	init_open(in);
	return accept_one();
}

static bool
readable(int fd, int timeout_ms)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, timeout_ms) == 1;
}

/* All of size bytes from fd. */
static void
read_whole(int fd, char *to, size_t size)
{
	while (size > 0) {
		assert_true(readable(fd, PATIENCE_MS));
		ssize_t n = read(fd, to, size);
		assert_true(n > 0);
		to += n;
		size -= (size_t)n;
	}
}

static void
write_whole(int fd, const char *from, size_t size)
{
	struct err e = ERR_INIT;

	check_ok(
	    fd_write_all(fd, from, size, clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
}

static void
expect_end(int fd)
{
	char byte;

	assert_true(readable(fd, PATIENCE_MS));
	assert_true(read(fd, &byte, 1) <= 0);
}

/* What must begin what a host says. */
static void
begin(const struct init *in, int run)
{
	char frame[WIRE_HEAD], got[WIRE_HEAD];

	wire_head(frame, WIRE_LIST, 0);
	write_whole(in->to, frame, sizeof(frame));
	read_whole(run, got, sizeof(got));
	assert_memory_equal(got, frame, sizeof(got));
}

static void
bytes_pass_both_ways_however_they_are_cut(void **state)
{
	char there[5000], back[5000], got[5000];
	struct init in;
	int run = open_relay(&in);

	(void)state;
	srand(4);
	begin(&in, run);
	for (int turn = 0; turn < 300; turn++) {
		size_t a = (size_t)rand() % sizeof(there) + 1;
		size_t b = (size_t)rand() % sizeof(back) + 1;

		memset(there, turn, a);
		memset(back, ~turn, b);
		there[a / 2] = back[b / 3] = 'x';
		write_whole(in.to, there, a);
		write_whole(run, back, b);
		read_whole(run, got, a);
		assert_memory_equal(got, there, a);
		read_whole(in.from, got, b);
		assert_memory_equal(got, back, b);
	}
	fd_close(&run);
	init_wait_end(&in);
}

static void
first_frame_comes_whole(void **state)
{
	BUF_AUTO frame = BUF_INIT(100);
	char got[100];
	struct init in;
	int run = open_relay(&in);

	(void)state;
	wire_put_fence(&frame, 7);
	for (size_t i = 0; i < frame.size; i++) {
		assert_false(readable(run, 5));
		write_whole(in.to, frame.data + i, 1);
	}
	assert_true(readable(run, PATIENCE_MS));
	assert_int_equal(recv(run, got, sizeof(got), 0), frame.size);
	assert_memory_equal(got, frame.data, frame.size);
	fd_close(&run);
	init_wait_end(&in);
}

/* A frame that is longer than what a relay holds. */
static void
long_first_frame_passes_in_pieces(void **state)
{
	size_t size = 1 << 20;
	char *frame = calloc(1, size), *got = malloc(size);
	struct init in;
	int run = open_relay(&in);

	(void)state;
	wire_head(frame, WIRE_EXEC, size - WIRE_HEAD);
	pid_t writer = fork();
	if (writer == 0) {
		write_whole(in.to, frame, size);
		_exit(0);
	}
	read_whole(run, got, size);
	assert_memory_equal(got, frame, size);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
	free(frame);
	free(got);
	fd_close(&run);
	init_wait_end(&in);
}

/* Write until nobody takes any more. Returns how much that was. */
static size_t
fill_up(int fd)
{
	static const char zeros[65536];
	struct pollfd p = {fd, POLLOUT, 0};
	size_t total = 0;

	assert_int_equal(fd_set_nonblock(fd, 1), 0);
	while (poll(&p, 1, 300) == 1) {
		ssize_t n = write(fd, zeros, sizeof(zeros));
		total += n > 0 ? (size_t)n : 0;
		assert_true(total < 64u << 20);
	}
	return total;
}

static void
end_of_input_closes_the_connection_at_once(void **state)
{
	struct init in;
	int run = open_relay(&in);

	(void)state;
	begin(&in, run);
	fd_close(&in.to);
	expect_end(run);
	fd_close(&run);
	init_wait_end(&in);
}

static void
end_of_input_is_noticed_while_nothing_moves(void **state)
{
	struct init in;
	int run = open_relay(&in);

	(void)state;
	begin(&in, run);
	(void)fill_up(in.to); /* nobody reads it there */
	(void)fill_up(run);   /* nor that here */
	fd_close(&in.to);
	init_wait_end(&in);
	fd_close(&run);
}

static void
what_was_said_before_the_end_of_input_arrives(void **state)
{
	char text[2000], got[2000];
	struct init in;
	int run = open_relay(&in);

	(void)state;
	begin(&in, run);
	memset(text, 'a', sizeof(text));
	write_whole(in.to, text, sizeof(text));
	fd_close(&in.to);
	read_whole(run, got, sizeof(got));
	assert_memory_equal(got, text, sizeof(got));
	expect_end(run);
	fd_close(&run);
	init_wait_end(&in);
}

static void
reader_that_leaves_ends_it(void **state)
{
	struct init in;
	int run = open_relay(&in);

	(void)state;
	begin(&in, run);
	fd_close(&in.from);
	expect_end(run);
	fd_close(&run);
	init_wait_end(&in);
}

/* Also where PID 1 did not read all that it was sent. */
static void
end_of_the_connection_comes_after_all_that_was_said(void **state)
{
	static char text[150000], got[150000];
	struct init in;
	int run = open_relay(&in);

	(void)state;
	begin(&in, run);
	memset(text, 'z', sizeof(text));
	write_whole(in.to, "unread", 6);
	assert_true(readable(run, PATIENCE_MS));
	write_whole(run, text, sizeof(text));
	fd_close(&run);
	read_whole(in.from, got, sizeof(got));
	assert_memory_equal(got, text, sizeof(got));
	expect_end(in.from);
	init_wait_end(&in);
}

static long
peak_kib(pid_t pid)
{
	char path[64];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	char *text = fd_read_file(path, 65536, NULL, &e);
	if (text == NULL)
		fail_msg("%s", e.text);
	const char *at = strstr(text, "VmHWM:");
	long kib = at != NULL ? strtol(at + 6, NULL, 10) : -1;
	free(text);
	return kib;
}

/* From one end to the other, in memory that stays as it is. */
static void
push(const struct init *in, int from, int to)
{
	static char piece[65536], got[65536];

	pid_t writer = fork();
	if (writer == 0) {
		for (size_t sent = 0; sent < BIG; sent += sizeof(piece)) {
			memset(piece, (int)(sent >> 16), sizeof(piece));
			write_whole(from, piece, sizeof(piece));
		}
		_exit(0);
	}
	for (size_t read = 0; read < BIG; read += sizeof(got)) {
		read_whole(to, got, sizeof(got));
		memset(piece, (int)(read >> 16), sizeof(piece));
		assert_memory_equal(got, piece, sizeof(got));
	}
	assert_int_equal(waitpid(writer, NULL, 0), writer);
	long kib = peak_kib(in->pid);
	assert_in_range(kib, 1, FLAT_KIB);
}

static void
hundred_megabytes_pass_in_flat_memory(void **state)
{
	struct init in;
	int run = open_relay(&in);

	(void)state;
	begin(&in, run);
	push(&in, in.to, run);
	push(&in, run, in.from);
	fd_close(&run);
	init_wait_end(&in);
}

static void
each_way_waits_for_whoever_does_not_read(void **state)
{
	struct init in;
	int run = open_relay(&in);
	char byte = 'b';

	(void)state;
	begin(&in, run);
	assert_in_range(fill_up(in.to), 1, 4u << 20);
	/* The other way goes on meanwhile. */
	write_whole(run, &byte, 1);
	read_whole(in.from, &byte, 1);
	assert_int_equal(byte, 'b');
	assert_in_range(fill_up(run), 1, 4u << 20);
	fd_close(&run);
	init_leave(&in);
}

static void
it_waits_until_pid_1_serves(void **state)
{
	struct err e = ERR_INIT;
	struct init in;

	(void)state;
	if (geteuid() != 0)
		skip();
	fd_close(&listener);
	init_open(&in);
	(void)poll(NULL, 0, 50); /* so that it meets nobody at first, mostly */
	listener = fd_listen_unix(PID1, 0600, 8, &e);
	check_ok(listener, &e);
	int run = accept_one();
	begin(&in, run);
	fd_close(&run);
	init_wait_end(&in);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_pass_both_ways_however_they_are_cut),
	    cmocka_unit_test(first_frame_comes_whole),
	    cmocka_unit_test(long_first_frame_passes_in_pieces),
	    cmocka_unit_test(end_of_input_closes_the_connection_at_once),
	    cmocka_unit_test(end_of_input_is_noticed_while_nothing_moves),
	    cmocka_unit_test(what_was_said_before_the_end_of_input_arrives),
	    cmocka_unit_test(reader_that_leaves_ends_it),
	    cmocka_unit_test(
		end_of_the_connection_comes_after_all_that_was_said),
	    cmocka_unit_test(hundred_megabytes_pass_in_flat_memory),
	    cmocka_unit_test(each_way_waits_for_whoever_does_not_read),
	    cmocka_unit_test(it_waits_until_pid_1_serves),
	};

	return cmocka_run_group_tests(tests, listen_alone, stop_listening);
}
