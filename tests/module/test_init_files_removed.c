/* What is made in a directory that somebody removes again and again: it is
 * made all the same. Needs root. */
#include "../wait.h"
#include "tar_fixture.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS 200

/* How many directories may be removed yet: under each call fewer than it has
 * tries (BENEATH_AGAIN), so that none has to fail however busy the box is. */
#define MOST 12
static struct {
	_Atomic int left;
} * shared;

static void
remove_directory(const char *path)
{
	if (rmdir(path) == 0)
		(void)atomic_fetch_sub(&shared->left, 1);
}

static void
remove_on_and_on(void)
{
	for (;;) {
		if (atomic_load(&shared->left) < 4) {
			(void)poll(NULL, 0, 1);
			continue;
		}
		(void)unlink("r/s/t/f");
		(void)unlink("r/s/t/l");
		remove_directory("r/s/t/d");
		remove_directory("r/s/t");
		remove_directory("r/s");
		remove_directory("r");
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
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	pid_t remover = file_background(remove_on_and_on);
	for (int i = 0; i < ROUNDS; i++) {
		atomic_store(&shared->left, MOST);
		int why = make();

		if (why != 0)
			fail_msg("round %d: %d, %s", i, why, file_text);
	}
	file_stop(remover);
	(void)munmap(shared, sizeof(*shared));
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
