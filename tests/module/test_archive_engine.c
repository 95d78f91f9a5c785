/* run/archive: callers that are slow, files that are huge, engines that fail.
 */
#include "archive_fixture.h"
#include "lib/tar.h"

#include <unistd.h>

/* -- a slow caller, and a huge file ---------------------------------------- */

static void
the_engine_is_let_go_before_the_caller_gets_a_byte(void **state)
{
	struct archive *a = archive_begin(WIRE_FILE_GET, "zeros");
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
			wait_until(atomic_load(&exited.files.open) == 0, 30000);
		total += size;
	}
	check_ok(rc, &e);
	assert_true(total == ARCHIVE_HUGE);
	assert_int_equal(atomic_load(&exited.files.archives), 2);
	archive_free(a);
}

static void
the_end_of_a_huge_file_is_read_alone(void **state)
{
	BUF_AUTO got = BUF_INIT(ARCHIVE_TEXT_MAX);
	struct archive *a = archive_begin(WIRE_FILE_GET, "zeros");
	struct err e = ERR_INIT;

	(void)state;
	check_ok(archive_read(a, ARCHIVE_HUGE - 10, 100, &e), &e);
	archive_read_all(a, &got);
	assert_int_equal(got.size, 10);
	assert_int_equal(atomic_load(&exited.files.archives), 1);
	archive_free(a);
}

static void
a_huge_archive_is_the_same_in_parts(void **state)
{
	static const struct fake_file files[] = {{"/work", 'd', NULL, 0},
	    {"/work/a", 'f', "one", 0}, {"/work/b", 'f', NULL, ARCHIVE_HUGE},
	    {"/work/c", 'f', "three", 0}};
	struct tar_reader tar;
	struct tar_entry entry;
	BUF_AUTO names = BUF_INIT(ARCHIVE_TEXT_MAX);
	uint64_t total = 0;
	struct err e = ERR_INIT;
	const char *bytes, *content;
	size_t size, some, used;
	int rc;

	(void)state;
	exited.files.file = files;
	exited.files.count = 4;
	struct archive *a = archive_begin(WIRE_FILE_PACK, "");
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
	assert_true(total == ARCHIVE_HUGE + 8);
	tar_reader_release(&tar);
	archive_free(a);
}

/* -- an engine that fails -------------------------------------------------- */

/* Read a path until it fails, or ends. */
static enum err_kind
failure(enum wire_file_what what, const char *path)
{
	struct err e = ERR_INIT;
	struct archive *a = archive_try(what, path, &e);
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

				exited.files.fault = rows[i].fault;
				exited.files.fault_at = get ? at % 520 : at;
				assert_int_equal(
				    failure(whats[k], get ? "a" : "d"),
				    rows[i].kind);
			}
}

static void
an_archive_of_something_else_is_refused(void **state)
{
	(void)state;
	exited.files.fault = FILES_OTHER;
	assert_int_equal(failure(WIRE_FILE_LIST, "d"), ERR_ENGINE);
	assert_int_equal(failure(WIRE_FILE_PACK, "d"), ERR_ENGINE);
}

static void
an_engine_that_stalls_is_given_up(void **state)
{
	(void)state;
	exited.files.fault = FILES_STALL;
	exited.files.fault_at = 515;
	exited.patience.timeout_ms = 300;
	assert_int_equal(failure(WIRE_FILE_GET, "a"), ERR_ENGINE_TIMEOUT);
	assert_int_equal(failure(WIRE_FILE_LIST, "d"), ERR_ENGINE_TIMEOUT);
}

static void
a_caller_who_leaves_is_noticed_while_the_engine_stalls(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	exited.files.fault = FILES_STALL;
	exited.files.fault_at = 515;
	exited.patience.other_fd = ends[0];
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(failure(WIRE_FILE_GET, "a"), ERR_GONE_AWAY);
	assert_int_equal(close(ends[0]), 0);
}

static void
a_run_that_is_removed_meanwhile_is_gone(void **state)
{
	struct archive *a = archive_begin(WIRE_FILE_GET, "zeros");
	const char *bytes;
	size_t size;
	struct err e = ERR_INIT;
	int rc;

	(void)state;
	check_ok(archive_read(a, 0, UINT64_MAX / 2, &e), &e);
	check_ok(archive_next(a, &bytes, &size, &e), &e);
	atomic_store(&exited.files.gone, true);
	while ((rc = archive_next(a, &bytes, &size, &e)) > 0)
		;
	check_fails(rc, &e, ERR_RUN_ABSENT);
	archive_free(a);
	archive_refuses(WIRE_FILE_GET, "a", ERR_RUN_ABSENT);
	archive_refuses(WIRE_FILE_LIST, "", ERR_RUN_ABSENT);
}

/* Whoever removes it waits for the engine, which is read from. */
static void
a_run_that_is_being_destroyed_is_given_way_to(void **state)
{
	static const struct fake_file files[] = {
	    {"/work", 'd', NULL, 0}, {"/work/a", 'f', NULL, 1ull << 40}};
	static const enum wire_file_what whats[] = {
	    WIRE_FILE_LIST, WIRE_FILE_PACK};
	struct wire_stat st;
	const char *bytes;
	size_t size;

	(void)state;
	exited.files.file = files;
	exited.files.count = 2;
	for (size_t i = 0; i < 2; i++) {
		struct archive *a = archive_begin(whats[i], "");
		struct err e = ERR_INIT;
		int rc;

		check_ok(run_destroying(redis, exited.run.id, &e), &e);
		do
			rc = whats[i] == WIRE_FILE_LIST
				 ? archive_stat(a, &st, &e)
				 : archive_next(a, &bytes, &size, &e);
		while (rc > 0);
		check_fails(rc, &e, ERR_RUN_ABSENT);
		archive_free(a);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    archive_test(the_engine_is_let_go_before_the_caller_gets_a_byte),
	    archive_test(the_end_of_a_huge_file_is_read_alone),
	    archive_test(a_huge_archive_is_the_same_in_parts),
	    archive_test(an_answer_that_breaks_off_is_never_taken_for_whole),
	    archive_test(an_archive_of_something_else_is_refused),
	    archive_test(an_engine_that_stalls_is_given_up),
	    archive_test(
		a_caller_who_leaves_is_noticed_while_the_engine_stalls),
	    archive_test(a_run_that_is_removed_meanwhile_is_gone),
	    archive_test(a_run_that_is_being_destroyed_is_given_way_to),
	};

	return cmocka_run_group_tests(tests, archive_open_all, fixture_close);
}
