/* http/token: who gets in. */
#include "../check.h"
#include "http/token.h"
#include "lib/fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char lines[] = "s3cret-A\n\n  s3cret-B \r\nlast";

static void
a_listed_token_passes_with_any_case_of_the_scheme(void **state)
{
	static const char *const good[] = {"Bearer s3cret-A", "bearer s3cret-A",
	    "BEARER s3cret-B", "Bearer   last"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(token_listed(lines, good[i]));
}

static void
nothing_else_passes(void **state)
{
	static const char *const bad[] = {"", "Bearer", "Bearer ", "Bearer   ",
	    "s3cret-A", "Basic s3cret-A", "Bearers3cret-A", "Bearer\ts3cret-A",
	    "Bearer S3CRET-A", "Bearer s3cret-", "Bearer s", "Bearer s3cret-AA",
	    "Bearer s3cret.A", "Bearer s3cret-A, x", "Bearer s3cret-A,s3cret-B",
	    "Bearer s3cret-A\ns3cret-B", "Bearer s3cret-A\n\n", "Bearer \n",
	    "Bearer s3cret-A x", " Bearer s3cret-A"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(token_listed(lines, bad[i]));
}

static void
an_empty_list_lets_nobody_in(void **state)
{
	(void)state;
	assert_false(token_listed("", "Bearer x"));
	assert_false(token_listed("", "Bearer "));
	assert_false(token_listed("\n \n\r\n", "Bearer "));
	assert_false(token_listed("\n \n\r\n", "Bearer  "));
}

static void
put(const char *path, const char *text)
{
	struct err e = ERR_INIT;

	check_ok(fd_write_file(path, 0600, text, strlen(text), &e), &e);
}

static void
a_rotated_file_counts_from_the_next_request(void **state)
{
	char dir[] = "/tmp/test_token.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/token", dir);
	struct token *t = token_new(path);
	assert_false(token_valid(t, "Bearer old"));
	put(path, "old\n");
	assert_true(token_valid(t, "Bearer old"));
	put(path, "new\n");
	assert_false(token_valid(t, "Bearer old"));
	assert_true(token_valid(t, "Bearer new"));
	/* Written in place: same inode, same size. */
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	(void)fputs("nxw\n", f);
	(void)fclose(f);
	assert_true(token_valid(t, "Bearer nxw"));
	assert_false(token_valid(t, "Bearer new"));
	assert_int_equal(unlink(path), 0);
	assert_false(token_valid(t, "Bearer nxw"));
	token_free(t);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_listed_token_passes_with_any_case_of_the_scheme),
	    cmocka_unit_test(nothing_else_passes),
	    cmocka_unit_test(an_empty_list_lets_nobody_in),
	    cmocka_unit_test(a_rotated_file_counts_from_the_next_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
