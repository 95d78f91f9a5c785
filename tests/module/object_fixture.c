/* Execs that outlive their stream. */
#include "object_fixture.h"
#include "../wait.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define NAME "@sbx-init"

struct pid1 objects_run;

int
objects_begin(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)unsetenv("TERM");
	return geteuid() == 0 ? unshare(CLONE_NEWNET) : 0;
}

void
objects_open_sized(unsigned memory_mib)
{
	objects_run = pid1_root();
	objects_run.abstract = objects_run.box = true;
	objects_run.memory_mib = memory_mib;
	pid1_start_ready(&objects_run, "");
}

int
objects_open(void **state)
{
	(void)state;
	if (geteuid() == 0)
		objects_open_sized(0);
	return 0;
}

int
objects_close(void **state)
{
	(void)state;
	if (geteuid() == 0)
		pid1_finish(&objects_run);
	return 0;
}

void
object_call(struct init *in)
{
	const struct buf empty = BUF_INIT(1 << 20);
	struct err e = ERR_INIT;

	if (geteuid() != 0)
		skip();
	int fd = fd_connect_unix(NAME, PATIENCE_MS, &e);
	check_ok(fd, &e);
	*in = (struct init){
	    .to = fd, .from = fcntl(fd, F_DUPFD_CLOEXEC, 0), .got = empty};
}

void
object_hang_up(struct init *in)
{
	fd_close(&in->to);
	fd_close(&in->from);
	buf_release(&in->got);
}

void
object_start(struct init *in, const struct wire_exec *x)
{
	object_call(in);
	init_request(in, x);
	init_wait_started(in);
}

void
object_detach(struct init *in)
{
	const char *payload;
	size_t size;
	enum wire_type type;

	BUF_AUTO frame = BUF_INIT(WIRE_HEAD);
	wire_put(&frame, WIRE_DETACH, NULL, 0);
	/* (A command that has ended has closed the connection.) */
	(void)!write(in->to, frame.data, frame.size);
	do {
		type = init_next(in, &payload, &size);
	} while (
	    type == WIRE_STDOUT || type == WIRE_STDERR || type == WIRE_ROOM);
	/* One that has ended at once needs none. */
	if (type != WIRE_EXIT)
		assert_int_equal(type, WIRE_DONE);
	object_hang_up(in);
}

void
object_launch(const char *id, const char *script)
{
	const struct wire_exec x = {.script = script, .id = id, .keep = true};
	struct init in;

	object_start(&in, &x);
	object_detach(&in);
}

static enum wire_fail
fail_of(const char *payload, size_t size)
{
	struct err e = ERR_INIT;
	enum wire_fail why;
	const char *text;

	check_ok(wire_get_fail(payload, size, &why, &text, &size, &e), &e);
	assert_true(size > 0);
	return why;
}

enum wire_fail
object_refusal(struct init *in)
{
	const char *payload;
	size_t size;

	assert_int_equal(init_next(in, &payload, &size), WIRE_FAIL);
	enum wire_fail why = fail_of(payload, size);
	object_hang_up(in);
	return why;
}

static void
send_frame(struct init *in, const struct buf *frame)
{
	struct err e = ERR_INIT;

	check_ok(fd_write_all(in->to, frame->data, frame->size,
		     clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
}

static void
call_act(struct init *in, const struct wire_act *x)
{
	BUF_AUTO frame = BUF_INIT(200);

	wire_put_act(&frame, x);
	object_call(in);
	send_frame(in, &frame);
}

/* The last frame, after so much room as comes. */
static enum wire_fail
last(struct init *in)
{
	const char *payload;
	size_t size;
	enum wire_type type;

	do {
		type = init_next(in, &payload, &size);
	} while (type == WIRE_ROOM);
	if (type == WIRE_FAIL)
		return fail_of(payload, size);
	assert_int_equal(type, WIRE_DONE);
	return 0;
}

enum wire_fail
object_do(const struct wire_act *x)
{
	struct init in;

	call_act(&in, x);
	enum wire_fail why = last(&in);
	object_hang_up(&in);
	return why;
}

enum wire_fail
object_end(const char *id)
{
	return object_do(&(struct wire_act){.what = WIRE_ACT_END, .id = id});
}

/* Until there is room; 0, or the refusal that came instead. */
static enum wire_fail
wait_room(struct init *in, uint32_t *room)
{
	struct err e = ERR_INIT;
	const char *payload;
	uint32_t more;
	size_t size;

	while (*room == 0) {
		enum wire_type type = init_next(in, &payload, &size);

		if (type == WIRE_FAIL)
			return fail_of(payload, size);
		assert_int_equal(type, WIRE_ROOM);
		check_ok(wire_get_room(payload, size, &more, &e), &e);
		*room += more;
		assert_true(*room <= WIRE_WINDOW);
	}
	return 0;
}

enum wire_fail
object_feed(const char *id, const char *text, size_t size, bool close)
{
	const struct wire_act x = {
	    .what = WIRE_ACT_INPUT, .id = id, .close = close};
	uint32_t room = WIRE_WINDOW;
	enum wire_fail why = 0;
	const char *payload;
	struct init in;
	size_t n;

	call_act(&in, &x);
	enum wire_type type = init_next(&in, &payload, &n);
	if (type != WIRE_STARTED) {
		assert_int_equal(type, WIRE_FAIL);
		why = fail_of(payload, n);
	}
	while (why == 0 && size > 0 && (why = wait_room(&in, &room)) == 0) {
		n = size < room ? size : room;
		init_say(&in, WIRE_STDIN, text, n);
		room -= (uint32_t)n;
		text += n;
		size -= n;
	}
	if (why == 0) {
		init_say(&in, WIRE_STDIN_END, NULL, 0);
		why = last(&in);
	}
	object_hang_up(&in);
	return why;
}

void
object_attach(struct init *in, const char *id, uint64_t offset)
{
	const struct wire_attach x = {id, offset};
	BUF_AUTO frame = BUF_INIT(200);

	wire_put_attach(&frame, &x);
	object_call(in);
	send_frame(in, &frame);
}

static char found_id[WIRE_ID_MAX + 1], found_cmd[WIRE_CMD_MAX + 1];

/* Counts them, and keeps the one of that id (NULL: none). */
static int
list(const char *id, struct wire_info *ret_info, bool *ret_found)
{
	struct wire_info info;
	struct err e = ERR_INIT;
	const char *payload;
	struct init in;
	enum wire_type type;
	size_t size;
	int count = 0;

	object_call(&in);
	init_say(&in, WIRE_LIST, NULL, 0);
	*ret_found = false;
	while ((type = init_next(&in, &payload, &size)) == WIRE_INFO) {
		check_ok(wire_get_info(payload, size, &info, &e), &e);
		count++;
		if (id == NULL || strcmp(info.id, id) != 0)
			continue;
		(void)snprintf(found_id, sizeof(found_id), "%s", info.id);
		(void)snprintf(found_cmd, sizeof(found_cmd), "%s", info.cmd);
		info.id = found_id;
		info.cmd = found_cmd;
		*ret_info = info;
		*ret_found = true;
	}
	assert_int_equal(type, WIRE_DONE);
	object_hang_up(&in);
	return count;
}

int
objects_count(void)
{
	bool found;

	return list(NULL, NULL, &found);
}

bool
object_find(const char *id, struct wire_info *ret_info)
{
	bool found;

	(void)list(id, ret_info, &found);
	return found;
}

bool
object_has_ended(const char *id)
{
	struct wire_info info;

	return object_find(id, &info) && info.ended;
}

void
object_read(const char *id, uint64_t offset, struct outcome *ret_o)
{
	struct init in;

	object_attach(&in, id, offset);
	init_finish(&in, NULL, 0, ret_o);
	object_hang_up(&in);
}
