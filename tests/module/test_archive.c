/* run/archive: files of a run that has ended, on an engine of ours. */
#include "../fake/files.h"
#include "../wait.h"
#include "docker/engine.h"
#include "lib/buf.h"
#include "lib/tar.h"
#include "run/archive.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define HUGE_SIZE ((uint64_t)150 << 20) /* more than is kept at first */
#define TEXT_MAX (1u << 20)

static const struct fake_file tree[] = {
    {"/work", 'd', NULL, 0},
    {"/work/a", 'f', "hello sandbox", 0},
    {"/work/abs", 'l', "/work/d/e", 0},
    {"/work/abs2", 'l', "//work/./d//e/", 0},
    {"/work/d", 'd', NULL, 0},
    {"/work/d/e", 'd', NULL, 0},
    {"/work/d/e/up", 'l', "../../a", 0},
    {"/work/d/e/x", 'f', "deep", 0},
    {"/work/d/fifo", 'p', NULL, 0},
    {"/work/d/hard", 'h', "/work/a", 0},
    {"/work/d/hard2", 'h', "/work/d/e/x", 0},
    {"/work/d/l", 'l', "e", 0},
    {"/work/d/s", 's', NULL, 0},
    {"/work/dangling", 'l', "no/such", 0},
    {"/work/empty", 'f', "", 0},
    {"/work/etc", 'l', "/etc", 0},
    {"/work/huge", 'f', NULL, HUGE_SIZE},
    {"/work/loop", 'o', "loop", 0},
    {"/work/m \xff\n?&%", 'f', "odd", 0},
    {"/work/out", 'l', "../etc/passwd", 0},
    {"/work/sneaky", 'l', "/workshop/a", 0},
    {"/work/sneaky2", 'l', "/work/../etc/passwd", 0},
    {"/work/through", 'l', "abs/../../d/l/x", 0},
    {"/work/under", 'o', "a/b", 0},
    {"/work/word", 'l', "d/e/up/", 0},
};

static struct {
	struct fake_files files;
	struct fake *fake;
	struct config config;
	struct run_ctx ctx;
	struct run run;
	struct guest_patience patience;
	char dir[32];
} w;

static int
setup(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.files.file = tree;
	w.files.count = sizeof(tree) / sizeof(tree[0]);
	w.fake = fake_new();
	fake_serve(w.fake, fake_files_answer, &w.files);
	memcpy(w.dir, "/tmp/sbx-archive-XXXXXX", 24);
	assert_non_null(mkdtemp(w.dir));
	w.config.state_dir = w.dir;
	w.ctx.config = &w.config;
	w.ctx.engine = engine_new(fake_socket(w.fake));
	memcpy(w.run.id, ID, sizeof(ID));
	w.patience = (struct guest_patience){-1, 30000};
	return 0;
}

/* Nothing is left open, and no link was ever left to the engine. */
static int
teardown(void **state)
{
	(void)state;
	wait_until(atomic_load(&w.files.open) == 0, 10000);
	assert_int_equal(atomic_load(&w.files.followed), 0);
	engine_free(w.ctx.engine);
	fake_free(w.fake);
	assert_int_equal(rmdir(w.dir), 0);
	return 0;
}

static struct archive *
open_path(enum wire_file_what what, const char *path, struct err *e)
{
	return archive_open(&w.ctx, &w.run, what, path, &w.patience, e);
}

static struct archive *
open_well(enum wire_file_what what, const char *path)
{
	struct err e = ERR_INIT;
	struct archive *a = open_path(what, path, &e);

	if (a == NULL)
		fail_msg("%s: kind %d: %s", path, e.kind, e.text);
	return a;
}

static void
read_all(struct archive *a, struct buf *to)
{
	struct err e = ERR_INIT;
	const char *bytes;
	size_t size;
	int rc;

	while ((rc = archive_next(a, &bytes, &size, &e)) > 0)
		buf_add(to, bytes, size);
	check_ok(rc, &e);
	assert_false(to->over);
}

/* Bytes of a path, as a GET gives them. */
static void
get_range(const char *path, uint64_t offset, uint64_t size, const char *want)
{
	BUF_AUTO got = BUF_INIT(TEXT_MAX);
	struct archive *a = open_well(WIRE_FILE_GET, path);
	struct wire_stat st;
	struct err e = ERR_INIT;

	check_ok(archive_stat(a, &st, &e), &e);
	assert_int_equal(st.type, WIRE_TYPE_FILE);
	check_ok(archive_read(a, offset, size, &e), &e);
	read_all(a, &got);
	archive_free(a);
	assert_string_equal(got.data, want);
}

static void
refuses(enum wire_file_what what, const char *path, enum err_kind kind)
{
	struct err e = ERR_INIT;
	struct archive *a = open_path(what, path, &e);

	if (a != NULL || e.kind != kind)
		fail_msg(
		    "\"%s\": kind %d, not %d: %s", path, e.kind, kind, e.text);
}

/* -- one file -------------------------------------------------------------- */

static void
a_file_is_read_whole_and_in_part(void **state)
{
	(void)state;
	get_range("a", 0, UINT64_MAX / 2, "hello sandbox");
	get_range("a", 6, 4, "sand");
	get_range("a", 12, 1, "x");
	get_range("a", 13, 5, "");
	get_range("a", 99, 5, "");
	get_range("a", 3, 0, "");
	get_range("empty", 0, 10, "");
	get_range("m \xff\n?&%", 0, 10, "odd");
	get_range("d/hard", 0, 100, "hello sandbox");
}

static void
a_stat_tells_what_the_engine_knows_and_only_once(void **state)
{
	struct archive *a = open_well(WIRE_FILE_GET, "d/l/x");
	struct wire_stat st, again;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(archive_stat(a, &st, &e), 1);
	assert_int_equal(st.type, WIRE_TYPE_FILE);
	assert_int_equal(st.mode, 0644);
	assert_int_equal(st.size, 4);
	assert_int_equal(st.mtime_ns, 1500000000);
	assert_string_equal(st.name, "x");
	assert_string_equal(st.target, "");
	assert_int_equal(archive_stat(a, &again, &e), 0);
	archive_free(a);
	assert_int_equal(atomic_load(&w.files.archives), 1); /* the link's */
}

static void
a_tag_is_the_same_for_the_same_file_and_no_other(void **state)
{
	static const char *const paths[] = {"a", "a", "empty", "d/e/x"};
	uint64_t tags[4];
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct archive *a = open_well(WIRE_FILE_STAT, paths[i]);
		struct wire_stat st;

		check_ok(archive_stat(a, &st, &e), &e);
		tags[i] = st.tag;
		archive_free(a);
	}
	assert_true(tags[0] == tags[1]);
	assert_true(tags[0] != tags[2] && tags[0] != tags[3]);
	assert_true(tags[2] != tags[3]);
}

static void
what_is_no_file_is_refused_by_what_it_is(void **state)
{
	(void)state;
	refuses(WIRE_FILE_GET, "", ERR_FILE_DIRECTORY);
	refuses(WIRE_FILE_GET, "d", ERR_FILE_DIRECTORY);
	refuses(WIRE_FILE_GET, "abs", ERR_FILE_DIRECTORY);
	refuses(WIRE_FILE_GET, "d/fifo", ERR_FILE_SPECIAL);
	refuses(WIRE_FILE_GET, "d/s", ERR_FILE_SPECIAL);
	refuses(WIRE_FILE_PACK, "d/fifo", ERR_FILE_SPECIAL);
	refuses(WIRE_FILE_LIST, "a", ERR_FILE_NOT_DIRECTORY);
	refuses(WIRE_FILE_LIST, "d/fifo", ERR_FILE_NOT_DIRECTORY);
	refuses(WIRE_FILE_GET, "a/b", ERR_FILE_NOT_DIRECTORY);
	refuses(WIRE_FILE_STAT, "a/b/c", ERR_FILE_NOT_DIRECTORY);
	refuses(WIRE_FILE_GET, "d/fifo/b", ERR_FILE_NOT_DIRECTORY);
	assert_int_equal(atomic_load(&w.files.archives), 1); /* abs */
}

static void
what_is_missing_is_named_as_the_caller_did(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_null(open_path(WIRE_FILE_GET, "d/l/nothing", &e));
	assert_int_equal(e.kind, ERR_FILE_ABSENT);
	assert_string_equal(e.text, "No such file: d/l/nothing");
	refuses(WIRE_FILE_STAT, "nothing", ERR_FILE_ABSENT);
	refuses(WIRE_FILE_LIST, "nothing/at/all", ERR_FILE_ABSENT);
	refuses(WIRE_FILE_GET, "dangling", ERR_FILE_ABSENT);
}

/* -- links ----------------------------------------------------------------- */

static void
links_that_stay_inside_are_followed(void **state)
{
	(void)state;
	get_range("d/l/x", 0, 9, "deep");
	get_range("abs/x", 0, 9, "deep");
	get_range("abs2/x", 0, 9, "deep");
	get_range("d/e/up", 0, 5, "hello");
	get_range("word", 0, 5, "hello");
	get_range("through", 0, 9, "deep");
	get_range("abs/up", 6, 4, "sand");
}

static void
links_that_lead_out_are_refused(void **state)
{
	static const char *const paths[] = {
	    "out", "etc", "etc/passwd", "sneaky", "sneaky2"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		refuses(WIRE_FILE_GET, paths[i], ERR_FILE_ESCAPES);
		refuses(WIRE_FILE_LIST, paths[i], ERR_FILE_ESCAPES);
		refuses(WIRE_FILE_PACK, paths[i], ERR_FILE_ESCAPES);
	}
	refuses(WIRE_FILE_STAT, "etc/passwd", ERR_FILE_ESCAPES);
}

static void
links_that_the_engine_cannot_make_out_are_followed_all_the_same(void **state)
{
	(void)state;
	refuses(WIRE_FILE_GET, "loop", ERR_INPUT);
	refuses(WIRE_FILE_GET, "loop/x", ERR_INPUT);
	refuses(WIRE_FILE_GET, "under", ERR_FILE_NOT_DIRECTORY);
}

static void
a_stat_of_a_link_is_of_the_link(void **state)
{
	static const struct {
		const char *path, *target;
	} rows[] = {{"out", "../etc/passwd"}, {"abs", "/work/d/e"},
	    {"dangling", "no/such"}, {"loop", "loop"}, {"under", "a/b"},
	    {"abs/up", "../../a"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct archive *a = open_well(WIRE_FILE_STAT, rows[i].path);
		struct wire_stat st;
		struct err e = ERR_INIT;

		check_ok(archive_stat(a, &st, &e), &e);
		assert_int_equal(st.type, WIRE_TYPE_SYMLINK);
		assert_int_equal(st.size, 0);
		assert_string_equal(st.target, rows[i].target);
		archive_free(a);
	}
}

static void
a_root_that_is_a_link_leads_out(void **state)
{
	static const struct fake_file linked[] = {{"/work", 'l', "/etc", 0}};
	static const struct fake_file file[] = {{"/work", 'f', "", 0}};

	(void)state;
	w.files.file = linked;
	w.files.count = 1;
	refuses(WIRE_FILE_GET, "passwd", ERR_FILE_ESCAPES);
	refuses(WIRE_FILE_LIST, "", ERR_FILE_ESCAPES);
	w.files.file = file;
	refuses(WIRE_FILE_LIST, "", ERR_FILE_NOT_DIRECTORY);
	w.files.count = 0;
	refuses(WIRE_FILE_LIST, "", ERR_FILE_ABSENT);
}

static void
names_that_no_file_has_are_refused_at_once(void **state)
{
	char name[300];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	refuses(WIRE_FILE_GET, name, ERR_INPUT);
}

/* -- directories ----------------------------------------------------------- */

static void
put_row(struct buf *to, const struct wire_stat *st)
{
	buf_addf(to, "%s %c %d %s\n", st->name, "?fdlpsD"[st->type],
	    (int)st -> size, st -> target);
}

static void
a_list_has_what_is_one_level_below(void **state)
{
	BUF_AUTO got = BUF_INIT(TEXT_MAX);
	struct archive *a = open_well(WIRE_FILE_LIST, "d");
	struct wire_stat st;
	struct err e = ERR_INIT;
	int rc;

	(void)state;
	while ((rc = archive_stat(a, &st, &e)) > 0) {
		put_row(&got, &st);
		assert_true(st.tag > 1);
		assert_int_equal(st.mode, 0644);
	}
	check_ok(rc, &e);
	archive_free(a);
	/* Sockets are not in the engine's archives. */
	assert_string_equal(got.data, "e d 0 \n"
				      "fifo p 0 \n"
				      "hard f 13 \n"
				      "hard2 f 4 \n"
				      "l l 0 e\n");
}

static void
lists_of_the_root_and_through_links(void **state)
{
	static const struct {
		const char *path;
		int count;
	} rows[] = {{"", 16}, {"abs", 2}, {"d/l", 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct archive *a = open_well(WIRE_FILE_LIST, rows[i].path);
		struct wire_stat st;
		struct err e = ERR_INIT;
		int count = 0, rc;

		while ((rc = archive_stat(a, &st, &e)) > 0)
			count++;
		check_ok(rc, &e);
		assert_int_equal(count, rows[i].count);
		archive_free(a);
	}
}

/* -- archives -------------------------------------------------------------- */

static void
pack(const char *path, struct buf *got)
{
	BUF_AUTO bytes = BUF_INIT(TEXT_MAX);
	struct archive *a = open_well(WIRE_FILE_PACK, path);
	struct tar_reader tar;
	struct tar_entry entry;
	const char *content;
	size_t size, at = 0, used;
	struct err e = ERR_INIT;
	int event;

	read_all(a, &bytes);
	archive_free(a);
	assert_int_equal(bytes.size % TAR_BLOCK, 0);
	tar_reader_init(&tar);
	do {
		event = tar_next(&tar, bytes.data + at, bytes.size - at, &used,
		    &entry, &content, &size, &e);
		check_ok(event, &e);
		at += used;
		if (event == TAR_HEADER)
			buf_addf(got, "%d %s %d %s\n", (int)entry.type,
			    entry.name, (int)entry.size, entry.link);
		if (event == TAR_CONTENT)
			buf_addf(got, "[%.*s]\n", (int)size, content);
	} while (event != TAR_END && event != TAR_MORE);
	assert_int_equal(event, TAR_END);
	tar_reader_release(&tar);
}

static void
an_archive_is_of_what_is_below_with_relative_names(void **state)
{
	BUF_AUTO got = BUF_INIT(TEXT_MAX);
	BUF_AUTO same = BUF_INIT(TEXT_MAX);

	(void)state;
	pack("d", &got);
	assert_string_equal(got.data, "4 e 0 \n"
				      "3 e/up 0 ../../a\n"
				      "1 e/x 4 \n"
				      "[deep]\n"
				      "1 hard 13 \n"
				      "[hello sandbox]\n"
				      "2 hard2 0 e/x\n"
				      "3 l 0 e\n");
	pack("d/l", &same);
	assert_string_equal(same.data, "3 up 0 ../../a\n"
				       "1 x 4 \n"
				       "[deep]\n");
}

static void
an_archive_of_a_file_has_it_by_the_name_that_was_asked_for(void **state)
{
	BUF_AUTO got = BUF_INIT(TEXT_MAX);

	(void)state;
	pack("d/e/up", &got);
	assert_string_equal(got.data, "1 up 13 \n"
				      "[hello sandbox]\n");
}

/* -- a slow caller, and a huge file ---------------------------------------- */

static void
the_engine_is_let_go_before_the_caller_gets_a_byte(void **state)
{
	struct archive *a = open_well(WIRE_FILE_GET, "huge");
	const char *bytes;
	size_t size;
	uint64_t total = 0;
	struct err e = ERR_INIT;
	int rc;

	(void)state;
	check_ok(archive_read(a, 0, UINT64_MAX / 2, &e), &e);
	while ((rc = archive_next(a, &bytes, &size, &e)) > 0) {
		for (size_t i = 0; i < size; i += 4096)
			assert_int_equal(bytes[i], 0);
		if (total == 0)
			wait_until(atomic_load(&w.files.open) == 0, 10000);
		total += size;
	}
	check_ok(rc, &e);
	assert_true(total == HUGE_SIZE);
	assert_int_equal(atomic_load(&w.files.archives), 2);
	archive_free(a);
}

static void
the_end_of_a_huge_file_is_read_alone(void **state)
{
	BUF_AUTO got = BUF_INIT(TEXT_MAX);
	struct archive *a = open_well(WIRE_FILE_GET, "huge");
	struct err e = ERR_INIT;

	(void)state;
	check_ok(archive_read(a, HUGE_SIZE - 10, 100, &e), &e);
	read_all(a, &got);
	assert_int_equal(got.size, 10);
	assert_int_equal(atomic_load(&w.files.archives), 1);
	archive_free(a);
}

static void
a_huge_archive_is_the_same_in_parts(void **state)
{
	static const struct fake_file files[] = {{"/work", 'd', NULL, 0},
	    {"/work/a", 'f', "one", 0}, {"/work/b", 'f', NULL, HUGE_SIZE},
	    {"/work/c", 'f', "three", 0}};
	struct tar_reader tar;
	struct tar_entry entry;
	BUF_AUTO names = BUF_INIT(TEXT_MAX);
	uint64_t total = 0;
	struct err e = ERR_INIT;
	const char *bytes, *content;
	size_t size, some, used;
	int rc;

	(void)state;
	w.files.file = files;
	w.files.count = 4;
	struct archive *a = open_well(WIRE_FILE_PACK, "");
	tar_reader_init(&tar);
	while ((rc = archive_next(a, &bytes, &size, &e)) > 0)
		for (; size > 0; bytes += used, size -= used) {
			int event = tar_next(&tar, bytes, size, &used, &entry,
			    &content, &some, &e);

			check_ok(event, &e);
			if (event == TAR_HEADER)
				buf_adds(&names, entry.name);
			if (event == TAR_CONTENT)
				total += some;
		}
	check_ok(rc, &e);
	assert_string_equal(names.data, "abc");
	assert_true(total == HUGE_SIZE + 8);
	tar_reader_release(&tar);
	archive_free(a);
}

/* -- an engine that fails -------------------------------------------------- */

/* Read a path until it fails, or ends. */
static enum err_kind
failure(enum wire_file_what what, const char *path)
{
	struct err e = ERR_INIT;
	struct archive *a = open_path(what, path, &e);
	struct wire_stat st;
	const char *bytes;
	size_t size;
	int rc = -1;

	if (a == NULL)
		return e.kind;
	if (what == WIRE_FILE_GET)
		check_ok(archive_read(a, 0, UINT64_MAX / 2, &e), &e);
	do
		rc = what == WIRE_FILE_LIST
			 ? archive_stat(a, &st, &e)
			 : archive_next(a, &bytes, &size, &e);
	while (rc > 0);
	archive_free(a);
	return rc == 0 ? ERR_NONE : e.kind;
}

static void
an_answer_that_breaks_off_is_never_taken_for_whole(void **state)
{
	static const enum wire_file_what whats[] = {
	    WIRE_FILE_GET, WIRE_FILE_LIST, WIRE_FILE_PACK};
	static const struct {
		enum files_fault fault;
		enum err_kind kind;
	} rows[] = {{FILES_CUT, ERR_ENGINE_AWAY}, {FILES_SHORT, ERR_ENGINE},
	    {FILES_REFUSE, ERR_ENGINE}, {FILES_WELL, ERR_NONE}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t k = 0; k < 3; k++)
			for (size_t at = 0; at < 1500; at += 300) {
				bool get = whats[k] == WIRE_FILE_GET;

				w.files.fault = rows[i].fault;
				w.files.fault_at = get ? at % 520 : at;
				assert_int_equal(
				    failure(whats[k], get ? "a" : "d"),
				    rows[i].kind);
			}
}

static void
an_archive_of_something_else_is_refused(void **state)
{
	(void)state;
	w.files.fault = FILES_OTHER;
	assert_int_equal(failure(WIRE_FILE_LIST, "d"), ERR_ENGINE);
	assert_int_equal(failure(WIRE_FILE_PACK, "d"), ERR_ENGINE);
}

static void
an_engine_that_stalls_is_given_up(void **state)
{
	(void)state;
	w.files.fault = FILES_STALL;
	w.files.fault_at = 515;
	w.patience.timeout_ms = 300;
	assert_int_equal(failure(WIRE_FILE_GET, "a"), ERR_ENGINE_TIMEOUT);
	assert_int_equal(failure(WIRE_FILE_LIST, "d"), ERR_ENGINE_TIMEOUT);
}

static void
a_caller_who_leaves_is_noticed_while_the_engine_stalls(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	w.files.fault = FILES_STALL;
	w.files.fault_at = 515;
	w.patience.other_fd = ends[0];
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(failure(WIRE_FILE_GET, "a"), ERR_GONE_AWAY);
	assert_int_equal(close(ends[0]), 0);
}

static void
a_run_that_is_removed_meanwhile_is_gone(void **state)
{
	struct archive *a = open_well(WIRE_FILE_GET, "huge");
	const char *bytes;
	size_t size;
	struct err e = ERR_INIT;
	int rc;

	(void)state;
	check_ok(archive_read(a, 0, UINT64_MAX / 2, &e), &e);
	check_ok(archive_next(a, &bytes, &size, &e), &e);
	atomic_store(&w.files.gone, true);
	while ((rc = archive_next(a, &bytes, &size, &e)) > 0)
		;
	check_fails(rc, &e, ERR_RUN_ABSENT);
	archive_free(a);
	refuses(WIRE_FILE_GET, "a", ERR_RUN_ABSENT);
	refuses(WIRE_FILE_LIST, "", ERR_RUN_ABSENT);
}

#define archive_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    archive_test(a_file_is_read_whole_and_in_part),
	    archive_test(a_stat_tells_what_the_engine_knows_and_only_once),
	    archive_test(a_tag_is_the_same_for_the_same_file_and_no_other),
	    archive_test(what_is_no_file_is_refused_by_what_it_is),
	    archive_test(what_is_missing_is_named_as_the_caller_did),
	    archive_test(links_that_stay_inside_are_followed),
	    archive_test(links_that_lead_out_are_refused),
	    archive_test(
		links_that_the_engine_cannot_make_out_are_followed_all_the_same),
	    archive_test(a_stat_of_a_link_is_of_the_link),
	    archive_test(a_root_that_is_a_link_leads_out),
	    archive_test(names_that_no_file_has_are_refused_at_once),
	    archive_test(a_list_has_what_is_one_level_below),
	    archive_test(lists_of_the_root_and_through_links),
	    archive_test(an_archive_is_of_what_is_below_with_relative_names),
	    archive_test(
		an_archive_of_a_file_has_it_by_the_name_that_was_asked_for),
	    archive_test(the_engine_is_let_go_before_the_caller_gets_a_byte),
	    archive_test(the_end_of_a_huge_file_is_read_alone),
	    archive_test(a_huge_archive_is_the_same_in_parts),
	    archive_test(an_answer_that_breaks_off_is_never_taken_for_whole),
	    archive_test(an_archive_of_something_else_is_refused),
	    archive_test(an_engine_that_stalls_is_given_up),
	    archive_test(
		a_caller_who_leaves_is_noticed_while_the_engine_stalls),
	    archive_test(a_run_that_is_removed_meanwhile_is_gone),
	};
	struct err e = ERR_INIT;

	check_ok(engine_setup(&e), &e);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
