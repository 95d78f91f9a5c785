/* Files below /work (CONTRACT 4): what is written, read, listed and moved. */
#include "files.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

static char run[ULID_SIZE];

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	return 0;
}

static int
with_run(void **state)
{
	(void)state;
	run_new(IMAGE_PLAIN, run);
	return 0;
}

static int
without_run(void **state)
{
	(void)state;
	run_end(run);
	return 0;
}

static void
check_sh(const char *cmd, const char *want)
{
	char *out = file_sh(run, cmd);

	assert_string_equal(out, want);
	free(out);
}

static const char *
text(const json_t *json, const char *path)
{
	const char *value = json_string_value(json_at(json, path));

	assert_non_null(value);
	return value;
}

/* -- content ------------------------------------------------------------- */

static void
what_is_put_is_got_and_seen_by_commands(void **state)
{
	(void)state;
	file_put(run, "a.txt", "one\n");
	file_is(run, "a.txt", "one\n");
	check_sh("cat a.txt; stat -c %a a.txt", "one\n644\n");
	check_sh("echo two >>a.txt; chmod 751 a.txt", "");
	file_is(run, "a.txt", "one\ntwo\n");
	/* Replaced, with the mode that it had. */
	file_put(run, "a.txt", "three\n");
	check_sh("cat a.txt; stat -c %a a.txt", "three\n751\n");
	file_put(run, "deep/er/b.txt", "");
	file_is(run, "deep/er/b.txt", "");
	check_sh("stat -c '%a %s' deep/er deep/er/b.txt | head -1 | cut -c1-3",
	    "755\n");
}

/* Cases 88: there at once, each time. */
static void
a_file_is_there_for_the_next_command(void **state)
{
	char want[32];

	(void)state;
	for (int i = 0; i < 50; i++) {
		(void)snprintf(want, sizeof(want), "%d", i);
		file_put(run, "f", want);
		check_sh("cat f", want);
	}
}

static void
every_byte_comes_back(void **state)
{
	char bytes[256 * 300];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i % 256 ^ i / 256);
	REPLY_AUTO put = file_send(run, "bytes", bytes, sizeof(bytes));
	assert_int_equal(put.status, 204);
	assert_int_equal(put.body.size, 0);
	REPLY_AUTO r = file_do("GET", run, "bytes");
	assert_int_equal(r.status, 200);
	assert_int_equal(r.body.size, sizeof(bytes));
	assert_memory_equal(r.body.data, bytes, sizeof(bytes));
	assert_string_equal(http_header(&r.headers, "Content-Type"),
	    "application/octet-stream");
}

/* Cases 21: one decoding, of the raw target. */
static void
names_are_decoded_exactly_once(void **state)
{
	static const char *const names[][2] = {
	    {"report%2520name.txt", "report%20name.txt"},
	    {"report%20name.txt", "report name.txt"}, {"a%3Fb", "a?b"},
	    {"a%23b", "a#b"}, {"a+b", "a+b"}, {"a%2Bc", "a+c"},
	    {"%C3%A9", "\303\251"}, {"e%CC%81", "e\314\201"}, {"n%0Al", "n\nl"},
	    {"...", "..."}, {"..a", "..a"}, {"%5C%22%27%24", "\\\"'$"},
	    {"d%2Fe", "d/e"}, {"%FF%01%7F", "\377\001\177"}, {"-rf", "-rf"},
	    {"d%25%32%66f", "d%2ff"}};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		file_put(run, names[i][0], names[i][1]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		file_is(run, names[i][0], names[i][1]);
	/* Each has itself as its content. */
	check_sh("n=0; for f in * ... ..a d/*; do [ -f \"$f\" ] && "
		 "[ \"$f\" = \"$(cat ./\"$f\")\" ] && n=$((n+1)); done; "
		 "echo $n",
	    "16\n");
}

static void
paths_that_are_no_paths_are_refused(void **state)
{
	static const char *const bad[] = {"..", "%2e%2e", "a/../b", "..%2fa",
	    ".", "a/./b", "a//b", "%2fa", "a/"};
	char path[9000];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		file_fails("GET", run, bad[i], 400, "invalid_path", NULL);
		file_fails("PUT", run, bad[i], 400, "invalid_path", NULL);
		file_fails("DELETE", run, bad[i], 400, "invalid_path", NULL);
	}
	REPLY_AUTO nul = file_do("GET", run, "x%00y");
	check_problem(&nul, 400, NULL, NULL);
	memset(path, 'n', sizeof(path));
	path[256] = '\0';
	file_fails("PUT", run, path, 400, "invalid_path", "255");
	path[256] = 'n';
	for (size_t i = 0; i < sizeof(path); i += 2)
		path[i] = '/';
	path[4098] = '\0';
	file_fails("GET", run, path + 1, 400, "invalid_path", "4095");
	path[4098] = '/';
	path[8999] = '\0';
	file_fails("GET", run, path + 1, 414, "uri_too_long", NULL);
}

static void
a_path_may_be_as_long_as_the_kernel_takes(void **state)
{
	char path[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 ? '/' : 'd';
	path[4095] = '\0';
	path[4094] = 'f';
	file_put(run, path, "deep");
	file_is(run, path, "deep");
	path[200] = '\0';
	path[199] = 'x';
	file_put(run, path, "less deep");
	file_is(run, path, "less deep");
	file_fails("DELETE", run, "d", 409, "directory_not_empty", NULL);
	REPLY_AUTO r = file_do("DELETE", run, "d?recursive=1");
	assert_int_equal(r.status, 204);
}

/* Cases 85. */
static void
what_is_no_file_is_told_apart(void **state)
{
	(void)state;
	file_put(run, "a.txt", "a");
	check_sh("mkdir dir; mkfifo fifo; ln -s nowhere dangling; "
		 "ln -s a.txt link; ln -s loop loop; nc -l -U s & sleep 0; "
		 ":",
	    "");
	file_fails(
	    "GET", run, "none", 404, "file_not_found", "No such file: none");
	file_fails(
	    "GET", run, "no/ne", 404, "file_not_found", "No such file: no/ne");
	file_fails("GET", run, "dangling", 404, "file_not_found", NULL);
	file_fails("GET", run, "dir", 409, "is_a_directory", "dir");
	file_fails("GET", run, "", 409, "is_a_directory", NULL);
	file_fails("PUT", run, "dir", 409, "is_a_directory", NULL);
	file_fails("PUT", run, "", 409, "is_a_directory", NULL);
	file_fails("PUT", run, "a.txt/b", 409, "not_a_directory", NULL);
	file_fails("GET", run, "a.txt/b", 409, "not_a_directory", NULL);
	file_fails("GET", run, "fifo", 400, "not_a_file", NULL);
	file_fails("PUT", run, "fifo", 400, "not_a_file", NULL);
	file_fails("GET", run, "loop", 400, NULL, NULL);
	file_fails("DELETE", run, "none", 404, "file_not_found", NULL);
	file_is(run, "link", "a");
	file_is(run, "a.txt", "a");
}

/* Cases 22. */
static void
links_that_lead_out_are_refused(void **state)
{
	(void)state;
	check_sh("ln -s / l; ln -s /etc/passwd p; ln -s .. up; mkdir d; "
		 "ln -s /work/d in; ln -s ../d/x d/rel; printf x >d/x; "
		 "ln -s ../work/d round",
	    "");
	file_fails("GET", run, "p", 403, "path_escapes", NULL);
	file_fails("GET", run, "l/etc/passwd", 403, "path_escapes", NULL);
	file_fails("GET", run, "up/etc/passwd", 403, "path_escapes", NULL);
	file_fails("PUT", run, "l/tmp/x", 403, "path_escapes", NULL);
	file_fails("PUT", run, "p", 403, "path_escapes", NULL);
	file_fails("PUT", run, "up/tmp/x", 403, "path_escapes", NULL);
	file_fails("GET", run, "l?list=1", 403, "path_escapes", NULL);
	file_fails("GET", run, "l?archive=tar", 403, "path_escapes", NULL);
	file_fails("POST", run, "l/tmp/x?mkdir=1", 403, "path_escapes", NULL);
	file_fails("POST", run, "d/x?move=l/tmp/x", 403, "path_escapes", NULL);
	file_fails("DELETE", run, "l/tmp", 403, "path_escapes", NULL);
	check_sh("ls /tmp/x 2>/dev/null; cat d/x", "x");
	/* Those that stay inside are followed; PUT writes their target. */
	file_is(run, "in/x", "x");
	file_is(run, "d/rel", "x");
	file_put(run, "in/rel", "y");
	check_sh("cat d/x; readlink d/rel", "y../d/x\n");
	/* A link is deleted, not what it names. */
	REPLY_AUTO r = file_do("DELETE", run, "l");
	assert_int_equal(r.status, 204);
	check_sh("ls -d /etc; ls -d l 2>/dev/null; :", "/etc\n");
}

/* Cases 23. */
static void
files_belong_to_the_images_user(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_new(IMAGE_USER, id);
	file_put(id, "sub/a.txt", "mine\n");
	char *out = file_sh(id,
	    "cd sub; stat -c '%u %a' a.txt .; echo x >>a.txt; mv a.txt b.txt; "
	    "cat b.txt");
	assert_string_equal(out, "1000 644\n1000 755\nmine\nx\n");
	free(out);
	EXECUTED_AUTO x = exec_json(
	    id, json_pack("{s:s,s:s}", "user", "0", "cmd",
		    "umask 077; echo no >root; mkdir dir; mkdir dir/sub"));
	assert_int_equal(exit_code(&x), 0);
	file_fails("GET", id, "root", 403, "permission_denied", NULL);
	file_fails("PUT", id, "dir/x", 403, "permission_denied", NULL);
	file_fails("GET", id, "dir?list=1", 403, "permission_denied", NULL);
	run_end(id);
}

/* -- directories --------------------------------------------------------- */

static void
a_list_tells_what_is_there(void **state)
{
	(void)state;
	check_sh("printf hello >f; chmod 600 f; mkdir d; chmod 1777 d; "
		 "mkfifo p; ln -s 'some where' l; "
		 "touch -d '2001-02-03 04:05:06' f; "
		 "touch \"$(printf 'a\\377b')\"",
	    "");
	REPLY_AUTO r = file_do("GET", run, "?list=1");
	assert_int_equal(r.status, 200);
	assert_string_equal(text(r.json, "server"), "test-box");
	assert_int_equal(json_array_size(json_at(r.json, "entries")), 5);
	const json_t *f = file_entry(&r, "f");
	assert_string_equal(text(f, "type"), "file");
	assert_string_equal(text(f, "mode"), "0600");
	assert_int_equal(json_integer_value(json_at(f, "size")), 5);
	assert_string_equal(text(f, "mtime"), "2001-02-03T04:05:06.000Z");
	assert_null(json_object_get(f, "target"));
	assert_null(json_object_get(f, "nameBase64"));
	assert_string_equal(text(file_entry(&r, "d"), "type"), "directory");
	assert_string_equal(text(file_entry(&r, "d"), "mode"), "1777");
	assert_string_equal(text(file_entry(&r, "p"), "type"), "fifo");
	assert_string_equal(text(file_entry(&r, "l"), "type"), "symlink");
	assert_string_equal(text(file_entry(&r, "l"), "target"), "some where");
	/* A name that is no text comes a second time, exact. */
	const json_t *odd = file_entry(&r, "a\357\277\275b");
	assert_string_equal(text(odd, "nameBase64"), "Yf9i");
	REPLY_AUTO empty = file_do("GET", run, "d?list=1");
	assert_int_equal(json_array_size(json_at(empty.json, "entries")), 0);
	file_fails("GET", run, "f?list=1", 409, "not_a_directory",
	    "a file, and not a directory: f");
	file_fails("GET", run, "x?list=1", 404, "file_not_found", NULL);
	REPLY_AUTO head = file_do("HEAD", run, "?list=1");
	assert_int_equal(head.status, 200);
	assert_int_equal(head.body.size, 0);
}

static void
a_huge_directory_is_listed_whole(void **state)
{
	(void)state;
	check_sh("mkdir many; cd many; "
		 "seq 20000 | sed s/^/a-name-that-is-not-too-short-/ | "
		 "xargs touch; ls | wc -l",
	    "20000\n");
	REPLY_AUTO r = file_do("GET", run, "many?list=1");
	assert_int_equal(r.status, 200);
	assert_int_equal(json_array_size(json_at(r.json, "entries")), 20000);
	assert_non_null(file_entry(&r, "a-name-that-is-not-too-short-1"));
	assert_non_null(file_entry(&r, "a-name-that-is-not-too-short-20000"));
}

static void
a_stat_tells_of_one_entry(void **state)
{
	char *etag;

	(void)state;
	file_put(run, "d/f", "hello");
	check_sh("ln -s f d/l", "");
	REPLY_AUTO f = file_do("GET", run, "d/f?stat=1");
	assert_int_equal(f.status, 200);
	assert_string_equal(text(f.json, "name"), "f");
	assert_string_equal(text(f.json, "type"), "file");
	assert_string_equal(text(f.json, "mode"), "0644");
	assert_int_equal(json_integer_value(json_at(f.json, "size")), 5);
	assert_string_equal(text(f.json, "server"), "test-box");
	etag = strdup(text(f.json, "etag"));
	REPLY_AUTO head = file_do("HEAD", run, "d/f");
	assert_string_equal(http_header(&head.headers, "ETag"), etag);
	free(etag);
	/* Of the link itself. */
	REPLY_AUTO l = file_do("GET", run, "d/l?stat=1");
	assert_string_equal(text(l.json, "type"), "symlink");
	assert_string_equal(text(l.json, "target"), "f");
	REPLY_AUTO d = file_do("GET", run, "d?stat=1");
	assert_string_equal(text(d.json, "type"), "directory");
	REPLY_AUTO work = file_do("GET", run, "?stat=1");
	assert_int_equal(work.status, 200);
	assert_string_equal(text(work.json, "type"), "directory");
	file_fails(
	    "GET", run, "x?stat=1", 404, "file_not_found", "No such file: x");
}

static long
do_status(const char *method, const char *what)
{
	REPLY_AUTO r = file_do(method, run, what);

	return r.status;
}

static void
directories_are_made_moved_and_deleted(void **state)
{
	(void)state;
	assert_int_equal(do_status("POST", "d/e?mkdir=1"), 204);
	assert_int_equal(do_status("POST", "d/e?mkdir=true"), 204);
	check_sh("stat -c '%F %a' d/e", "directory 755\n");
	file_put(run, "d/e/f", "f");
	file_fails("POST", run, "d/e/f?mkdir=1", 409, "already_exists", NULL);
	assert_int_equal(
	    do_status("POST", "d/e?move=new/place%2Bto%20be"), 204);
	file_is(run, "new/place+to%20be/f", "f");
	file_fails("POST", run, "d/e?move=x", 404, "file_not_found", NULL);
	/* A file replaces a file, atomically. */
	file_put(run, "g", "g");
	assert_int_equal(do_status("POST", "g?move=new/place%2Bto+be/f"), 204);
	file_is(run, "new/place+to%20be/f", "g");
	file_fails("DELETE", run, "new", 409, "directory_not_empty", NULL);
	assert_int_equal(do_status("DELETE", "new?recursive=1"), 204);
	assert_int_equal(do_status("DELETE", "d"), 204);
	check_sh("ls -A", "");
}

static void
what_cannot_be_asked_is_refused(void **state)
{
	static const char *const bad[][3] = {{"POST", "f", "mkdir=1"},
	    {"POST", "f?mkdir=0", "mkdir=1"},
	    {"POST", "f?mkdir=1&move=g", "together"},
	    {"POST", "f?mkdir=yes", "mkdir"}, {"POST", "f?move=/etc", "'/'"},
	    {"POST", "f?move=%zz", "move"}, {"GET", "f?list=2", "list"},
	    {"GET", "f?list=1&stat=1", "together"},
	    {"GET", "f?archive=zip", "tar"}, {"PUT", "f?archive=zip", "tar"},
	    {"DELETE", "f?recursive=x", "recursive"}};

	(void)state;
	file_put(run, "f", "f");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		file_fails(
		    bad[i][0], run, bad[i][1], 400, "invalid_input", bad[i][2]);
	file_fails("POST", run, "f?move=a/../b", 400, "invalid_path", "move");
	file_fails("POST", run, "f?move=a/", 400, "invalid_path", "move");
	file_fails("POST", run, "?mkdir=1", 405, "method_not_allowed", NULL);
	file_fails("DELETE", run, "", 405, "method_not_allowed", NULL);
	file_fails("PATCH", run, "f", 405, "method_not_allowed", NULL);
	file_is(run, "f?list=0&stat=false&unknown=1", "f");
}

static void
files_of_no_run_are_not_found(void **state)
{
	(void)state;
	file_fails("GET", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "a", 404,
	    "run_not_found", NULL);
	file_fails("PUT", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "a", 404,
	    "run_not_found", NULL);
	file_fails("GET", "nonsense", "a", 404, "run_not_found", NULL);
}

/* -- archives ------------------------------------------------------------ */

static void
a_tree_goes_down_and_up_as_an_archive(void **state)
{
	(void)state;
	check_sh("mkdir -p t/d/e t/empty; printf one >t/a; printf two >t/d/b; "
		 "chmod 750 t/d; ln -s a t/l; ln t/a t/hard; "
		 "touch -d '2001-02-03 04:05:06' t/a; mkfifo t/fifo; "
		 "printf x >\"$(printf 't/\\377')\"",
	    "");
	REPLY_AUTO tar = file_do("GET", run, "t?archive=tar");
	assert_int_equal(tar.status, 200);
	assert_string_equal(
	    http_header(&tar.headers, "Content-Type"), "application/x-tar");
	REPLY_AUTO up =
	    file_send(run, "u/v?archive=tar", tar.body.data, tar.body.size);
	if (up.status != 204)
		fail_msg("%ld %s", up.status, up.body.data);
	check_sh("cd u/v; cat a d/b l hard \"$(printf '\\377')\"; "
		 "stat -c %a d; stat -c %Y a; ls -A | wc -l; ls -d fifo "
		 "2>/dev/null; readlink l; ls empty d/e",
	    "onetwooneonex750\n981173106\n6\na\nd/e:\n\nempty:\n");
	/* And what it is taken for by another reader of such. */
	REPLY_AUTO put = file_send(run, "t.tar", tar.body.data, tar.body.size);
	assert_int_equal(put.status, 204);
	check_sh("tar tf t.tar | grep -c .; tar xOf t.tar d/b 2>/dev/null || "
		 "tar xOf t.tar ./d/b",
	    "8\ntwo");
}

static void
what_is_no_archive_is_refused(void **state)
{
	(void)state;
	REPLY_AUTO r = file_send(run, "d?archive=tar", "nonsense", 8);
	check_problem(&r, 400, "invalid_input", NULL);
	REPLY_AUTO empty = file_send(run, "d?archive=tar", "", 0);
	assert_true(empty.status == 204 || empty.status == 400);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, with_run, without_run)
	const struct CMUnitTest tests[] = {
	    T(what_is_put_is_got_and_seen_by_commands),
	    T(a_file_is_there_for_the_next_command),
	    T(every_byte_comes_back),
	    T(names_are_decoded_exactly_once),
	    T(paths_that_are_no_paths_are_refused),
	    T(a_path_may_be_as_long_as_the_kernel_takes),
	    T(what_is_no_file_is_told_apart),
	    T(links_that_lead_out_are_refused),
	    T(files_belong_to_the_images_user),
	    T(a_list_tells_what_is_there),
	    T(a_huge_directory_is_listed_whole),
	    T(a_stat_tells_of_one_entry),
	    T(directories_are_made_moved_and_deleted),
	    T(what_cannot_be_asked_is_refused),
	    cmocka_unit_test(files_of_no_run_are_not_found),
	    T(a_tree_goes_down_and_up_as_an_archive),
	    T(what_is_no_archive_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
