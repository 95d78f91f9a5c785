/* guest/file over the socket of sbx-init as PID 1. */
#include "../wait.h"
#include "guest/file.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "pid1_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define LARGE (5u << 20)

static struct pid1 run;
static struct guest_place place;
static const struct guest_patience patience = {-1, PATIENCE_MS};

static int
open_run(void **state)
{
	(void)state;
	if (geteuid() != 0)
		return 0;
	run = pid1_root();
	pid1_start_ready(&run, "");
	place = (struct guest_place){"", run.root, run.pid, WIRE_VERSION};
	(void)signal(SIGPIPE, SIG_IGN);
	return 0;
}

static int
close_run(void **state)
{
	(void)state;
	if (geteuid() == 0)
		pid1_finish(&run);
	return 0;
}

static struct wire_file
request(enum wire_file_what what, const char *path)
{
	if (geteuid() != 0)
		skip();
	return (struct wire_file){
	    .what = what, .user = "", .root = "/work", .path = path, .to = ""};
}

static struct guest_file *
start(const struct wire_file *rq)
{
	struct err e = ERR_INIT;
	struct guest_file *f = guest_file_open(NULL, &place, rq, &patience, &e);

	if (f == NULL)
		fail_msg("%s", e.text);
	return f;
}

/* MKDIR, MOVE, REMOVE. */
static int
change(const struct wire_file *rq, struct err *e)
{
	struct guest_file *f = start(rq);
	int rc = guest_file_done(f, e);

	guest_file_free(f);
	return rc;
}

/* Send it in pieces of that size. */
static int
put(const char *path, const char *bytes, size_t size, size_t step,
    struct err *e)
{
	const struct wire_file rq = request(WIRE_FILE_PUT, path);
	struct guest_file *f = guest_file_open(NULL, &place, &rq, &patience, e);
	int rc = f != NULL ? 0 : -1;

	for (size_t at = 0; rc == 0 && at < size; at += step)
		rc = guest_file_send(
		    f, bytes + at, size - at < step ? size - at : step, e);
	if (rc == 0)
		rc = guest_file_end(f, e);
	guest_file_free(f);
	return rc;
}

/* The bytes from there on, at most so many; its stat, where it is not NULL. */
static int
get(const char *path, uint64_t offset, uint64_t size, struct buf *to,
    struct wire_stat *ret_stat, struct err *e)
{
	const struct wire_file rq = request(WIRE_FILE_GET, path);
	struct guest_file *f = start(&rq);
	struct wire_stat stat;
	const char *bytes;
	size_t piece;
	int rc = guest_file_stat(f, &stat, e);

	if (rc == 1 && ret_stat != NULL)
		*ret_stat = stat;
	if (rc == 1)
		rc = guest_file_read(f, offset, size, e);
	while (rc >= 0 && (rc = guest_file_next(f, &bytes, &piece, e)) == 1)
		buf_add(to, bytes, piece);
	guest_file_free(f);
	return rc;
}

static void
remove_it(const char *path)
{
	struct wire_file rq = request(WIRE_FILE_REMOVE, path);
	struct err e = ERR_INIT;

	rq.recursive = true;
	check_ok(change(&rq, &e), &e);
}

static void
file_comes_back_as_it_went(void **state)
{
	static const size_t steps[] = {100, 40000, 65536, 200000, LARGE};
	char *bytes = mem_alloc(LARGE);

	(void)state;
	for (size_t i = 0; i < LARGE; i++)
		bytes[i] = (char)(i * 7 + (i >> 16));
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t size = i == 0 ? 100000 : LARGE;
		BUF_AUTO back = BUF_INIT(LARGE);
		struct err e = ERR_INIT;

		check_ok(put("a/b", bytes, size, steps[i], &e), &e);
		check_ok(get("a/b", 0, INT64_MAX, &back, NULL, &e), &e);
		assert_int_equal(back.size, size);
		assert_memory_equal(back.data, bytes, size);
	}
	free(bytes);
	remove_it("a");
}

static void
part_of_a_file_is_what_was_asked_for(void **state)
{
	BUF_AUTO back = BUF_INIT(100);
	struct wire_stat stat;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(put("f", "0123456789", 10, 10, &e), &e);
	check_ok(get("f", 3, 4, &back, &stat, &e), &e);
	assert_string_equal(back.data, "3456");
	assert_int_equal(stat.size, 10);
	assert_int_equal(stat.mode, 0644);
	assert_int_equal(stat.type, WIRE_TYPE_FILE);
	buf_reset(&back);
	check_ok(get("f", 8, 100, &back, &stat, &e), &e);
	assert_string_equal(back.data, "89");
	remove_it("f");
}

/* The same as what can be asked for, which can be still. */
static void
open_file_comes_along(void **state)
{
	struct wire_file rq = request(WIRE_FILE_GET, "f");
	struct wire_stat stat;
	struct err e = ERR_INIT;
	const char *bytes;
	char own[5] = "";
	size_t size;

	(void)state;
	check_ok(put("f", "0123456789", 10, 10, &e), &e);
	struct guest_file *f = start(&rq);
	assert_int_equal(guest_file_opened(f), -1);
	assert_int_equal(guest_file_stat(f, &stat, &e), 1);
	int fd = guest_file_opened(f);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, own, 4, 3), 4);
	assert_string_equal(own, "3456");
	check_ok(guest_file_check(f, &e), &e);
	check_ok(guest_file_read(f, 3, 4, &e), &e);
	assert_int_equal(guest_file_opened(f), -1);
	assert_int_equal(guest_file_next(f, &bytes, &size, &e), 1);
	assert_int_equal(size, 4);
	assert_memory_equal(bytes, own, 4);
	guest_file_free(f);
	remove_it("f");
}

static void
empty_file_has_no_bytes(void **state)
{
	BUF_AUTO back = BUF_INIT(100);
	struct wire_stat stat;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(put("empty", "", 0, 1, &e), &e);
	check_ok(get("empty", 0, INT64_MAX, &back, &stat, &e), &e);
	assert_int_equal(back.size, 0);
	assert_int_equal(stat.size, 0);
	remove_it("empty");
}

static void
entries_and_stats_are_told(void **state)
{
	struct wire_file rq = request(WIRE_FILE_MKDIR, "d/sub");
	struct wire_stat stat;
	struct err e = ERR_INIT;
	int count = 0, rc;

	(void)state;
	check_ok(change(&rq, &e), &e);
	check_ok(put("d/f", "x", 1, 1, &e), &e);
	assert_int_equal(symlink("f", pid1_inside(&run, "/work/d/link")), 0);
	rq = request(WIRE_FILE_LIST, "d");
	struct guest_file *f = start(&rq);
	while ((rc = guest_file_stat(f, &stat, &e)) == 1) {
		enum wire_file_type type =
		    str_eq(stat.name, "sub")	? WIRE_TYPE_DIRECTORY
		    : str_eq(stat.name, "f")	? WIRE_TYPE_FILE
		    : str_eq(stat.name, "link") ? WIRE_TYPE_SYMLINK
						: 0;
		assert_int_equal(stat.type, type);
		if (type == WIRE_TYPE_SYMLINK)
			assert_string_equal(stat.target, "f");
		count++;
	}
	check_ok(rc, &e);
	assert_int_equal(count, 3);
	guest_file_free(f);
	rq = request(WIRE_FILE_STAT, "d/link");
	f = start(&rq);
	assert_int_equal(guest_file_stat(f, &stat, &e), 1);
	assert_int_equal(stat.type, WIRE_TYPE_SYMLINK);
	assert_int_equal(guest_file_stat(f, &stat, &e), 0);
	guest_file_free(f);
	remove_it("d");
}

static void
file_moves_with_its_bytes(void **state)
{
	struct wire_file rq = request(WIRE_FILE_MOVE, "one");
	BUF_AUTO back = BUF_INIT(100);
	struct err e = ERR_INIT;

	(void)state;
	check_ok(put("one", "bytes", 5, 5, &e), &e);
	rq.to = "two";
	check_ok(change(&rq, &e), &e);
	check_ok(get("two", 0, 100, &back, NULL, &e), &e);
	assert_string_equal(back.data, "bytes");
	check_fails(change(&rq, &e), &e, ERR_FILE_ABSENT);
	assert_string_equal(e.text, "No such file: one");
	remove_it("two");
}

static void
refusals_name_what_was_asked_for(void **state)
{
	BUF_AUTO back = BUF_INIT(100);
	struct wire_file rq = request(WIRE_FILE_REMOVE, "dir");
	struct err e = ERR_INIT;

	(void)state;
	check_fails(
	    get("no/such\nfile", 0, 1, &back, NULL, &e), &e, ERR_FILE_ABSENT);
	assert_string_equal(e.text, "No such file: no/such file");
	check_ok(put("dir/f", "x", 1, 1, &e), &e);
	check_fails(get("dir", 0, 1, &back, NULL, &e), &e, ERR_FILE_DIRECTORY);
	check_fails(put("dir", "x", 1, 1, &e), &e, ERR_FILE_DIRECTORY);
	check_fails(put("dir/f/g", "x", 1, 1, &e), &e, ERR_FILE_NOT_DIRECTORY);
	check_fails(change(&rq, &e), &e, ERR_FILE_NOT_EMPTY);
	assert_int_equal(
	    symlink("/etc", pid1_inside(&run, "/work/dir/out")), 0);
	check_fails(
	    get("dir/out/passwd", 0, 1, &back, NULL, &e), &e, ERR_FILE_ESCAPES);
	assert_int_equal(mkfifo(pid1_inside(&run, "/work/dir/fifo"), 0644), 0);
	check_fails(
	    get("dir/fifo", 0, 1, &back, NULL, &e), &e, ERR_FILE_SPECIAL);
	rq.recursive = true;
	check_ok(change(&rq, &e), &e);
	assert_int_equal(back.size, 0);
}

static void
what_is_over_the_limit_is_refused_in_the_middle(void **state)
{
	static char bytes[LARGE];
	struct wire_file rq = request(WIRE_FILE_PUT, "big");
	struct err e = ERR_INIT;
	struct guest_file *f;
	int rc;

	(void)state;
	rq.limit = 100000;
	f = start(&rq);
	rc = guest_file_send(f, bytes, sizeof(bytes), &e);
	if (rc == 0)
		rc = guest_file_end(f, &e);
	check_fails(rc, &e, ERR_TOO_LARGE);
	guest_file_free(f);
	assert_int_equal(access(pid1_inside(&run, "/work/big"), F_OK), -1);
}

static void
upload_that_is_cut_leaves_the_old_file(void **state)
{
	static char bytes[LARGE];
	struct wire_file rq = request(WIRE_FILE_PUT, "kept");
	BUF_AUTO back = BUF_INIT(100);
	struct err e = ERR_INIT;

	(void)state;
	check_ok(put("kept", "old", 3, 3, &e), &e);
	struct guest_file *f = start(&rq);
	check_ok(guest_file_send(f, bytes, sizeof(bytes), &e), &e);
	guest_file_free(f);
	wait_until(pid1_children(&run) == 0, PATIENCE_MS);
	check_ok(get("kept", 0, 100, &back, NULL, &e), &e);
	assert_string_equal(back.data, "old");
	remove_it("kept");
}

/* What came of an admission that a grant has overtaken. */
static void
late_change_is_superseded(void **state)
{
	struct wire_file rq = request(WIRE_FILE_MKDIR, "late");
	uint64_t known = 0;
	bool done = false;
	struct err e = ERR_INIT;

	(void)state;
	rq.generation = 4;
	check_ok(guest_fence(NULL, &place, 5, &done, &known, &e), &e);
	assert_true(done);
	check_fails(change(&rq, &e), &e, ERR_LEASE_SUPERSEDED);
	rq.generation = 5;
	check_ok(change(&rq, &e), &e);
	rq.what = WIRE_FILE_REMOVE;
	check_ok(change(&rq, &e), &e);
}

/* A GET that was not told what to read says nothing more. */
static void
waits_end_with_patience(void **state)
{
	struct wire_file rq = request(WIRE_FILE_GET, "f");
	struct guest_patience how = {-1, PATIENCE_MS};
	struct wire_stat stat;
	struct err e = ERR_INIT;
	const char *bytes;
	size_t size;
	int fd[2];

	(void)state;
	check_ok(put("f", "x", 1, 1, &e), &e);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	for (int left = 0; left < 2; left++) {
		how.other_fd = fd[0];
		how.timeout_ms = left ? PATIENCE_MS : 1500;
		struct guest_file *f =
		    guest_file_open(NULL, &place, &rq, &how, &e);
		assert_non_null(f);
		assert_int_equal(guest_file_stat(f, &stat, &e), 1);
		if (left)
			fd_close(&fd[1]);
		check_fails(guest_file_next(f, &bytes, &size, &e), &e,
		    left ? ERR_GONE_AWAY : ERR_GUEST);
		guest_file_free(f);
	}
	fd_close(&fd[0]);
	remove_it("f");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(file_comes_back_as_it_went),
	    cmocka_unit_test(part_of_a_file_is_what_was_asked_for),
	    cmocka_unit_test(open_file_comes_along),
	    cmocka_unit_test(empty_file_has_no_bytes),
	    cmocka_unit_test(entries_and_stats_are_told),
	    cmocka_unit_test(file_moves_with_its_bytes),
	    cmocka_unit_test(refusals_name_what_was_asked_for),
	    cmocka_unit_test(what_is_over_the_limit_is_refused_in_the_middle),
	    cmocka_unit_test(upload_that_is_cut_leaves_the_old_file),
	    cmocka_unit_test(waits_end_with_patience),
	    /* What has no generation is refused after it. */
	    cmocka_unit_test(late_change_is_superseded),
	};

	return cmocka_run_group_tests(tests, open_run, close_run);
}
