/*
 * Directory trees in a temporary directory, in a mount namespace of the test's
 * own where it may have one: what is mounted in it is seen by nobody else, and
 * goes with it. Needs root for most of what trees are made of.
 */
#ifndef SBX_TESTS_TREE_FIXTURE_H
#define SBX_TESTS_TREE_FIXTURE_H

#include "lib/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

int tree_begin_group(void **state);
int tree_end_group(void **state);

/* Of each test: its own directory, and the end of it. */
int tree_begin_test(void **state);
int tree_end_test(void **state);

#define TREE_TEST(name) \
	cmocka_unit_test_setup_teardown(name, tree_begin_test, tree_end_test)

/* A path in it; the result is good for eight more calls. */
const char *tree_path(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* An open directory there. */
int tree_open(const char *path);

void tree_dir(const char *path, mode_t mode);
void tree_file(const char *path, mode_t mode, const char *text);
bool tree_there(const char *path); /* links not followed */

/* What a file holds, freed with free(3). */
char *tree_text(const char *path);

/* The test's directory is in memory from here on, where this process may mount:
 * quick, whatever else the disk has to do. */
void tree_in_memory(void);

/* A file system in memory there, where this process may mount. */
bool tree_mount(const char *path, const char *options);
void tree_unmount(const char *path);

/* A chain of that many directories "d" below the open directory dir; returns
 * the deepest, open. */
int tree_chain(int dir, size_t depth);

/* cmocka_run_group_tests, for root alone. */
#define tree_run(name, tests)                                          \
	(tree_is_root() ? cmocka_run_group_tests_name((name), (tests), \
			      tree_begin_group, tree_end_group)        \
			: 1)
bool tree_is_root(void);

/* Both are the same in all that a copy keeps: kinds, bytes, owners, modes,
 * times, attributes, holes, links to the same file. */
void tree_check_same(const char *a, const char *b);

/* lib/tree's copy, to a directory that is there. */
int tree_copy_path(const char *from, const char *to,
    const struct tree_watch *watch, struct tree_sum *ret_sum, struct err *e);

/* The test's "from" to its "to", and both are the same. */
struct tree_sum tree_copy_same(void);

#endif
