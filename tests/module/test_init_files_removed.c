/* What is made in a directory that somebody removes again and again: it is
 * made all the same. Needs root. */
#include "../wait.h"
#include "tar_fixture.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 200

/* It lets go for as long as a walk takes a few times: to be made all the same
 * is a matter of luck, too. */
static void
remove_on_and_on(void)
{
	static const struct timespec pause = {.tv_nsec = 200000};

	for (;;) {
		(void)unlink("r/s/t/f");
		(void)unlink("r/s/t/l");
		(void)rmdir("r/s/t/d");
		(void)rmdir("r/s/t");
		(void)rmdir("r/s");
		(void)rmdir("r");
		(void)nanosleep(&pause, NULL);
	}
}

static int
put_one(void)
{
	return file_put("r/s/t/f", "x", 1);
}

static int
make_one(void)
{
	return file_do(WIRE_FILE_MKDIR, "r/s/t/d");
}

static int
unpack_one(void)
{
	const struct tar_entry directory = {
	    .type = TAR_DIRECTORY, .name = "r/s/t/d", .mode = 0755};
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);

	archive_add(&a, &directory, NULL);
	archive_file(&a, "r/s/t/f", "x");
	archive_link(&a, TAR_SYMLINK, "r/s/t/l", "f");
	archive_file(&a, "r/s/t/f", "y");
	tar_put_end(&a);
	return archive_unpack("", &a);
}

static void
is_always_made(int (*make)(void))
{
	file_need_root();
	pid_t remover = file_background(remove_on_and_on);
	for (int i = 0; i < ROUNDS; i++) {
		int why = make();

		if (why != 0)
			fail_msg("round %d: %d, %s", i, why, file_text);
	}
	file_stop(remover);
}

static void
a_file_is_put_where_directories_are_removed(void **state)
{
	(void)state;
	is_always_made(put_one);
}

static void
a_directory_is_made_where_those_above_are_removed(void **state)
{
	(void)state;
	is_always_made(make_one);
}

static void
an_archive_is_unpacked_where_directories_are_removed(void **state)
{
	(void)state;
	is_always_made(unpack_one);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, file_open_run, file_close_run)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_file_is_put_where_directories_are_removed),
	    TEST(a_directory_is_made_where_those_above_are_removed),
	    TEST(an_archive_is_unpacked_where_directories_are_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
