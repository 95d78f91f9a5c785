/* lib/passwd: users of an image. */
#include "../check.h"
#include "lib/passwd.h"

#include <stdio.h>

static const char passwd_file[] = "# a comment\n"
				  "root:x:0:0:root:/root:/bin/sh\n"
				  "\n"
				  "broken\n"
				  "evil:x::0::/:\n"
				  "minus:x:-1:-1::/:\n"
				  "huge:x:4294967295:0::/:\n"
				  "user:x:1000:100:a user:/u/user:/bin/sh\n"
				  "short:x:7:8\n"
				  "1234:x:55:55::/by-name:\n"
				  "user:x:2000:2000:second:/second:/bin/sh";
static const char group_file[] = "root:x:0:\n"
				 "users:x:100:\n"
				 "wheel:x:10:root,user\n"
				 "longer:x:11:user2,xuser\n"
				 "docker:x:999:other,user\n"
				 "same:x:100:user\n"
				 "noid:x::user\n";

static struct passwd_user
find(const char *spec)
{
	const struct passwd_text passwd = {
	    passwd_file, sizeof(passwd_file) - 1};
	const struct passwd_text group = {group_file, sizeof(group_file) - 1};
	struct passwd_user u;
	struct err e = ERR_INIT;

	check_ok(passwd_find(spec, passwd, group, &u, &e), &e);
	return u;
}

static void
assert_absent(const char *spec)
{
	const struct passwd_text passwd = {
	    passwd_file, sizeof(passwd_file) - 1};
	const struct passwd_text group = {group_file, sizeof(group_file) - 1};
	struct passwd_user u;
	struct err e = ERR_INIT;

	check_fails(passwd_find(spec, passwd, group, &u, &e), &e, ERR_INPUT);
}

static void
names_and_numbers_find_the_same_entry(void **state)
{
	static const char *const specs[] = {"user", "1000"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct passwd_user u = find(specs[i]);

		assert_int_equal(u.uid, 1000);
		assert_int_equal(u.gid, 100);
		assert_string_equal(u.home, "/u/user");
		assert_int_equal(u.group_count, 3);
		assert_int_equal(u.groups[0], 100);
		assert_int_equal(u.groups[1], 10);
		assert_int_equal(u.groups[2], 999);
	}
}

static void
empty_user_is_root(void **state)
{
	struct passwd_user u = find("");

	(void)state;
	assert_int_equal(u.uid, 0);
	assert_string_equal(u.home, "/root");
	assert_int_equal(u.groups[1], 10);
}

static void
number_without_an_entry_is_taken(void **state)
{
	struct passwd_user u = find("4242");

	(void)state;
	assert_int_equal(u.uid, 4242);
	assert_int_equal(u.gid, 0);
	assert_string_equal(u.home, "/");
	assert_int_equal(u.group_count, 1);
	assert_int_equal(find("1234").uid, 1234); /* not the name "1234" */
}

static void
group_of_the_request_comes_alone(void **state)
{
	struct passwd_user u = find("user:wheel");

	(void)state;
	assert_int_equal(u.uid, 1000);
	assert_int_equal(u.gid, 10);
	assert_int_equal(u.group_count, 1);
	assert_int_equal(u.groups[0], 10);
	assert_int_equal(find("5:77").gid, 77);
	assert_int_equal(find(":docker").gid, 999);
	assert_int_equal(find("user:").gid, 100);
}

static void
entry_with_four_fields_is_enough(void **state)
{
	struct passwd_user u = find("short");

	(void)state;
	assert_int_equal(u.uid, 7);
	assert_string_equal(u.home, "/");
}

static void
who_is_not_there_is_refused(void **state)
{
	(void)state;
	assert_absent("nobody");
	assert_absent("user:nogroup");
	assert_absent("user:noid");
	assert_absent("use");
	assert_absent("users");
	assert_absent("# a comment");
	assert_absent("broken");
}

static void
ids_that_setuid_would_misread_are_refused(void **state)
{
	(void)state;
	assert_absent("evil");
	assert_absent("minus");
	assert_absent("huge");
	assert_absent("-1");
	assert_absent("4294967295");
	assert_absent("2147483648");
	assert_absent("1000:4294967295");
	assert_absent(" 0");
	assert_absent("0x0");
	assert_int_equal(find("2147483647").uid, 2147483647);
}

static void
image_without_files_knows_numbers_only(void **state)
{
	const struct passwd_text none = {NULL, 0};
	struct passwd_user u;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(passwd_find("1000:1001", none, none, &u, &e), &e);
	assert_int_equal(u.uid, 1000);
	assert_int_equal(u.gid, 1001);
	check_ok(passwd_find("", none, none, &u, &e), &e);
	assert_int_equal(u.uid, 0);
	assert_string_equal(u.home, "/");
	check_fails(passwd_find("root", none, none, &u, &e), &e, ERR_INPUT);
}

static void
groups_beyond_the_limit_are_left_out(void **state)
{
	static char lines[PASSWD_GROUPS * 20];
	const struct passwd_text passwd = {
	    passwd_file, sizeof(passwd_file) - 1};
	struct passwd_text group = {lines, 0};
	struct passwd_user u;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < PASSWD_GROUPS + 50; i++)
		group.size += (size_t)snprintf(lines + group.size,
		    sizeof(lines) - group.size, "g:x:%d:user\n", 5000 + i);
	check_ok(passwd_find("user", passwd, group, &u, &e), &e);
	assert_int_equal(u.group_count, PASSWD_GROUPS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_and_numbers_find_the_same_entry),
	    cmocka_unit_test(empty_user_is_root),
	    cmocka_unit_test(number_without_an_entry_is_taken),
	    cmocka_unit_test(group_of_the_request_comes_alone),
	    cmocka_unit_test(entry_with_four_fields_is_enough),
	    cmocka_unit_test(who_is_not_there_is_refused),
	    cmocka_unit_test(ids_that_setuid_would_misread_are_refused),
	    cmocka_unit_test(image_without_files_knows_numbers_only),
	    cmocka_unit_test(groups_beyond_the_limit_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
