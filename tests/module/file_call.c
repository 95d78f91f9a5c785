/* Operations on files of a run, frame by frame. */
#include "file_call.h"
#include "../wait.h"
#include "file_fixture.h"
#include "lib/fd.h"

#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define IN_MAX (1u << 20)

char file_text[WIRE_TEXT + 1];

/* -- one operation --------------------------------------------------------- */

bool
file_tell(
    struct file_call *c, enum wire_type type, const void *bytes, size_t size)
{
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + WIRE_CHUNK);
	struct err e = ERR_INIT;

	wire_put(&frame, type, bytes, size);
	assert_false(frame.over);
	return fd_write_all(c->fd, frame.data, frame.size,
		   clock_mono_ms() + PATIENCE_MS, &e) == 0;
}

void
file_start(struct file_call *c, const struct wire_file *x)
{
	const struct buf empty = BUF_INIT(IN_MAX);
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + 4 * WIRE_PATH_MAX);
	struct wire_file request = *x;
	struct err e = ERR_INIT;

	if (request.user == NULL)
		request.user = "1000:1000";
	if (request.root == NULL)
		request.root = "/work";
	if (request.to == NULL)
		request.to = "";
	wire_put_file(&frame, &request);
	assert_false(frame.over);
	*c = (struct file_call){.got = empty};
	c->fd = fd_connect_unix(
	    pid1_inside(&file_run, PID1_SOCKET), PATIENCE_MS, &e);
	check_ok(c->fd, &e);
	check_ok(fd_write_all(c->fd, frame.data, frame.size,
		     clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
}

enum wire_type
file_next(struct file_call *c, const char **ret_payload, size_t *ret_size)
{
	struct err e = ERR_INIT;
	enum wire_type type;
	size_t used;

	for (;;) {
		int rc = wire_next(c->got.data + c->used, c->got.size - c->used,
		    &type, ret_payload, ret_size, &used, &e);

		check_ok(rc, &e);
		if (rc == 1) {
			c->used += used;
			return type;
		}
		buf_drop(&c->got, c->used);
		c->used = 0;
		struct pollfd p = {c->fd, POLLIN, 0};
		if (poll(&p, 1, PATIENCE_MS) != 1)
			fail_msg("nothing is said about files");
		char *to = buf_grow(&c->got, WIRE_CHUNK);
		assert_non_null(to);
		ssize_t n = read(c->fd, to, WIRE_CHUNK);
		if (n <= 0)
			return 0;
		c->got.size += (size_t)n;
	}
}

void
file_leave(struct file_call *c)
{
	fd_close(&c->fd);
	buf_release(&c->got);
}

static int
failure(const char *payload, size_t size)
{
	struct err e = ERR_INIT;
	enum wire_fail why;
	const char *text;
	size_t text_size;

	check_ok(wire_get_fail(payload, size, &why, &text, &text_size, &e), &e);
	memcpy(file_text, text, text_size);
	file_text[text_size] = '\0';
	return (int)why;
}

int
file_finish(struct file_call *c)
{
	const char *payload;
	size_t size;
	int rc = -1;

	while (rc < 0) {
		enum wire_type type = file_next(c, &payload, &size);

		if (type == WIRE_FAIL)
			rc = failure(payload, size);
		else if (type == 0)
			rc = FILE_CUT;
		else if (type == WIRE_DONE)
			rc = 0;
	}
	file_leave(c);
	return rc;
}

/* -- all of one ------------------------------------------------------------ */

int
file_do_x(const struct wire_file *x)
{
	struct file_call c;

	file_start(&c, x);
	return file_finish(&c);
}

int
file_do(enum wire_file_what what, const char *path)
{
	return file_do_x(&(struct wire_file){.what = what, .path = path});
}

int
file_put_x(const struct wire_file *x, const void *bytes, size_t size)
{
	struct wire_file request = *x;
	const char *from = bytes, *payload;
	struct file_call c;
	bool taken = true;
	size_t n;

	request.what = WIRE_FILE_PUT;
	file_start(&c, &request);
	enum wire_type type = file_next(&c, &payload, &n);
	if (type == WIRE_FAIL) {
		int why = failure(payload, n);

		file_leave(&c);
		return why;
	}
	assert_int_equal(type, WIRE_STARTED);
	while (size > 0 && taken) {
		n = size < WIRE_CHUNK ? size : WIRE_CHUNK;
		taken = file_tell(&c, WIRE_DATA, from, n);
		from += n;
		size -= n;
	}
	if (taken)
		(void)file_tell(&c, WIRE_DATA_END, NULL, 0);
	return file_finish(&c);
}

int
file_put(const char *path, const void *bytes, size_t size)
{
	return file_put_x(&(struct wire_file){.path = path}, bytes, size);
}

int
file_get_part(const char *path, uint64_t offset, uint64_t size, struct buf *out)
{
	const struct wire_file x = {.what = WIRE_FILE_GET, .path = path};
	const struct wire_read part = {offset, size};
	BUF_AUTO frame = BUF_INIT(100);
	struct err e = ERR_INIT;
	struct file_call c;
	const char *payload;
	enum wire_type type;
	size_t n;
	int rc = 0;

	if (out != NULL)
		buf_reset(out);
	file_start(&c, &x);
	while ((type = file_next(&c, &payload, &n)) == WIRE_STAT ||
	       type == WIRE_DATA) {
		if (type == WIRE_DATA && out != NULL)
			buf_add(out, payload, n);
		if (type == WIRE_DATA)
			continue;
		wire_put_read(&frame, &part);
		check_ok(fd_write_all(c.fd, frame.data, frame.size,
			     clock_mono_ms() + PATIENCE_MS, &e),
		    &e);
	}
	if (type == WIRE_FAIL)
		rc = failure(payload, n);
	else if (type != WIRE_DATA_END)
		rc = FILE_CUT;
	file_leave(&c);
	return rc;
}

int
file_get(const char *path, struct buf *out)
{
	return file_get_part(path, 0, INT64_MAX, out);
}

int
file_stat(const char *path, struct wire_stat *ret_x)
{
	static char name[WIRE_NAME_MAX + 1], target[WIRE_PATH_MAX + 1];
	const struct wire_file x = {.what = WIRE_FILE_STAT, .path = path};
	struct err e = ERR_INIT;
	struct file_call c;
	const char *payload;
	size_t n;

	file_start(&c, &x);
	enum wire_type type = file_next(&c, &payload, &n);
	if (type == WIRE_STAT) {
		check_ok(wire_get_stat(payload, n, ret_x, &e), &e);
		memcpy(name, ret_x->name, strlen(ret_x->name) + 1);
		memcpy(target, ret_x->target, strlen(ret_x->target) + 1);
		ret_x->name = name;
		ret_x->target = target;
		return file_finish(&c);
	}
	assert_int_equal(type, WIRE_FAIL);
	int why = failure(payload, n);
	file_leave(&c);
	return why;
}

int
file_list(const char *path, struct buf *names, size_t *ret_count)
{
	const struct wire_file x = {.what = WIRE_FILE_LIST, .path = path};
	struct err e = ERR_INIT;
	struct wire_stat st;
	struct file_call c;
	const char *payload;
	enum wire_type type;
	size_t n;
	int rc = 0;

	*ret_count = 0;
	buf_reset(names);
	file_start(&c, &x);
	while ((type = file_next(&c, &payload, &n)) == WIRE_STAT) {
		check_ok(wire_get_stat(payload, n, &st, &e), &e);
		buf_add(names, st.name, strlen(st.name) + 1);
		++*ret_count;
	}
	if (type == WIRE_FAIL)
		rc = failure(payload, n);
	else if (type != WIRE_DONE)
		rc = FILE_CUT;
	file_leave(&c);
	return rc;
}

bool
file_has_name(const struct buf *names, const char *name)
{
	for (size_t at = 0; at < names->size;
	     at += strlen(names->data + at) + 1)
		if (strcmp(names->data + at, name) == 0)
			return true;
	return false;
}

void
file_has(const char *path, const char *text)
{
	BUF_AUTO out = BUF_INIT(10000);

	assert_int_equal(file_get(path, &out), 0);
	assert_string_equal(out.data, text);
}

void
file_fence(uint64_t generation)
{
	const struct buf empty = BUF_INIT(IN_MAX);
	BUF_AUTO frame = BUF_INIT(100);
	struct file_call c = {.got = empty};
	struct wire_fenced fenced;
	struct err e = ERR_INIT;
	const char *payload;
	size_t size;

	c.fd = fd_connect_unix(
	    pid1_inside(&file_run, PID1_SOCKET), PATIENCE_MS, &e);
	check_ok(c.fd, &e);
	wire_put_fence(&frame, generation);
	assert_int_equal(
	    write(c.fd, frame.data, frame.size), (ssize_t)frame.size);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_FENCED);
	check_ok(wire_get_fenced(payload, size, &fenced, &e), &e);
	assert_true(fenced.done);
	file_leave(&c);
}

/* The names in /work are just these, all in one text. */
void
file_work_is(const char *all)
{
	BUF_AUTO names = BUF_INIT(10000);
	size_t count, expected = 0;

	assert_int_equal(file_list("", &names, &count), 0);
	for (const char *at = all; *at != '\0';) {
		char name[100];
		size_t size = strcspn(at, " ");

		memcpy(name, at, size);
		name[size] = '\0';
		assert_true(file_has_name(&names, name));
		at += size + strspn(at + size, " ");
		expected++;
	}
	assert_int_equal(count, expected);
}
