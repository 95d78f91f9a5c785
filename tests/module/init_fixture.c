/* The built sbx-init with a test in the place of the host. */
#include "init_fixture.h"
#include "../wait.h"
#include "lib/fd.h"
#include "lib/wire_object.h"
#include "pid1_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000

const char *
init_path(void)
{
	static char path[4096];
	const char *build = getenv("SBX_TEST_BUILD");

	(void)snprintf(
	    path, sizeof(path), "%s/sbx-init", build != NULL ? build : "build");
	return path;
}

static struct pid1 run;

int
init_begin(void **state)
{
	(void)state;
	if (geteuid() != 0)
		return 0;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	bool alone = run.alone;
	run = pid1_root();
	run.abstract = run.box = true;
	run.alone = alone;
	pid1_start_ready(&run, "");
	return 0;
}

int
init_begin_alone(void **state)
{
	run.alone = true;
	return init_begin(state);
}

int
init_end(void **state)
{
	(void)state;
	if (run.pid > 0)
		pid1_finish(&run);
	return 0;
}

int
init_supervisors(int number)
{
	return pid1_signal_children(&run, number);
}

static const char *
mark(void)
{
	static char text[64];

	(void)snprintf(text, sizeof(text), "SBX_TEST_MARK=%d.", (int)getpid());
	return text;
}

void
init_open(struct init *in)
{
	const struct buf empty = BUF_INIT(1 << 20);
	int to[2], from[2];

	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(to[0], STDIN_FILENO);
		(void)dup2(from[1], STDOUT_FILENO);
		(void)execl(init_path(), "sbx-init", "exec", (char *)NULL);
		_exit(99);
	}
	assert_true(pid > 0);
	fd_close(&to[0]);
	fd_close(&from[1]);
	*in = (struct init){
	    .pid = pid, .to = to[1], .from = from[0], .got = empty};
	(void)signal(SIGPIPE, SIG_IGN);
}

void
init_request(struct init *in, const struct wire_exec *x)
{
	const char *env[INIT_ENV_MAX + 2];
	struct wire_exec request = *x;
	char user[32];
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + WIRE_MAX);
	struct err e = ERR_INIT;
	size_t n = 0;

	for (; x->env != NULL && x->env[n] != NULL; n++) {
		assert_true(n < INIT_ENV_MAX);
		env[n] = x->env[n];
	}
	env[n] = mark();
	env[n + 1] = NULL;
	(void)snprintf(user, sizeof(user), "%d", (int)geteuid());
	request.env = env;
	if (request.user == NULL)
		request.user = user;
	if (request.cwd == NULL)
		request.cwd = "/";
	wire_put_exec(&frame, &request);
	assert_false(frame.over);
	check_ok(fd_write_all(in->to, frame.data, frame.size,
		     clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
}

void
init_start(struct init *in, const struct wire_exec *x)
{
	init_open(in);
	init_request(in, x);
}

void
init_say(struct init *in, enum wire_type type, const void *bytes, size_t size)
{
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + WIRE_MAX);
	struct err e = ERR_INIT;

	wire_put(&frame, type, bytes, size);
	check_ok(fd_write_all(in->to, frame.data, frame.size,
		     clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
}

enum wire_type
init_next(struct init *in, const char **ret_payload, size_t *ret_size)
{
	struct err e = ERR_INIT;
	enum wire_type type;
	size_t used;

	buf_drop(&in->got, in->used);
	in->used = 0;
	for (;;) {
		int rc = wire_next(in->got.data, in->got.size, &type,
		    ret_payload, ret_size, &used, &e);
		check_ok(rc, &e);
		if (rc == 1) {
			in->used = used;
			return type;
		}
		struct pollfd p = {in->from, POLLIN, 0};
		if (poll(&p, 1, PATIENCE_MS) != 1)
			fail_msg("the supervisor says nothing");
		char *to = buf_grow(&in->got, 65536);
		assert_non_null(to);
		ssize_t n = read(in->from, to, 65536);
		if (n <= 0)
			return 0;
		in->got.size += (size_t)n;
	}
}

void
init_wait_started(struct init *in)
{
	const char *payload;
	size_t size;

	assert_int_equal(init_next(in, &payload, &size), WIRE_STARTED);
}

/* Send what there is room for; returns how much. */
static size_t
feed(struct init *in, const char *input, size_t size, uint32_t *room)
{
	size_t most = size < *room ? size : *room;

	if (most > 0)
		init_say(in, WIRE_STDIN, input, most);
	if (most == size)
		init_say(in, WIRE_STDIN_END, NULL, 0);
	*room -= (uint32_t)most;
	return most;
}

void
init_finish(
    struct init *in, const char *input, size_t size, struct outcome *ret_o)
{
	struct outcome o = {
	    .out = BUF_INIT(64 << 20), .err = BUF_INIT(1 << 20)};
	uint32_t room = WIRE_WINDOW, more;
	struct err e = ERR_INIT;
	const char *payload, *text;
	size_t payload_size, text_size;
	enum wire_type type = WIRE_STARTED;
	bool ended = input == NULL;

	while (type != WIRE_EXIT && type != WIRE_FAIL) {
		if (!ended && o.started) {
			size_t fed = feed(in, input, size, &room);
			ended = fed == size;
			input += fed;
			size -= fed;
		}
		type = init_next(in, &payload, &payload_size);
		if (type == WIRE_STARTED)
			o.started = true;
		else if (type == WIRE_STDOUT)
			buf_add(&o.out, payload, payload_size);
		else if (type == WIRE_STDERR)
			buf_add(&o.err, payload, payload_size);
		else if (type == WIRE_ROOM) {
			check_ok(
			    wire_get_room(payload, payload_size, &more, &e),
			    &e);
			room += more;
			assert_true(input == NULL || room <= WIRE_WINDOW);
		} else if (type == WIRE_GAP) {
			o.gapped = true;
			check_ok(
			    wire_get_gap(payload, payload_size, &o.gap, &e),
			    &e);
		} else if (type != WIRE_EXIT && type != WIRE_FAIL)
			fail_msg("frame %d in place of the last", (int)type);
	}
	o.failed = type == WIRE_FAIL;
	if (o.failed) {
		check_ok(wire_get_fail(payload, payload_size, &o.why, &text,
			     &text_size, &e),
		    &e);
		memcpy(o.text, text, text_size);
	} else {
		check_ok(wire_get_exit(payload, payload_size, &o.exit, &e), &e);
	}
	*ret_o = o;
}

void
init_wait_end(struct init *in)
{
	wait_until(waitpid(in->pid, NULL, WNOHANG) == in->pid, PATIENCE_MS);
	fd_close(&in->to);
	fd_close(&in->from);
	buf_release(&in->got);
}

void
init_leave(struct init *in)
{
	fd_close(&in->to);
	fd_close(&in->from);
	init_wait_end(in);
}

void
init_run(const struct wire_exec *x, const char *input, size_t size,
    struct outcome *ret_o)
{
	struct init in;

	init_start(&in, x);
	init_finish(&in, input, size, ret_o);
	init_leave(&in);
}

void
outcome_release(struct outcome *o)
{
	buf_release(&o->out);
	buf_release(&o->err);
}

/* Call each with every live process that carries our mark. */
static int
each_marked(void (*each)(pid_t pid))
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	assert_non_null(proc);
	while ((entry = readdir(proc)) != NULL) {
		char path[300], text[65536];
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		(void)snprintf(
		    path, sizeof(path), "/proc/%s/environ", entry->d_name);
		int fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		ssize_t n = read(fd, text, sizeof(text));
		fd_close(&fd);
		if (n <= 0 ||
		    memmem(text, (size_t)n, mark(), strlen(mark())) == NULL)
			continue;
		count++;
		if (each != NULL)
			each(pid);
	}
	(void)closedir(proc);
	return count;
}

int
init_marked(void)
{
	return each_marked(NULL);
}

static void
kill_it(pid_t pid)
{
	(void)kill(pid, SIGKILL);
}

void
init_kill_marked(void)
{
	wait_until(each_marked(kill_it) == 0, PATIENCE_MS);
}
