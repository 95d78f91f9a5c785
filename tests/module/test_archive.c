/* run/archive: what it gives, and what it refuses. */
#include "archive_fixture.h"
#include "lib/tar.h"

#include <string.h>

/* Bytes of a path, as a GET gives them. */
static void
get_range(const char *path, uint64_t offset, uint64_t size, const char *want)
{
	BUF_AUTO got = BUF_INIT(ARCHIVE_TEXT_MAX);
	struct archive *a = archive_begin(WIRE_FILE_GET, path);
	struct wire_stat st;
	struct err e = ERR_INIT;

	check_ok(archive_stat(a, &st, &e), &e);
	assert_int_equal(st.type, WIRE_TYPE_FILE);
	check_ok(archive_read(a, offset, size, &e), &e);
	archive_read_all(a, &got);
	archive_free(a);
	assert_string_equal(got.data, want);
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
	struct archive *a = archive_begin(WIRE_FILE_GET, "d/l/x");
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
	assert_int_equal(
	    atomic_load(&exited.files.archives), 1); /* the link's */
}

static void
a_tag_is_the_same_for_the_same_file_and_no_other(void **state)
{
	static const char *const paths[] = {"a", "a", "empty", "d/e/x"};
	uint64_t tags[4];
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct archive *a = archive_begin(WIRE_FILE_STAT, paths[i]);
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
	archive_refuses(WIRE_FILE_GET, "", ERR_FILE_DIRECTORY);
	archive_refuses(WIRE_FILE_GET, "d", ERR_FILE_DIRECTORY);
	archive_refuses(WIRE_FILE_GET, "abs", ERR_FILE_DIRECTORY);
	archive_refuses(WIRE_FILE_GET, "d/fifo", ERR_FILE_SPECIAL);
	archive_refuses(WIRE_FILE_GET, "d/s", ERR_FILE_SPECIAL);
	archive_refuses(WIRE_FILE_PACK, "d/fifo", ERR_FILE_SPECIAL);
	archive_refuses(WIRE_FILE_LIST, "a", ERR_FILE_NOT_DIRECTORY);
	archive_refuses(WIRE_FILE_LIST, "d/fifo", ERR_FILE_NOT_DIRECTORY);
	archive_refuses(WIRE_FILE_GET, "a/b", ERR_FILE_NOT_DIRECTORY);
	archive_refuses(WIRE_FILE_STAT, "a/b/c", ERR_FILE_NOT_DIRECTORY);
	archive_refuses(WIRE_FILE_GET, "d/fifo/b", ERR_FILE_NOT_DIRECTORY);
	assert_int_equal(atomic_load(&exited.files.archives), 1); /* abs */
}

static void
what_is_missing_is_named_as_the_caller_did(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_null(archive_try(WIRE_FILE_GET, "d/l/nothing", &e));
	assert_int_equal(e.kind, ERR_FILE_ABSENT);
	assert_string_equal(e.text, "No such file: d/l/nothing");
	archive_refuses(WIRE_FILE_STAT, "nothing", ERR_FILE_ABSENT);
	archive_refuses(WIRE_FILE_LIST, "nothing/at/all", ERR_FILE_ABSENT);
	archive_refuses(WIRE_FILE_GET, "dangling", ERR_FILE_ABSENT);
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
		archive_refuses(WIRE_FILE_GET, paths[i], ERR_FILE_ESCAPES);
		archive_refuses(WIRE_FILE_LIST, paths[i], ERR_FILE_ESCAPES);
		archive_refuses(WIRE_FILE_PACK, paths[i], ERR_FILE_ESCAPES);
	}
	archive_refuses(WIRE_FILE_STAT, "etc/passwd", ERR_FILE_ESCAPES);
}

static void
links_that_the_engine_cannot_make_out_are_followed_all_the_same(void **state)
{
	(void)state;
	archive_refuses(WIRE_FILE_GET, "loop", ERR_INPUT);
	archive_refuses(WIRE_FILE_GET, "loop/x", ERR_INPUT);
	archive_refuses(WIRE_FILE_GET, "under", ERR_FILE_NOT_DIRECTORY);
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
		struct archive *a = archive_begin(WIRE_FILE_STAT, rows[i].path);
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
	exited.files.file = linked;
	exited.files.count = 1;
	archive_refuses(WIRE_FILE_GET, "passwd", ERR_FILE_ESCAPES);
	archive_refuses(WIRE_FILE_LIST, "", ERR_FILE_ESCAPES);
	exited.files.file = file;
	archive_refuses(WIRE_FILE_LIST, "", ERR_FILE_NOT_DIRECTORY);
	exited.files.count = 0;
	archive_refuses(WIRE_FILE_LIST, "", ERR_FILE_ABSENT);
}

static void
names_that_no_file_has_are_refused_at_once(void **state)
{
	char name[300];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	archive_refuses(WIRE_FILE_GET, name, ERR_INPUT);
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
	BUF_AUTO got = BUF_INIT(ARCHIVE_TEXT_MAX);
	struct archive *a = archive_begin(WIRE_FILE_LIST, "d");
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
		struct archive *a = archive_begin(WIRE_FILE_LIST, rows[i].path);
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
	BUF_AUTO bytes = BUF_INIT(ARCHIVE_TEXT_MAX);
	struct archive *a = archive_begin(WIRE_FILE_PACK, path);
	struct tar_reader tar;
	struct tar_entry entry;
	const char *content;
	size_t size, at = 0, used;
	struct err e = ERR_INIT;
	int event;

	archive_read_all(a, &bytes);
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
	BUF_AUTO got = BUF_INIT(ARCHIVE_TEXT_MAX);
	BUF_AUTO same = BUF_INIT(ARCHIVE_TEXT_MAX);

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
	BUF_AUTO got = BUF_INIT(ARCHIVE_TEXT_MAX);

	(void)state;
	pack("d/e/up", &got);
	assert_string_equal(got.data, "1 up 13 \n"
				      "[hello sandbox]\n");
}

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
	};

	return cmocka_run_group_tests(tests, archive_open_all, fixture_close);
}
