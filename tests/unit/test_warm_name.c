/* run/warm_name: repositories, and where a warm volume may be mounted. */
#include "../check.h"
#include "run/warm_name.h"

#include <stdio.h>
#include <string.h>

#define S63 "a23456789012345678901234567890123456789012345678901234567890123"
#define S64 S63 "4"

static void
repositories_are_two_or_more_segments_in_lower_case(void **state)
{
	static const struct {
		const char *text, *repo, *file;
	} good[] = {
	    {"acme/site", "acme/site", "acme+site"},
	    {"Acme/Site.Web_2-x", "acme/site.web_2-x", "acme+site.web_2-x"},
	    {"a/b", "a/b", "a+b"},
	    {"0/9", "0/9", "0+9"},
	    {"a/b/c/d", "a/b/c/d", "a+b+c+d"},
	    {"a..b/c", "a..b/c", "a..b+c"},
	    {"a-/b_", "a-/b_", "a-+b_"},
	    {S63 "/" S63, S63 "/" S63, S63 "+" S63},
	    {S63 "/" S63 "/" S63 "/a2345678901234567890123456",
		S63 "/" S63 "/" S63 "/a2345678901234567890123456",
		S63 "+" S63 "+" S63 "+a2345678901234567890123456"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char repo[WARM_REPO_SIZE], name[WARM_REPO_SIZE];
		struct err e = ERR_INIT;

		check_ok(warm_repo_read(good[i].text, repo, &e), &e);
		assert_string_equal(repo, good[i].repo);
		warm_repo_file(repo, name);
		assert_string_equal(name, good[i].file);
		assert_int_equal(warm_repo_of_file(name, repo), 0);
		assert_string_equal(repo, good[i].repo);
	}
}

static void
what_is_no_repository_is_refused_with_the_rule(void **state)
{
	static const char *const bad[] = {"", "acme", "/", "acme/", "/site",
	    "acme//site", "acme/site/", "../site", "acme/..", "./site",
	    "acme/.", "acme/.git", "-acme/site", "_a/b", "acme/site.",
	    "acme./site", "acme/si te", "acme/site\n", "acme+site/x", "a+b",
	    "acme/\xc3\xa9", "acme:site/x", "acme\\site/x", "a/b%2f", "a/*",
	    S64 "/b", "a/" S64,
	    S63 "/" S63 "/" S63 "/a23456789012345678901234567890"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char repo[WARM_REPO_SIZE] = "untouched";
		struct err e = ERR_INIT;

		check_fails(warm_repo_read(bad[i], repo, &e), &e, ERR_INPUT);
		assert_string_equal(repo, "untouched");
		assert_non_null(strstr(e.text, "owner/name"));
	}
}

static void
files_that_stand_for_no_repository_are_told_apart(void **state)
{
	static const char *const bad[] = {"", "a", "a/b", "a++b", "+a+b",
	    "a+b+", "A+b", "..+x", "lock", "a+b.", S64 "+b"};
	char repo[WARM_REPO_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(warm_repo_of_file(bad[i], repo), -1);
}

static void
paths_are_absolute_and_plain(void **state)
{
	static const struct {
		const char *text, *path;
	} good[] = {
	    {"/work", "/work"},
	    {"/work/", "/work"},
	    {"/srv/dev/My Repo", "/srv/dev/My Repo"},
	    {"/a", "/a"},
	    {"/...", "/..."},
	    {"/.hidden/..x", "/.hidden/..x"},
	    {"/procs", "/procs"},
	    {"/libs/x", "/libs/x"},
	    {"/usr2", "/usr2"},
	    {"/srv/etc", "/srv/etc"},
	    {"/var/run", "/var/run"},
	    {"/tmp", "/tmp"},
	    {"/root", "/root"},
	    {"/.sbxx", "/.sbxx"},
	    {"/gr\xc3\xbc\xc3\x9f", "/gr\xc3\xbc\xc3\x9f"},
	    {"/a:b,c=\"d\"", "/a:b,c=\"d\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char path[WARM_PATH_SIZE];
		struct err e = ERR_INIT;

		check_ok(warm_path_read(good[i].text, path, &e), &e);
		assert_string_equal(path, good[i].path);
	}
}

static void
other_paths_are_refused_with_the_rule(void **state)
{
	static const char *const bad[] = {"", "/", "//", "work", "./work",
	    "/work//", "//work", "/work/../etc", "/..", "/.", "/work/.",
	    "/work/./x", "/a\nb", "/a\x7f", "/a\x01", "/\xff\xfe", "/\xc3",
	    "~/x", "\\work"};
	static const char *const taken[] = {"/proc", "/proc/", "/proc/1",
	    "/sys", "/sys/fs", "/dev", "/dev/shm", "/etc", "/etc/x", "/bin",
	    "/bin/sh", "/usr", "/usr/local", "/lib", "/lib/x", "/lib32",
	    "/lib64/x", "/sbin", "/boot", "/run", "/run/x", "/.sbx",
	    "/.sbx/vol"};
	char path[WARM_PATH_SIZE] = "untouched", large[WARM_PATH_SIZE + 1];
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_fails(warm_path_read(bad[i], path, &e), &e, ERR_INPUT);
		assert_non_null(strstr(e.text, "absolute"));
	}
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		check_fails(warm_path_read(taken[i], path, &e), &e, ERR_INPUT);
		assert_non_null(strstr(e.text, "lives from"));
	}
	/* A segment, and the whole, have a longest length. */
	memset(large, 'x', sizeof(large));
	large[0] = '/';
	large[256] = '\0';
	check_ok(warm_path_read(large, path, &e), &e);
	large[256] = 'x';
	large[257] = '\0';
	check_fails(warm_path_read(large, path, &e), &e, ERR_INPUT);
	for (size_t i = 0; i < WARM_PATH_SIZE; i += 64)
		large[i] = '/';
	large[257] = 'x';
	large[WARM_PATH_SIZE - 1] = '\0';
	check_ok(warm_path_read(large, path, &e), &e);
	large[WARM_PATH_SIZE - 1] = 'x';
	large[WARM_PATH_SIZE] = '\0';
	check_fails(warm_path_read(large, path, &e), &e, ERR_INPUT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		repositories_are_two_or_more_segments_in_lower_case),
	    cmocka_unit_test(what_is_no_repository_is_refused_with_the_rule),
	    cmocka_unit_test(files_that_stand_for_no_repository_are_told_apart),
	    cmocka_unit_test(paths_are_absolute_and_plain),
	    cmocka_unit_test(other_paths_are_refused_with_the_rule),
	};

	return cmocka_run_group_tests_name("warm_name", tests, NULL, NULL);
}
