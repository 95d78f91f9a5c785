/* Files of a run whose container has ended (CONTRACT 2, 4): they can still be
 * read, by the rules that held while it ran. */
#include "harness.h"
#include "lib/tar.h"

#include <stdio.h>
#include <string.h>

#define END_MS 60000

static char run[ULID_SIZE]; /* ended before the first test */
static char big[ULID_SIZE]; /* so did that, with fill_big */

/* A page of every kind of file, and links in and out. */
static const char fill[] =
    "set -e; cd /work; printf 'hello sandbox' >a; mkdir -p d/e; "
    "printf deep >d/e/x; ln a d/hard; mkfifo fifo; ln -s d/e in; "
    "ln -s /work/d/e/x abs; ln -s /etc/passwd out; ln -s ../etc up; "
    ": >empty; chmod 640 d/e/x; mkdir l; ln -s loop l/loop; "
    "ln -s ../a/b l/under; mkdir \"$(printf 'l/\\377')\"; "
    "printf most >\"$(printf 'l/\\377/odd')\"; "
    "ln -s odd \"$(printf 'l/\\377/\\376')\"; "
    "printf odd >\"$(printf '\\303\\251 %%41?#+&\\n\\377')\"; "
    "mkdir many; cd many; "
    "i=0; while [ $i -lt 300 ]; do printf $i >f$i; i=$((i+1)); done";

/* What is read of it, the engine reads from the beginning. */
static const char fill_big[] =
    "set -e; cd /work; printf 'hello sandbox' >a; "
    "dd if=/dev/zero of=huge bs=1 count=0 seek=2147483648 2>/dev/null; "
    "printf end >>huge";

/* Its PID 1 is killed behind the stack's back. */
static void
end_run(const char *id)
{
	char name[ULID_SIZE], path[100];

	(void)snprintf(name, sizeof(name), "%s", id);
	str_lower(name);
	(void)snprintf(
	    path, sizeof(path), "/containers/teploy-sbx-%s/kill", name);
	REPLY_AUTO r = docker_do("POST", path, NULL);
	assert_int_equal(r.status, 204);
}

static void
make_ended(const char *image, const char *script, char id[ULID_SIZE])
{
	run_new(image, id);
	EXECUTED_AUTO x = exec_sh(id, script);
	assert_string_equal(x.err.data, "");
	assert_int_equal(exit_code(&x), 0);
	end_run(id);
}

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	make_ended(IMAGE_PLAIN, fill, run);
	make_ended(IMAGE_PLAIN, fill_big, big);
	return 0;
}

static int
teardown(void **state)
{
	run_end(run);
	run_end(big);
	return stack_stop(state);
}

/* "/v1/runs/ID/files/what" in a static buffer. */
static const char *
file(const char *id, const char *what)
{
	static char url[4096];

	(void)snprintf(url, sizeof(url), "/v1/runs/%s/files%s%s", id,
	    what[0] == '?' || what[0] == '\0' ? "" : "/", what);
	return url;
}

static void
check_bytes(const char *path, const char *want)
{
	REPLY_AUTO r = http_do("GET", file(run, path), NULL, NULL);

	assert_int_equal(r.status, 200);
	assert_string_equal(http_header(&r.headers, "Content-Type"),
	    "application/octet-stream");
	assert_int_equal(r.body.size, strlen(want));
	assert_string_equal(r.body.data, want);
}

static void
what_was_written_is_read_when_the_run_has_ended(void **state)
{
	(void)state;
	check_bytes("a", "hello sandbox");
	check_bytes("d/e/x", "deep");
	check_bytes("d/hard", "hello sandbox");
	check_bytes("empty", "");
	check_bytes("%C3%A9%20%2541%3F%23+%26%0A%FF", "odd");
	check_bytes("l/%FF/odd", "most");
	check_bytes("l/%FF/%FE", "most");
	REPLY_AUTO r = http_do("GET", run_url(run, ""), NULL, NULL);
	assert_string_equal(
	    json_string_value(json_at(r.json, "state")), "exited");
}

/* The end of a run is noticed by whoever comes first. */
static void
a_read_right_after_the_end_finds_the_files(void **state)
{
	static char other[ULID_SIZE];

	(void)state;
	make_ended(IMAGE_USER, fill, other);
	REPLY_AUTO r = http_do("GET", file(other, "in/x"), NULL, NULL);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body.data, "deep");
	REPLY_AUTO list = http_do("GET", file(other, "d?list=1"), NULL, NULL);
	assert_int_equal(list.status, 200);
	run_end(other);
	REPLY_AUTO gone = http_do("GET", file(other, "a"), NULL, NULL);
	check_problem(&gone, 404, "run_not_found", other);
}

static void
ranges_heads_and_versions_work_as_ever(void **state)
{
	char etag[64], line[100];

	(void)state;
	REPLY_AUTO head = http_do("HEAD", file(run, "a"), NULL, NULL);
	assert_int_equal(head.status, 200);
	assert_string_equal(http_header(&head.headers, "Content-Length"), "13");
	assert_non_null(http_header(&head.headers, "Last-Modified"));
	assert_int_equal(head.body.size, 0);
	(void)snprintf(
	    etag, sizeof(etag), "%s", http_header(&head.headers, "ETag"));
	(void)snprintf(line, sizeof(line), "If-None-Match: %s", etag);
	REPLY_AUTO same = http_do("GET", file(run, "a"), NULL, line, NULL);
	assert_int_equal(same.status, 304);
	REPLY_AUTO part =
	    http_do("GET", file(run, "a"), NULL, "Range: bytes=6-9", NULL);
	assert_int_equal(part.status, 206);
	assert_string_equal(part.body.data, "sand");
	assert_string_equal(
	    http_header(&part.headers, "Content-Range"), "bytes 6-9/13");
	REPLY_AUTO none =
	    http_do("GET", file(run, "a"), NULL, "Range: bytes=13-", NULL);
	check_problem(&none, 416, "range_not_satisfiable", "13");
}

static void
links_are_followed_inside_and_refused_outside(void **state)
{
	static const char *const out[] = {
	    "out", "up", "up/passwd", "up?list=1", "up?archive=tar"};

	(void)state;
	check_bytes("in/x", "deep");
	check_bytes("abs", "deep");
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		REPLY_AUTO r = http_do("GET", file(run, out[i]), NULL, NULL);

		check_problem(&r, 403, "path_escapes", "");
	}
	REPLY_AUTO loop = http_do("GET", file(run, "l/loop"), NULL, NULL);
	assert_int_equal(loop.status, 400);
	REPLY_AUTO under = http_do("GET", file(run, "l/under"), NULL, NULL);
	check_problem(&under, 409, "not_a_directory", "l/under");
}

/* gVisor's fifos are in its memory, and end with the run. */
static bool
ended_too(const char *name)
{
	return str_eq(name, "fifo") && stack_gvisor();
}

static void
what_is_no_file_is_answered_at_once(void **state)
{
	static const struct {
		const char *path, *code, *detail;
		long status;
	} rows[] = {{"none", "file_not_found", "No such file: none", 404},
	    {"d/none/x", "file_not_found", "No such file: d/none/x", 404},
	    {"d", "is_a_directory", "d", 409},
	    {"fifo", "not_a_file", "fifo", 400},
	    {"a/b", "not_a_directory", "a/b", 409},
	    {"a?list=1", "not_a_directory", "a file", 409}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (ended_too(rows[i].path))
			continue;
		REPLY_AUTO r =
		    http_do("GET", file(run, rows[i].path), NULL, NULL);

		check_problem(&r, rows[i].status, rows[i].code, rows[i].detail);
	}
}

static void
changes_are_refused(void **state)
{
	static const struct {
		const char *method, *path;
	} rows[] = {{"PUT", "a"}, {"DELETE", "a"}, {"POST", "new?mkdir=1"},
	    {"POST", "a?move=b"}, {"PUT", "new?archive=tar"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		REPLY_AUTO r =
		    http_do(rows[i].method, file(run, rows[i].path), "", NULL);

		check_problem(&r, 409, "run_not_running", "");
	}
}

/* The entry of a list with that name. */
static const json_t *
entry(const json_t *list, const char *name)
{
	size_t i;
	json_t *one;

	json_array_foreach(json_object_get(list, "entries"), i, one)
	{
		if (str_eq(json_string_value(json_at(one, "name")), name))
			return one;
	}
	fail_msg("no entry %s", name);
	return NULL;
}

static void
lists_and_stats_tell_what_is_there(void **state)
{
	static const struct {
		const char *name, *type;
		int size;
	} rows[] = {{"a", "file", 13}, {"d", "directory", 0},
	    {"fifo", "fifo", 0}, {"out", "symlink", 0}, {"empty", "file", 0}};

	(void)state;
	REPLY_AUTO list = http_do("GET", file(run, "?list=1"), NULL, NULL);
	assert_int_equal(list.status, 200);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (ended_too(rows[i].name))
			continue;
		const json_t *one = entry(list.json, rows[i].name);

		assert_string_equal(
		    json_string_value(json_at(one, "type")), rows[i].type);
		assert_int_equal(
		    json_integer_value(json_at(one, "size")), rows[i].size);
	}
	assert_string_equal(
	    json_string_value(json_at(entry(list.json, "out"), "target")),
	    "/etc/passwd");
	REPLY_AUTO d = http_do("GET", file(run, "d?list=1"), NULL, NULL);
	assert_int_equal(
	    json_integer_value(json_at(entry(d.json, "hard"), "size")), 13);
	REPLY_AUTO many = http_do("GET", file(run, "many?list=1"), NULL, NULL);
	assert_int_equal(
	    json_array_size(json_object_get(many.json, "entries")), 300);
	REPLY_AUTO odd = http_do("GET", file(run, "l/%FF?list=1"), NULL, NULL);
	assert_int_equal(
	    json_integer_value(json_at(entry(odd.json, "odd"), "size")), 4);
	REPLY_AUTO x = http_do("GET", file(run, "d/e/x?stat=1"), NULL, NULL);
	assert_int_equal(x.status, 200);
	assert_string_equal(json_string_value(json_at(x.json, "mode")), "0640");
	REPLY_AUTO l = http_do("GET", file(run, "l/loop?stat=1"), NULL, NULL);
	assert_string_equal(
	    json_string_value(json_at(l.json, "target")), "loop");
}

static void
a_tree_comes_as_an_archive(void **state)
{
	BUF_AUTO names = BUF_INIT(4096);
	struct tar_reader tar;
	struct tar_entry one;
	const char *content;
	size_t size, at = 0, used;
	struct err e = ERR_INIT;
	int event;

	(void)state;
	REPLY_AUTO r = http_do("GET", file(run, "d?archive=tar"), NULL, NULL);
	assert_int_equal(r.status, 200);
	tar_reader_init(&tar);
	do {
		event = tar_next(&tar, r.body.data + at, r.body.size - at,
		    &used, &one, &content, &size, &e);
		check_ok(event, &e);
		at += used;
		if (event == TAR_HEADER)
			buf_addf(&names, "%s ", one.name);
		if (event == TAR_CONTENT)
			buf_addf(&names, "[%.*s] ", (int)size, content);
	} while (event != TAR_END && event != TAR_MORE);
	assert_int_equal(event, TAR_END);
	assert_string_equal(names.data, "e e/x [deep] hard [hello sandbox] ");
	tar_reader_release(&tar);
}

/* -- size ------------------------------------------------------------------ */

static int64_t
workers_kb(void)
{
	pid_t pids[16];
	size_t count = stack_pids(STACK_STREAM, pids, 16);
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += proc_private_kb(pids[i]);
	return sum;
}

static void
the_end_of_a_huge_file_is_read_with_flat_memory(void **state)
{
	int64_t before = workers_kb();

	(void)state;
	REPLY_AUTO r = http_do(
	    "GET", file(big, "huge"), NULL, "Range: bytes=2147483646-", NULL);
	assert_int_equal(r.status, 206);
	assert_int_equal(r.body.size, 5);
	assert_memory_equal(r.body.data, "\0\0end", 5);
	assert_true(workers_kb() < before + 8 * 1024);
}

/* The engine holds a container for as long as it is read from: it must not be
 * by who does not read. */
static void
a_reader_that_does_not_read_holds_up_nobody(void **state)
{
	static char other[ULID_SIZE];

	(void)state;
	make_ended(IMAGE_PLAIN, fill_big, other);
	struct stream *s = stream_get(file(other, "huge"), NULL);
	assert_int_equal(stream_status(s), 200);
	REPLY_AUTO r = http_do("GET", file(other, "a"), NULL, NULL);
	assert_int_equal(r.status, 200);
	run_end(other);
	stream_close(s);
}

static void
a_reader_that_leaves_is_let_go(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct stream *s = stream_get(file(big, "huge"), NULL);

		assert_int_equal(stream_status(s), 200);
		stream_close(s);
	}
	REPLY_AUTO a = http_do("GET", file(big, "a"), NULL, NULL);
	assert_int_equal(a.status, 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_written_is_read_when_the_run_has_ended),
	    cmocka_unit_test(a_read_right_after_the_end_finds_the_files),
	    cmocka_unit_test(ranges_heads_and_versions_work_as_ever),
	    cmocka_unit_test(links_are_followed_inside_and_refused_outside),
	    cmocka_unit_test(what_is_no_file_is_answered_at_once),
	    cmocka_unit_test(changes_are_refused),
	    cmocka_unit_test(lists_and_stats_tell_what_is_there),
	    cmocka_unit_test(a_tree_comes_as_an_archive),
	    cmocka_unit_test(the_end_of_a_huge_file_is_read_with_flat_memory),
	    cmocka_unit_test(a_reader_that_does_not_read_holds_up_nobody),
	    cmocka_unit_test(a_reader_that_leaves_is_let_go),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
