/* Writing files of a run: PUT. Needs root. */
#include "../wait.h"
#include "file_fixture.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define BIG (5u << 20)

/* -- what is written ------------------------------------------------------- */

static void
a_new_file_is_the_user_s_with_its_parents(void **state)
{
	char *big = malloc(BIG);
	BUF_AUTO out = BUF_INIT(BIG);

	(void)state;
	file_need_root();
	for (unsigned i = 0; i < BIG; i++)
		big[i] = (char)(i * 7 / 3);
	assert_int_equal(file_put("d/e/big", big, BIG), 0);
	assert_int_equal(file_get("d/e/big", &out), 0);
	assert_int_equal(out.size, BIG);
	assert_memory_equal(out.data, big, BIG);
	free(big);
	assert_int_equal(file_look("/work/d/e/big").st_mode, S_IFREG | 0644);
	assert_int_equal(file_look("/work/d/e/big").st_uid, FILE_USER);
	assert_int_equal(file_look("/work/d/e/big").st_gid, FILE_USER);
	assert_int_equal(file_look("/work/d").st_mode, S_IFDIR | 0755);
	assert_int_equal(file_look("/work/d/e").st_mode, S_IFDIR | 0755);
	assert_int_equal(file_look("/work/d/e").st_uid, FILE_USER);
	assert_int_equal(file_put("empty", "", 0), 0);
	file_has("empty", "");
	assert_int_equal(file_put("a\n\xff", "odd", 3), 0);
	file_has("a\n\xff", "odd");
	file_work_is("d empty a\n\xff");
}

static void
make_modes(void)
{
	static const mode_t modes[] = {0600, 0751, 0444, 04755, 02755, 01644};
	char path[40];

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		(void)snprintf(path, sizeof(path), "/work/m%zu", i);
		int fd = open(path, O_WRONLY | O_CREAT, 0644);

		if (fd < 0 || fchmod(fd, modes[i]) != 0)
			_exit(1);
	}
}

static void
a_replaced_file_keeps_its_mode(void **state)
{
	static const mode_t modes[] = {0600, 0751, 0444, 04755, 02755, 01644};
	char path[40];

	(void)state;
	file_need_root();
	file_inside(make_modes);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		(void)snprintf(path, sizeof(path), "/work/m%zu", i);
		ino_t before = file_look(path).st_ino;

		assert_int_equal(file_put(path + 6, "new", 3), 0);
		assert_int_equal(file_look(path).st_mode, S_IFREG | modes[i]);
		assert_true(file_look(path).st_ino != before);
	}
}

static void
what_another_s_file_let_one_be_is_not_kept(void **state)
{
	(void)state;
	file_need_root();
	pid1_put_file(&file_run, "/work/roots", "x", 1, 04755);
	assert_int_equal(chmod(file_at("/work/roots"), 06755), 0);
	assert_int_equal(file_put("roots", "mine", 4), 0);
	assert_int_equal(file_look("/work/roots").st_uid, FILE_USER);
	assert_int_equal(file_look("/work/roots").st_mode, S_IFREG | 0755);
}

static void
a_reader_sees_the_old_file_or_the_new_one(void **state)
{
	char bytes[100];

	(void)state;
	file_need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	FD_AUTO fd = open(file_at("/work/a"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(file_put("a", "new one", 7), 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 3);
	file_has("a", "new one");
	file_work_is("a");
}

static void
without_proc_files_are_written_too(void **state)
{
	(void)state;
	file_need_root();
	file_without_proc();
	assert_int_equal(file_put("d/a", "old", 3), 0);
	assert_int_equal(file_put("d/a", "new", 3), 0);
	file_has("d/a", "new");
	assert_int_equal(file_look("/work/d/a").st_mode, S_IFREG | 0644);
	assert_int_equal(file_do(WIRE_FILE_REMOVE, "d/a"), 0);
	assert_int_equal(rmdir(file_at("/work/d")), 0);
}

/* -- what is refused ------------------------------------------------------- */

static void
make_directory(void)
{
	if (mkdir("/work/d", 0755) != 0 || mkdir("/work/locked", 0555) != 0 ||
	    symlink("d", "/work/to-d") != 0 || symlink("..", "/work/d/up") != 0)
		_exit(1);
}

static void
directories_are_not_written_to(void **state)
{
	(void)state;
	file_need_root();
	file_inside(make_directory);
	assert_int_equal(file_put("d", "x", 1), WIRE_FAIL_DIRECTORY);
	assert_int_equal(file_put("", "x", 1), WIRE_FAIL_DIRECTORY);
	assert_int_equal(file_put("to-d", "x", 1), WIRE_FAIL_DIRECTORY);
	assert_int_equal(file_put("d/up", "x", 1), WIRE_FAIL_DIRECTORY);
	assert_int_equal(file_put("locked/a", "x", 1), WIRE_FAIL_DENIED);
	assert_int_equal(file_put("locked/a/b", "x", 1), WIRE_FAIL_DENIED);
	assert_int_equal(file_put("a", "x", 1), 0);
	assert_int_equal(file_put("a/b", "x", 1), WIRE_FAIL_NOT_DIRECTORY);
	assert_int_equal(file_put("a/b/c", "x", 1), WIRE_FAIL_NOT_DIRECTORY);
	file_work_is("d locked to-d a");
}

static void
more_than_the_limit_is_refused(void **state)
{
	const struct wire_file x = {.path = "a", .limit = 100000};
	char *bytes = calloc(1, 200000);

	(void)state;
	file_need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	assert_int_equal(file_put_x(&x, bytes, 100001), WIRE_FAIL_LARGE);
	assert_int_equal(file_put_x(&x, bytes, 200000), WIRE_FAIL_LARGE);
	file_has("a", "old");
	assert_int_equal(file_put_x(&x, bytes, 100000), 0);
	assert_int_equal(file_look("/work/a").st_size, 100000);
	file_work_is("a");
	free(bytes);
}

static void
a_full_disk_leaves_the_old_file(void **state)
{
	char *bytes = calloc(1, BIG);

	(void)state;
	file_need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	assert_int_equal(file_put("a", bytes, BIG), WIRE_FAIL_SPACE);
	file_has("a", "old");
	assert_int_equal(file_put("new/b", bytes, BIG), WIRE_FAIL_SPACE);
	file_work_is("a new");
	assert_int_equal(file_put("c", bytes, 500000), 0);
	/* The old one is there until the new one is whole. */
	assert_int_equal(file_put("c", bytes, 700000), WIRE_FAIL_SPACE);
	assert_int_equal(file_look("/work/c").st_size, 500000);
	free(bytes);
}

/* -- at once --------------------------------------------------------------- */

#define WRITERS 4
#define ROUNDS 50
#define SAME (300u << 10)

static _Noreturn void
write_same(int number)
{
	char *bytes = malloc(SAME);

	memset(bytes, 'a' + number, SAME);
	for (int i = 0; i < ROUNDS; i++)
		if (file_put("same", bytes, SAME) != 0)
			_exit(1);
	_exit(0);
}

static void
writers_at_once_never_mix(void **state)
{
	BUF_AUTO out = BUF_INIT(2 * SAME);
	pid_t writer[WRITERS];
	int status;

	(void)state;
	file_need_root();
	assert_int_equal(file_put("same", "", 0), 0);
	for (int i = 0; i < WRITERS; i++)
		if ((writer[i] = fork()) == 0)
			write_same(i);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(file_get("same", &out), 0);
		assert_true(out.size == 0 || out.size == SAME);
		for (size_t at = 1; at < out.size; at++)
			if (out.data[at] != out.data[0])
				fail_msg("two files in one, at %zu", at);
	}
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(writer[i], &status, 0), writer[i]);
		assert_int_equal(status, 0);
	}
	file_work_is("same");
}

/* -- conditions ------------------------------------------------------------ */

static struct wire_file
put_if(const char *path, enum wire_condition condition)
{
	return (struct wire_file){
	    .what = WIRE_FILE_PUT, .path = path, .condition = condition};
}

/* What is there now, among others. */
static struct wire_file
put_if_same(const char *path)
{
	struct wire_file x = put_if(path, WIRE_SAME);
	struct wire_stat st;

	assert_int_equal(file_stat(path, &st), 0);
	x.same_count = 3;
	x.same[0] = (struct wire_same){st.tag, st.size + 1};
	x.same[1] = (struct wire_same){st.tag + 1, st.size};
	x.same[2] = (struct wire_same){st.tag, st.size};
	return x;
}

static void
a_condition_that_does_not_hold_changes_nothing(void **state)
{
	const struct wire_file absent = put_if("f", WIRE_ABSENT);
	const struct wire_file present = put_if("f", WIRE_PRESENT);
	const struct wire_file other = put_if("f", WIRE_SAME);

	(void)state;
	file_need_root();
	assert_int_equal(file_put_x(&present, "1", 1), WIRE_FAIL_CONDITION);
	assert_int_equal(file_put_x(&other, "1", 1), WIRE_FAIL_CONDITION);
	file_work_is("");
	assert_int_equal(file_put_x(&absent, "2", 1), 0);
	assert_int_equal(file_put_x(&absent, "3", 1), WIRE_FAIL_CONDITION);
	assert_int_equal(file_put_x(&other, "4", 1), WIRE_FAIL_CONDITION);
	file_has("f", "2");
	assert_int_equal(file_put_x(&present, "5", 1), 0);
	file_has("f", "5");
	const struct wire_file same = put_if_same("f");
	assert_int_equal(file_put_x(&same, "66", 2), 0);
	assert_int_equal(file_put_x(&same, "7", 1), WIRE_FAIL_CONDITION);
	file_has("f", "66");
	file_work_is("f");
}

/* It is looked at when the file takes its place, not only before. */
static void
a_file_that_comes_under_an_upload_counts(void **state)
{
	static const enum wire_condition conditions[] = {
	    WIRE_ABSENT, WIRE_SAME};
	struct file_call c;

	(void)state;
	file_need_root();
	for (size_t i = 0; i < 2; i++) {
		const char *payload;
		size_t size;
		const struct wire_file x = conditions[i] == WIRE_SAME
					       ? put_if_same("f")
					       : put_if("f", WIRE_ABSENT);

		file_start(&c, &x);
		assert_int_equal(file_next(&c, &payload, &size), WIRE_STARTED);
		assert_int_equal(file_put("f", "mine", 4), 0);
		assert_true(file_tell(&c, WIRE_DATA, "late", 4));
		assert_true(file_tell(&c, WIRE_DATA_END, NULL, 0));
		assert_int_equal(file_finish(&c), WIRE_FAIL_CONDITION);
		file_has("f", "mine");
	}
	file_work_is("f");
}

static void
without_proc_conditions_hold_too(void **state)
{
	const struct wire_file x = put_if("f", WIRE_ABSENT);

	(void)state;
	file_need_root();
	file_without_proc();
	assert_int_equal(file_put_x(&x, "1", 1), 0);
	assert_int_equal(file_put_x(&x, "2", 1), WIRE_FAIL_CONDITION);
	file_has("f", "1");
	file_work_is("f");
}

/* Read, add one, write back if it is still the same; again until it was. */
static void
count_up(int times)
{
	BUF_AUTO out = BUF_INIT(100);
	char text[32];

	while (times > 0) {
		const struct wire_file x = put_if_same("n");

		if (file_get("n", &out) != 0)
			_exit(1);
		(void)snprintf(
		    text, sizeof(text), "%ld", strtol(out.data, NULL, 10) + 1);
		int why = file_put_x(&x, text, strlen(text));
		if (why != 0 && why != WIRE_FAIL_CONDITION)
			_exit(1);
		times -= why == 0;
	}
	_exit(0);
}

#define COUNTERS 4
#define COUNTS 50

static void
of_writers_at_once_each_sees_what_the_others_wrote(void **state)
{
	pid_t counter[COUNTERS];
	int status;

	(void)state;
	file_need_root();
	assert_int_equal(file_put("n", "0", 1), 0);
	for (int i = 0; i < COUNTERS; i++)
		if ((counter[i] = fork()) == 0)
			count_up(COUNTS);
	for (int i = 0; i < COUNTERS; i++) {
		assert_int_equal(waitpid(counter[i], &status, 0), counter[i]);
		assert_int_equal(status, 0);
	}
	file_has("n", "200");
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, file_open_run, file_close_run)
#define SMALL(f) \
	cmocka_unit_test_setup_teardown(f, file_open_small, file_close_small)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_new_file_is_the_user_s_with_its_parents),
	    TEST(a_replaced_file_keeps_its_mode),
	    TEST(what_another_s_file_let_one_be_is_not_kept),
	    TEST(a_reader_sees_the_old_file_or_the_new_one),
	    TEST(without_proc_files_are_written_too),
	    TEST(directories_are_not_written_to),
	    TEST(more_than_the_limit_is_refused),
	    SMALL(a_full_disk_leaves_the_old_file),
	    TEST(writers_at_once_never_mix),
	    TEST(a_condition_that_does_not_hold_changes_nothing),
	    TEST(a_file_that_comes_under_an_upload_counts),
	    TEST(without_proc_conditions_hold_too),
	    TEST(of_writers_at_once_each_sees_what_the_others_wrote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
