/*
 * A run that has ended, on a fake engine that has its files (fake/files.h), and
 * its record (run_fixture.h).
 */
#ifndef SBX_TESTS_MODULE_ARCHIVE_FIXTURE_H
#define SBX_TESTS_MODULE_ARCHIVE_FIXTURE_H

#include "../fake/files.h"
#include "../wait.h"
#include "lib/buf.h"
#include "run/archive.h"
#include "run_fixture.h"

#define ARCHIVE_HUGE ((uint64_t)150 << 20) /* more than is kept at first */
#define ARCHIVE_TEXT_MAX (1u << 20)

struct exited_run {
	struct fake_files files; /* a tree of every kind of file, to change */
	struct fake *fake;
	struct config config;
	struct run_ctx ctx;
	struct run run;
	struct guest_patience patience;
	char dir[32];
};

extern struct exited_run exited;

/* Of the program; of each test: the end of one asserts that nothing is left
 * open, and that no link was left to the engine. */
int archive_open_all(void **state);
int archive_setup(void **state);
int archive_teardown(void **state);

#define archive_test(f) \
	cmocka_unit_test_setup_teardown(f, archive_setup, archive_teardown)

struct archive *archive_try(
    enum wire_file_what what, const char *path, struct err *e);

/* It can be opened; it cannot, for that reason. */
struct archive *archive_begin(enum wire_file_what what, const char *path);
void archive_refuses(
    enum wire_file_what what, const char *path, enum err_kind kind);

/* All that archive_next gives. */
void archive_read_all(struct archive *a, struct buf *to);

#endif
