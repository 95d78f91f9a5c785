/* docker/exec and docker/hijack: opening a stream on a scripted engine. */
#include "docker/exec.h"
#include "docker/hijack.h"
#include "docker_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UPGRADED                                              \
	"HTTP/1.1 101 UPGRADED\r\n"                           \
	"Content-Type: application/vnd.docker.raw-stream\r\n" \
	"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"

static const char *const command[] = {"/.sbx/init", "exec", NULL};
static const struct exec_spec spec = {"box", "0:0", command};

static const struct fake_rule created = {.method = "POST",
    .path = "/containers/box/exec",
    .status = 201,
    .body = "{\"Id\":\"e1\"}"};

/* Send back what comes, until the client is done; then say so. */
static void
echo(void *arg, int fd)
{
	char bytes[256];
	ssize_t n;

	(void)arg;
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		(void)send(fd, bytes, (size_t)n, MSG_NOSIGNAL);
	(void)send(fd, "bye", 3, MSG_NOSIGNAL);
}

/* The answer of *arg, a byte at a time. */
static void
drip(void *arg, int fd)
{
	for (const char *at = arg; *at != '\0'; at++) {
		(void)send(fd, at, 1, MSG_NOSIGNAL);
		(void)poll(NULL, 0, 1);
	}
}

static void
check_reads(int fd, const char *want)
{
	char bytes[256];
	size_t size = 0;
	ssize_t n = 1;

	while (size < strlen(want) && n > 0) {
		n = recv(fd, bytes + size, strlen(want) - size, 0);
		size += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(size, strlen(want));
	assert_memory_equal(bytes, want, size);
}

static void
an_exec_is_created_and_its_stream_opened(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;

	fake_on(d->fake, created);
	fake_on(d->fake,
	    (struct fake_rule){
		.path = "/exec/e1/start", .status = 101, .stream = echo});
	int fd = exec_open(d->engine, &spec, &e);
	check_ok(fd, &e);
	assert_int_equal(send(fd, "hello", 5, MSG_NOSIGNAL), 5);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	check_reads(fd, "hellobye");
	(void)close(fd);
	assert_string_equal(fake_request(d->fake, 1).body,
	    "{\"AttachStdin\":true,\"AttachStdout\":true,"
	    "\"AttachStderr\":true,\"User\":\"0:0\","
	    "\"WorkingDir\":\"/\","
	    "\"Cmd\":[\"/.sbx/init\",\"exec\"]}");
	struct fake_request start = fake_request(d->fake, 2);
	assert_string_equal(start.version, "1.41");
	assert_string_equal(start.body, "{\"Detach\":false,\"Tty\":false}");
	assert_non_null(strstr(start.head, "\r\nUpgrade: tcp\r\n"));
	assert_int_equal(fake_request_count(d->fake), 3);
}

static int
open_stream(struct docker_fixture *d, const char *raw, struct err *e)
{
	fake_on(d->fake,
	    (struct fake_rule){.path = "/x", .raw = raw, .end = FAKE_STALL});
	return hijack_open(d->engine, "/x", "{}", 30000, e);
}

static void
the_descriptor_is_blocking_and_not_inherited(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;
	int fd = open_stream(d, UPGRADED, &e);

	check_ok(fd, &e);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	(void)close(fd);
}

static void
bytes_right_behind_the_head_belong_to_the_stream(void **state)
{
	static const char *const answers[] = {UPGRADED "early",
	    "HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\nearly",
	    "HTTP/1.0 200\n\nearly"};
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;

	for (size_t i = 0; i < 3; i++) {
		int fd = open_stream(d, answers[i], &e);

		check_ok(fd, &e);
		check_reads(fd, "early");
		(void)close(fd);
	}
}

static void
a_head_may_come_a_byte_at_a_time(void **state)
{
	static char answer[] = UPGRADED "early";
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;

	fake_on(d->fake,
	    (struct fake_rule){
		.path = "/x", .raw = "", .stream = drip, .arg = answer});
	int fd = hijack_open(d->engine, "/x", "{}", 30000, &e);
	check_ok(fd, &e);
	check_reads(fd, "early");
	(void)close(fd);
}

static void
a_refused_stream_tells_why(void **state)
{
	static const struct {
		int status;
		enum err_kind kind;
	} rows[] = {{404, ERR_ABSENT}, {409, ERR_CONFLICT}, {400, ERR_ENGINE},
	    {500, ERR_ENGINE}, {200, ERR_ENGINE}, {204, ERR_ENGINE}};
	struct docker_fixture *d = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		fake_on(d->fake,
		    (struct fake_rule){.path = "/x",
			.status = rows[i].status,
			.body = "{\"message\":\"No such exec instance: e\"}"});
		check_fails(hijack_open(d->engine, "/x", "{}", 30000, &e), &e,
		    rows[i].kind);
		if (rows[i].status != 204)
			assert_non_null(strstr(e.text, "No such exec"));
	}
}

static void
a_stream_that_does_not_open_is_an_error(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;

	check_ok(engine_ping(d->engine, 30000, &e), &e);
	for (size_t bytes = 1; bytes < strlen(UPGRADED); bytes += 7) {
		fake_on(d->fake, (struct fake_rule){.path = "/x",
				     .times = 1,
				     .raw = UPGRADED,
				     .end = FAKE_CLOSE,
				     .bytes = bytes});
		check_fails(hijack_open(d->engine, "/x", "{}", 30000, &e), &e,
		    ERR_ENGINE_AWAY);
	}
	fake_fail_nth(d->fake, 1, FAKE_RESET);
	check_fails(
	    hijack_open(d->engine, "/x", "{}", 30000, &e), &e, ERR_ENGINE_AWAY);
	fake_fail_nth(d->fake, 1, FAKE_STALL);
	check_fails(
	    hijack_open(d->engine, "/x", "{}", 50, &e), &e, ERR_ENGINE_TIMEOUT);
	check_fails(open_stream(d, "SSH-2.0-x\r\n", &e), &e, ERR_ENGINE);
	fake_down(d->fake);
	check_fails(
	    hijack_open(d->engine, "/x", "{}", 30000, &e), &e, ERR_ENGINE_AWAY);
}

static void
a_create_that_fails_opens_no_stream(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum err_kind kind;
	} rows[] = {
	    {404, "{\"message\":\"No such container: box\"}", ERR_ABSENT},
	    {409,
		"{\"message\":\"Container box is paused, unpause the "
		"container before exec\"}",
		ERR_CONFLICT},
	    {500, "{\"message\":\"no\"}", ERR_ENGINE},
	    {201, "{}", ERR_ENGINE},
	    {201, "no", ERR_ENGINE},
	};
	struct docker_fixture *d = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		fake_on(
		    d->fake, (struct fake_rule){.path = "/containers/box/exec",
				 .status = rows[i].status,
				 .body = rows[i].body});
		check_fails(exec_open(d->engine, &spec, &e), &e, rows[i].kind);
	}
	assert_int_equal(fake_seen(d->fake, "POST", "/exec/*"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    docker_test(an_exec_is_created_and_its_stream_opened),
	    docker_test(the_descriptor_is_blocking_and_not_inherited),
	    docker_test(bytes_right_behind_the_head_belong_to_the_stream),
	    docker_test(a_head_may_come_a_byte_at_a_time),
	    docker_test(a_refused_stream_tells_why),
	    docker_test(a_stream_that_does_not_open_is_an_error),
	    docker_test(a_create_that_fails_opens_no_stream),
	};
	struct err e = ERR_INIT;

	if (engine_setup(&e) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
