/* guest/guest: an operation over a stream that a test plays. */
#include "../check.h"
#include "guest/guest.h"
#include "lib/fd.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const env[] = {NULL};

/* What the other side says before it is asked, and what it then heard. */
struct play {
	int fd; /* the other side's */
	struct buf heard;
	struct guest *guest;
	struct err e;
};

static void
wrap(struct buf *to, char stream, const char *bytes, size_t size)
{
	const char head[8] = {
	    stream, 0, 0, 0, 0, 0, (char)(size >> 8), (char)(size & 0xff)};

	buf_add(to, head, sizeof(head));
	buf_add(to, bytes, size);
}

static void
say(struct play *p, char stream, const struct buf *frames)
{
	BUF_AUTO all = BUF_INIT(100000);

	wrap(&all, stream, frames->data, frames->size);
	assert_int_equal(write(p->fd, all.data, all.size), all.size);
}

static void
say_frame(struct play *p, enum wire_type type, const char *text)
{
	BUF_AUTO frame = BUF_INIT(1000);

	wire_put(&frame, type, text, strlen(text));
	say(p, 1, &frame);
}

static void
say_exit(struct play *p, int code)
{
	const struct wire_exit exit = {.code = code};
	BUF_AUTO frame = BUF_INIT(1000);

	wire_put_exit(&frame, &exit);
	say(p, 1, &frame);
}

/* Begin with what is said first; the guest may be NULL after. */
static struct play
begin(const struct buf *first, char stream, bool closed, uint32_t timeout_ms,
    const char *input)
{
	const struct wire_exec x = {.script = "true",
	    .env = env,
	    .cwd = "/",
	    .user = "",
	    .timeout_ms = timeout_ms,
	    .open_stdin = input != NULL};
	struct play p = {.fd = -1, .heard = BUF_INIT(1 << 20), .e = ERR_INIT};
	int fd[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	p.fd = fd[1];
	say(&p, stream, first);
	if (closed)
		assert_int_equal(shutdown(p.fd, SHUT_WR), 0);
	const struct guest_order order = {.exec = &x,
	    .stdin_text = input,
	    .stdin_size = input != NULL ? strlen(input) : 0};
	p.guest = guest_attach(fd[0], GUEST_DOCKER, &order, &p.e);
	return p;
}

static struct play
begin_running(uint32_t timeout_ms, const char *input)
{
	BUF_AUTO frame = BUF_INIT(100);

	wire_put(&frame, WIRE_STARTED, NULL, 0);
	struct play p = begin(&frame, 1, false, timeout_ms, input);
	if (p.guest == NULL)
		fail_msg("%s", p.e.text);
	return p;
}

static void
finish(struct play *p)
{
	guest_free(p->guest);
	buf_release(&p->heard);
	fd_close(&p->fd);
}

/* The type of the next frame that the guest was sent, or 0. */
static enum wire_type
next_heard(struct play *p, char *text, size_t text_size)
{
	enum wire_type type;
	const char *payload;
	size_t size, used;
	char bytes[4096];
	ssize_t n;

	while ((n = recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		buf_add(&p->heard, bytes, (size_t)n);
	if (wire_next(p->heard.data, p->heard.size, &type, &payload, &size,
		&used, &p->e) != 1)
		return 0;
	if (text != NULL)
		assert_true(size < text_size);
	if (text != NULL) {
		memcpy(text, payload, size);
		text[size] = '\0';
	}
	buf_drop(&p->heard, used);
	return type;
}

static enum guest_event_type
next(struct play *p, const char *bytes)
{
	struct guest_event ev;

	check_ok(guest_next(p->guest, -1, 20000, &ev, &p->e), &p->e);
	if (bytes != NULL) {
		assert_int_equal(ev.size, strlen(bytes));
		assert_memory_equal(ev.bytes, bytes, ev.size);
	}
	return ev.type;
}

static void
output_comes_in_order_and_exit_last(void **state)
{
	struct play p = begin_running(0, NULL);
	struct guest_event ev;

	(void)state;
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_EXEC);
	assert_false(guest_pending(p.guest));
	say_frame(&p, WIRE_STDOUT, "one");
	say_frame(&p, WIRE_STDERR, "two");
	say_exit(&p, 3);
	assert_int_equal(next(&p, "one"), GUEST_STDOUT);
	assert_true(guest_pending(p.guest));
	assert_int_equal(next(&p, "two"), GUEST_STDERR);
	check_ok(guest_next(p.guest, -1, 20000, &ev, &p.e), &p.e);
	assert_int_equal(ev.type, GUEST_EXIT);
	assert_int_equal(ev.exit.code, 3);
	assert_false(guest_pending(p.guest));
	check_fails(guest_next(p.guest, -1, 0, &ev, &p.e), &p.e, ERR_GUEST);
	finish(&p);
}

static void
refusals_become_errors(void **state)
{
	BUF_AUTO frame = BUF_INIT(1000);

	(void)state;
	wire_put_fail(&frame, WIRE_FAIL_CWD, "cannot enter /nope");
	struct play p = begin(&frame, 1, false, 0, NULL);
	assert_null(p.guest);
	assert_int_equal(p.e.kind, ERR_INPUT);
	assert_string_equal(p.e.text,
	    "cwd: cannot enter /nope; it must be a directory already (POST "
	    "/v1/runs/{id}/files/{path}?mkdir=1 makes one)");
	finish(&p);
}

static void
words_of_the_engine_become_errors(void **state)
{
	BUF_AUTO words = BUF_INIT(1000);

	(void)state;
	buf_adds(&words, "cannot exec in a stopped state: unknown\r\n");
	for (char stream = 1; stream <= 2; stream++) {
		struct play p = begin(&words, stream, true, 0, NULL);
		assert_null(p.guest);
		assert_int_equal(p.e.kind, ERR_RUN_NOT_RUNNING);
		finish(&p);
	}
}

static void
end_of_the_stream_without_an_exit_is_a_loss(void **state)
{
	struct play p = begin_running(0, NULL);

	(void)state;
	say_frame(&p, WIRE_STDOUT, "half");
	fd_close(&p.fd);
	assert_int_equal(next(&p, "half"), GUEST_STDOUT);
	assert_int_equal(next(&p, NULL), GUEST_LOST);
	finish(&p);
}

static void
nonsense_is_an_error_of_the_guest(void **state)
{
	struct play p = begin_running(0, NULL);
	struct guest_event ev;

	(void)state;
	say_frame(&p, WIRE_KILL, "");
	check_fails(guest_next(p.guest, -1, 20000, &ev, &p.e), &p.e, ERR_GUEST);
	finish(&p);
}

static void
other_descriptor_wakes_the_wait(void **state)
{
	struct play p = begin_running(0, NULL);
	struct guest_event ev;
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	fd_close(&fd[1]);
	check_ok(guest_next(p.guest, fd[0], 20000, &ev, &p.e), &p.e);
	assert_int_equal(ev.type, GUEST_NOTHING);
	check_ok(guest_next(p.guest, -1, 1, &ev, &p.e), &p.e);
	assert_int_equal(ev.type, GUEST_NOTHING);
	/* Output that is here goes first. */
	say_frame(&p, WIRE_STDOUT, "a");
	say_frame(&p, WIRE_STDOUT, "b");
	assert_int_equal(next(&p, "a"), GUEST_STDOUT);
	check_ok(guest_next(p.guest, fd[0], 20000, &ev, &p.e), &p.e);
	assert_int_equal(ev.type, GUEST_STDOUT);
	fd_close(&fd[0]);
	finish(&p);
}

static void
input_is_sent_as_far_as_there_is_room(void **state)
{
	static char input[WIRE_WINDOW + 1001];
	struct play p;
	struct guest_event ev;
	size_t sent = 0;
	enum wire_type type;
	BUF_AUTO room = BUF_INIT(100);

	(void)state;
	memset(input, 'x', sizeof(input) - 1);
	p = begin_running(0, input);
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_EXEC);
	for (;;) {
		char text[WIRE_CHUNK + 1];

		check_ok(guest_next(p.guest, -1, 1, &ev, &p.e), &p.e);
		type = next_heard(&p, text, sizeof(text));
		if (type == 0)
			break;
		assert_int_equal(type, WIRE_STDIN);
		sent += strlen(text);
	}
	assert_int_equal(sent, WIRE_WINDOW);
	wire_put_room(&room, 1000);
	say(&p, 1, &room);
	check_ok(guest_next(p.guest, -1, 1, &ev, &p.e), &p.e);
	check_ok(guest_next(p.guest, -1, 1, &ev, &p.e), &p.e);
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_STDIN);
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_STDIN_END);
	assert_int_equal(next_heard(&p, NULL, 0), 0);
	finish(&p);
}

static void
empty_input_is_ended_at_once(void **state)
{
	struct play p = begin_running(0, "");
	struct guest_event ev;

	(void)state;
	check_ok(guest_next(p.guest, -1, 1, &ev, &p.e), &p.e);
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_EXEC);
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_STDIN_END);
	finish(&p);
}

/* Others may feed it too, and end it. */
static void
input_of_a_feedable_command_is_not_ended(void **state)
{
	const struct wire_exec x = {.script = "true",
	    .env = env,
	    .cwd = "/",
	    .user = "",
	    .id = "01J",
	    .open_stdin = true,
	    .feedable = true};
	const struct guest_order order = {
	    .exec = &x, .stdin_text = "text", .stdin_size = 4};
	struct play p = {.fd = -1, .heard = BUF_INIT(1 << 20), .e = ERR_INIT};
	BUF_AUTO frame = BUF_INIT(100);
	struct guest_event ev;
	int fd[2];

	(void)state;
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	p.fd = fd[1];
	wire_put(&frame, WIRE_STARTED, NULL, 0);
	say(&p, 1, &frame);
	p.guest = guest_attach(fd[0], GUEST_DOCKER, &order, &p.e);
	assert_non_null(p.guest);
	check_ok(guest_next(p.guest, -1, 1, &ev, &p.e), &p.e);
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_EXEC);
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_STDIN);
	assert_int_equal(next_heard(&p, NULL, 0), 0);
	finish(&p);
}

static void
kill_is_sent_once_and_its_exit_heard(void **state)
{
	struct play p = begin_running(0, NULL);

	(void)state;
	check_ok(guest_kill(p.guest, &p.e), &p.e);
	check_ok(guest_kill(p.guest, &p.e), &p.e);
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_EXEC);
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_KILL);
	assert_int_equal(next_heard(&p, NULL, 0), 0);
	say_exit(&p, 143);
	assert_int_equal(next(&p, NULL), GUEST_EXIT);
	finish(&p);
}

/* The guest may belong to the workload: it need not keep any deadline. */
static void
silent_guest_is_timed_out_by_the_host(void **state)
{
	struct play p = begin_running(1, NULL);
	struct guest_event ev;

	(void)state;
	check_ok(guest_next(p.guest, -1, 20000, &ev, &p.e), &p.e);
	assert_int_equal(ev.type, GUEST_EXIT);
	assert_true(ev.exit.timed_out);
	assert_int_equal(ev.exit.code, -1);
	/* and the connection is closed, which is what kills there. */
	assert_int_equal(next_heard(&p, NULL, 0), WIRE_EXEC);
	assert_int_equal(read(p.fd, &ev, 1), 0);
	finish(&p);
}

static void
guest_that_ignores_a_kill_is_lost(void **state)
{
	struct play p = begin_running(0, NULL);

	(void)state;
	check_ok(guest_kill(p.guest, &p.e), &p.e);
	assert_int_equal(next(&p, NULL), GUEST_LOST);
	finish(&p);
}

static void
command_that_is_too_large_is_refused(void **state)
{
	char *script = malloc(WIRE_MAX + 1);
	struct err e = ERR_INIT;
	int fd[2];

	(void)state;
	memset(script, 'x', WIRE_MAX);
	script[WIRE_MAX] = '\0';
	const struct wire_exec x = {
	    .script = script, .env = env, .cwd = "/", .user = ""};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	const struct guest_order order = {.exec = &x};
	assert_null(guest_attach(fd[0], GUEST_PLAIN, &order, &e));
	assert_int_equal(e.kind, ERR_INPUT);
	fd_close(&fd[1]);
	free(script);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(output_comes_in_order_and_exit_last),
	    cmocka_unit_test(refusals_become_errors),
	    cmocka_unit_test(words_of_the_engine_become_errors),
	    cmocka_unit_test(end_of_the_stream_without_an_exit_is_a_loss),
	    cmocka_unit_test(nonsense_is_an_error_of_the_guest),
	    cmocka_unit_test(other_descriptor_wakes_the_wait),
	    cmocka_unit_test(input_is_sent_as_far_as_there_is_room),
	    cmocka_unit_test(empty_input_is_ended_at_once),
	    cmocka_unit_test(input_of_a_feedable_command_is_not_ended),
	    cmocka_unit_test(kill_is_sent_once_and_its_exit_heard),
	    cmocka_unit_test(silent_guest_is_timed_out_by_the_host),
	    cmocka_unit_test(guest_that_ignores_a_kill_is_lost),
	    cmocka_unit_test(command_that_is_too_large_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
