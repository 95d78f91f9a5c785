/* nginx between a raw client and the responders. */
#include "front.h"
#include "../port.h"
#include "../wait.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "responder.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct front front;

static const char *const pools[2] = {"control", "stream"};

/* -- starting and ending --------------------------------------------------- */

static void
write_text(const char *name, const char *text)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/%s", front.dir, name);
	check_ok(fd_write_file(path, 0600, text, strlen(text), &e), &e);
}

static void
set(const char *name, const char *value)
{
	assert_int_equal(setenv(name, value, 1), 0);
}

static void
set_environment(void)
{
	char text[128];

	set("SBX_RUN_DIR", front.dir);
	(void)snprintf(text, sizeof(text), "%s/state", front.dir);
	set("SBX_STATE_DIR", text);
	(void)snprintf(text, sizeof(text), "%s/token", front.dir);
	set("SBX_TOKEN_FILE", text);
	(void)snprintf(text, sizeof(text), "127.0.0.1:%d", front.port);
	set("SBX_ADDR", text);
	set("SBX_SERVER", FRONT_SERVER);
	(void)snprintf(text, sizeof(text), "%d", FRONT_UPLOAD_MB);
	set("SBX_MAX_UPLOAD_MB", text);
}

int
front_command(const char *verb, const char *noun)
{
	const char *build = getenv("SBX_TEST_BUILD");
	char program[512];
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)snprintf(program, sizeof(program), "%s/teploy-sandbox",
		    build != NULL ? build : "build");
		(void)execl(program, program, verb, noun, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Replace each old text, which must be there once or more, by the new one. */
static void
edit_configuration(const char *const *edits)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/nginx/nginx.conf", front.dir);
	for (; edits != NULL && edits[0] != NULL; edits += 2) {
		BUF_AUTO out = BUF_INIT(1 << 20);
		char *text = fd_read_file(path, 1 << 20, NULL, &e);

		assert_non_null(text);
		char *at = strstr(text, edits[0]);
		if (at == NULL)
			fail_msg("nginx.conf has no %s", edits[0]);
		buf_add(&out, text, (size_t)(at - text));
		buf_adds(&out, edits[1]);
		buf_adds(&out, at + strlen(edits[0]));
		free(text);
		write_text("nginx/nginx.conf", out.data);
	}
}

static int
connect_front(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)front.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	fd_close(&fd);
	return -1;
}

static bool
accepts(void)
{
	FD_AUTO fd = connect_front();

	return fd >= 0;
}

static void
start_nginx(void)
{
	char conf[128], log[128];
	pid_t pid = fork();

	assert_true(pid >= 0);
	(void)snprintf(conf, sizeof(conf), "%s/nginx/nginx.conf", front.dir);
	(void)snprintf(log, sizeof(log), "%s/error.log", front.dir);
	if (pid == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		(void)dup2(fd, STDERR_FILENO);
		(void)execlp(
		    "nginx", "nginx", "-e", "stderr", "-c", conf, (char *)NULL);
		_exit(127);
	}
	front.nginx = pid;
	wait_until(accepts() || waitpid(pid, NULL, WNOHANG) != 0, 20000);
	if (!accepts())
		fail_msg("nginx did not start: see %s", log);
}

static void
start_responders(void)
{
	int tickets[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, tickets), 0);
	front.tickets = tickets[0];
	for (int i = 0; i < 2; i++) {
		char path[96];

		(void)snprintf(
		    path, sizeof(path), "%s/%s.sock", front.dir, pools[i]);
		front.responder[i] = responder_start(
		    &(struct responder){path, pools[i], front.log, tickets[1]});
		assert_true(front.responder[i] > 0);
	}
	(void)close(tickets[1]);
}

void
front_open(const char *const *edits)
{
	char path[96];

	assert_int_equal(geteuid(), 0);
	(void)snprintf(front.dir, sizeof(front.dir), "/tmp/sbx-front-XXXXXX");
	assert_non_null(mkdtemp(front.dir));
	assert_int_equal(chmod(front.dir, 0711), 0);
	(void)snprintf(front.log, sizeof(front.log), "%s/log", front.dir);
	front.port = port_free();
	set_environment();
	write_text("log", "");
	write_text("token", "\n  " FRONT_TOKEN " \r\nsecond-token\n");
	(void)snprintf(path, sizeof(path), "%s/nginx", front.dir);
	assert_int_equal(front_command("render", path), 0);
	edit_configuration(edits);
	start_responders();
	start_nginx();
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* One that was never started has pid 0, which kill(2) takes for us all. */
static void
end_child(pid_t *pid, int number)
{
	if (*pid > 0 && kill(*pid, number) == 0)
		assert_int_equal(waitpid(*pid, NULL, 0), *pid);
	*pid = 0;
}

void
front_close(void)
{
	end_child(&front.nginx, SIGTERM);
	for (int i = 0; i < 2; i++)
		end_child(&front.responder[i], SIGKILL);
	fd_close(&front.tickets);
	(void)nftw(front.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

size_t
front_logged(const char *text)
{
	struct err e = ERR_INIT;
	char *all = fd_read_file(front.log, 16 << 20, NULL, &e);
	size_t count = 0;

	assert_non_null(all);
	for (char *at = all; (at = strstr(at, text)) != NULL; count++) {
		at += strcspn(at, "\n");
		if (*at == '\0') {
			count++;
			break;
		}
	}
	free(all);
	return count;
}

/* -- the client ------------------------------------------------------------ */

struct answer
answer_open(void)
{
	struct answer a = {
	    connect_front(), BUF_INIT(RESPONDER_LARGE * 2), 0, false};

	assert_true(a.fd >= 0);
	return a;
}

void
answer_release(struct answer *a)
{
	fd_close(&a->fd);
	buf_release(&a->raw);
}

void
answer_send(struct answer *a, const void *bytes, size_t size)
{
	struct err e = ERR_INIT;

	/* The peer may answer and close before it took all: no fault. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)fd_write_all(
	    a->fd, bytes, size, clock_mono_ms() + FRONT_WAIT_MS, &e);
}

/* One read. False at the end: it closed, or the deadline passed. */
static bool
answer_read(struct answer *a, int64_t deadline)
{
	struct pollfd ready = {a->fd, POLLIN, 0};

	if (a->closed || poll(&ready, 1, clock_left(deadline)) <= 0)
		return false;
	char *to = buf_grow(&a->raw, 65536);
	assert_non_null(to);
	ssize_t n = read(a->fd, to, 65536);
	a->closed = n <= 0;
	a->raw.size += n > 0 ? (size_t)n : 0;
	a->raw.data[a->raw.size] = '\0';
	if (a->status == 0)
		(void)sscanf(a->raw.data, "HTTP/1.1 %d", &a->status);
	return !a->closed;
}

bool
answer_await(struct answer *a, const char *text)
{
	int64_t deadline = clock_mono_ms() + FRONT_WAIT_MS;

	while (text == NULL || !answer_has(a, text))
		if (!answer_read(a, deadline))
			return text == NULL && a->closed;
	return true;
}

bool
answer_has(const struct answer *a, const char *text)
{
	return strstr(a->raw.data, text) != NULL;
}

const char *
answer_body(const struct answer *a)
{
	const char *at = strstr(a->raw.data, "\r\n\r\n");

	return at != NULL ? at + 4 : "";
}

const char *
answer_header(const struct answer *a, const char *name)
{
	static char value[9000];
	const char *end = strstr(a->raw.data, "\r\n\r\n");
	const char *line = strstr(a->raw.data, "\r\n");
	size_t size = strlen(name);

	for (; line != NULL && line < end; line = strstr(line + 2, "\r\n"))
		if (strncasecmp(line + 2, name, size) == 0 &&
		    line[2 + size] == ':') {
			line += 2 + size + 1;
			line += strspn(line, " ");
			(void)snprintf(value, sizeof(value), "%.*s",
			    (int)strcspn(line, "\r"), line);
			return value;
		}
	return NULL;
}

struct answer
front_raw(const void *bytes, size_t size)
{
	struct answer a = answer_open();

	answer_send(&a, bytes, size);
	if (!answer_await(&a, NULL))
		fail_msg("nginx kept the connection open: %s", a.raw.data);
	return a;
}

struct answer
front_ask_bare(const char *method, const char *target, const char *lines)
{
	BUF_AUTO text = BUF_INIT(256 * 1024);

	buf_addf(&text, "%s ", method);
	buf_adds(&text, target);
	buf_adds(&text, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
	buf_adds(&text, lines);
	buf_adds(&text, "\r\n");
	return front_raw(text.data, text.size);
}

struct answer
front_ask(const char *method, const char *target, const char *lines)
{
	BUF_AUTO all = BUF_INIT(256 * 1024);

	buf_adds(&all, "Authorization: Bearer " FRONT_TOKEN "\r\n");
	buf_adds(&all, lines);
	return front_ask_bare(method, target, all.data);
}

/* -- problem documents ------------------------------------------------------
 */

static const char *
member(const json_t *problem, const char *name)
{
	const char *value = json_string_value(json_object_get(problem, name));

	if (value == NULL || *value == '\0')
		fail_msg("the problem has no %s", name);
	return value;
}

void
check_problem(
    const struct answer *a, int status, const char *suffix, const char *code)
{
	char type[96];
	const char *id = answer_header(a, "X-Request-Id");

	if (a->status != status)
		fail_msg(
		    "status %d, not %d: %s", a->status, status, a->raw.data);
	assert_non_null(id);
	assert_in_range(strlen(id), 1, 64);
	assert_string_equal(
	    answer_header(a, "Content-Type"), "application/problem+json");
	json_t *problem = json_loads(answer_body(a), 0, NULL);
	if (problem == NULL)
		fail_msg("no JSON: %s", a->raw.data);
	(void)snprintf(
	    type, sizeof(type), "https://neutron.dev/errors/%s", suffix);
	assert_string_equal(member(problem, "type"), type);
	(void)member(problem, "title");
	assert_int_equal(
	    json_integer_value(json_object_get(problem, "status")), status);
	assert_true(str_ends(member(problem, "detail"), "."));
	assert_string_equal(member(problem, "server"), FRONT_SERVER);
	assert_string_equal(member(problem, "code"), code);
	assert_int_equal(json_object_size(problem), 6);
	json_decref(problem);
}
