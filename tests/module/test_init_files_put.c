/* Writing files of a run: PUT. Needs root. */
#include "../wait.h"
#include "file_fixture.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define BIG (5u << 20)

static void
need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static struct stat
look(const char *path)
{
	struct stat st;

	if (lstat(file_at(path), &st) != 0)
		fail_msg("%s is not there", path);
	return st;
}

static void
has(const char *path, const char *text)
{
	BUF_AUTO out = BUF_INIT(1000);

	assert_int_equal(file_get(path, &out), 0);
	assert_string_equal(out.data, text);
}

/* The names in /work are just these, all in one text. */
static void
work_is(const char *all)
{
	BUF_AUTO names = BUF_INIT(10000);
	size_t count, expected = 0;

	assert_int_equal(file_list("", &names, &count), 0);
	for (const char *at = all; *at != '\0';) {
		char name[100];
		size_t size = strcspn(at, " ");

		memcpy(name, at, size);
		name[size] = '\0';
		assert_true(file_has_name(&names, name));
		at += size + strspn(at + size, " ");
		expected++;
	}
	assert_int_equal(count, expected);
}

/* -- what is written ------------------------------------------------------- */

static void
a_new_file_is_the_user_s_with_its_parents(void **state)
{
	char *big = malloc(BIG);
	BUF_AUTO out = BUF_INIT(BIG);

	(void)state;
	need_root();
	for (unsigned i = 0; i < BIG; i++)
		big[i] = (char)(i * 7 / 3);
	assert_int_equal(file_put("d/e/big", big, BIG), 0);
	assert_int_equal(file_get("d/e/big", &out), 0);
	assert_int_equal(out.size, BIG);
	assert_memory_equal(out.data, big, BIG);
	free(big);
	assert_int_equal(look("/work/d/e/big").st_mode, S_IFREG | 0644);
	assert_int_equal(look("/work/d/e/big").st_uid, FILE_USER);
	assert_int_equal(look("/work/d/e/big").st_gid, FILE_USER);
	assert_int_equal(look("/work/d").st_mode, S_IFDIR | 0755);
	assert_int_equal(look("/work/d/e").st_mode, S_IFDIR | 0755);
	assert_int_equal(look("/work/d/e").st_uid, FILE_USER);
	assert_int_equal(file_put("empty", "", 0), 0);
	has("empty", "");
	assert_int_equal(file_put("a\n\xff", "odd", 3), 0);
	has("a\n\xff", "odd");
	work_is("d empty a\n\xff");
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
	need_root();
	file_inside(make_modes);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		(void)snprintf(path, sizeof(path), "/work/m%zu", i);
		ino_t before = look(path).st_ino;

		assert_int_equal(file_put(path + 6, "new", 3), 0);
		assert_int_equal(look(path).st_mode, S_IFREG | modes[i]);
		assert_true(look(path).st_ino != before);
	}
}

static void
what_another_s_file_let_one_be_is_not_kept(void **state)
{
	(void)state;
	need_root();
	pid1_put_file(&file_run, "/work/roots", "x", 1, 04755);
	assert_int_equal(chmod(file_at("/work/roots"), 06755), 0);
	assert_int_equal(file_put("roots", "mine", 4), 0);
	assert_int_equal(look("/work/roots").st_uid, FILE_USER);
	assert_int_equal(look("/work/roots").st_mode, S_IFREG | 0755);
}

static void
a_reader_sees_the_old_file_or_the_new_one(void **state)
{
	char bytes[100];

	(void)state;
	need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	FD_AUTO fd = open(file_at("/work/a"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(file_put("a", "new one", 7), 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 3);
	has("a", "new one");
	work_is("a");
}

static void
without_proc_files_are_written_too(void **state)
{
	(void)state;
	need_root();
	file_without_proc();
	assert_int_equal(file_put("d/a", "old", 3), 0);
	assert_int_equal(file_put("d/a", "new", 3), 0);
	has("d/a", "new");
	assert_int_equal(look("/work/d/a").st_mode, S_IFREG | 0644);
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
	need_root();
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
	work_is("d locked to-d a");
}

static void
more_than_the_limit_is_refused(void **state)
{
	const struct wire_file x = {.path = "a", .limit = 100000};
	char *bytes = calloc(1, 200000);

	(void)state;
	need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	assert_int_equal(file_put_x(&x, bytes, 100001), WIRE_FAIL_LARGE);
	assert_int_equal(file_put_x(&x, bytes, 200000), WIRE_FAIL_LARGE);
	has("a", "old");
	assert_int_equal(file_put_x(&x, bytes, 100000), 0);
	assert_int_equal(look("/work/a").st_size, 100000);
	work_is("a");
	free(bytes);
}

static void
a_full_disk_leaves_the_old_file(void **state)
{
	char *bytes = calloc(1, BIG);

	(void)state;
	need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	assert_int_equal(file_put("a", bytes, BIG), WIRE_FAIL_SPACE);
	has("a", "old");
	assert_int_equal(file_put("new/b", bytes, BIG), WIRE_FAIL_SPACE);
	work_is("a new");
	assert_int_equal(file_put("c", bytes, 500000), 0);
	/* The old one is there until the new one is whole. */
	assert_int_equal(file_put("c", bytes, 700000), WIRE_FAIL_SPACE);
	assert_int_equal(look("/work/c").st_size, 500000);
	free(bytes);
}

/* -- what is cut ----------------------------------------------------------- */

static void
begin(struct file_call *c, const char *path, uint64_t generation)
{
	const struct wire_file x = {
	    .what = WIRE_FILE_PUT, .path = path, .generation = generation};
	const char *payload;
	size_t size;

	file_start(c, &x);
	assert_int_equal(file_next(c, &payload, &size), WIRE_STARTED);
}

static void
an_upload_that_is_cut_anywhere_leaves_the_old_file(void **state)
{
	static char frame[WIRE_HEAD + WIRE_CHUNK];
	struct file_call c;

	(void)state;
	need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	wire_head(frame, WIRE_DATA, WIRE_CHUNK);
	for (int frames = 0; frames < 6; frames++) {
		for (size_t more = 0; more < sizeof(frame);
		     more += more < 6 ? 1 : 40000) {
			begin(&c, "a", 0);
			for (int i = 0; i < frames; i++)
				assert_true(file_tell(
				    &c, WIRE_DATA, frame, WIRE_CHUNK));
			assert_int_equal(
			    write(c.fd, frame, more), (ssize_t)more);
			file_leave(&c);
			wait_until(file_handlers() == 0, PATIENCE_MS);
			has("a", "old");
			wait_until(file_handlers() == 0, PATIENCE_MS);
		}
	}
	work_is("a");
}

static void
a_cut_upload_without_proc_leaves_nothing(void **state)
{
	struct file_call c;

	(void)state;
	need_root();
	file_without_proc();
	assert_int_equal(file_put("a", "old", 3), 0);
	begin(&c, "a", 0);
	assert_true(file_tell(&c, WIRE_DATA, "new", 3));
	wait_until(file_handlers() == 1, PATIENCE_MS);
	file_leave(&c);
	wait_until(file_handlers() == 0, PATIENCE_MS);
	has("a", "old");
	work_is("a");
}

static void
nonsense_in_an_upload_ends_it(void **state)
{
	static const enum wire_type nonsense[] = {
	    WIRE_STDIN, WIRE_STARTED, WIRE_KILL, WIRE_DONE};
	struct file_call c;

	(void)state;
	need_root();
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		begin(&c, "a", 0);
		assert_true(file_tell(&c, WIRE_DATA, "new", 3));
		assert_true(file_tell(&c, nonsense[i], NULL, 0));
		assert_int_equal(file_finish(&c), FILE_CUT);
	}
	begin(&c, "a", 0);
	assert_int_equal(write(c.fd, "\xff\xff\xff\xff\x20", 5), 5);
	assert_int_equal(file_finish(&c), FILE_CUT);
	begin(&c, "a", 0);
	assert_int_equal(write(c.fd, "\0\0\x10\0\x01", 5), 5);
	assert_int_equal(file_finish(&c), FILE_CUT);
	work_is("");
}

static void
a_killed_handler_leaves_nothing(void **state)
{
	char *bytes = calloc(1, WIRE_CHUNK);
	struct file_call c;

	(void)state;
	need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	wait_until(file_handlers() == 0, PATIENCE_MS);
	for (int i = 0; i < 50; i++) {
		begin(&c, "a", 0);
		for (int n = 0; n < i % 5; n++)
			assert_true(
			    file_tell(&c, WIRE_DATA, bytes, WIRE_CHUNK));
		assert_int_equal(pid1_signal_children(&file_run, SIGKILL), 1);
		assert_int_equal(file_finish(&c), FILE_CUT);
		wait_until(file_handlers() == 0, PATIENCE_MS);
	}
	has("a", "old");
	work_is("a");
	free(bytes);
}

static void
signals_of_the_run_do_not_end_an_upload(void **state)
{
	struct file_call c;

	(void)state;
	need_root();
	begin(&c, "a", 0);
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			assert_int_equal(
			    pid1_signal_children(&file_run, sig), 1);
	assert_true(file_tell(&c, WIRE_DATA, "new", 3));
	assert_true(file_tell(&c, WIRE_DATA_END, NULL, 0));
	assert_int_equal(file_finish(&c), 0);
	has("a", "new");
}

/* -- the fence ------------------------------------------------------------- */

static void
a_fence_ends_an_upload_and_undoes_it(void **state)
{
	struct file_call idle, fed, younger;
	char *bytes = calloc(1, WIRE_CHUNK);

	(void)state;
	need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	begin(&idle, "a", 0);
	begin(&fed, "b", 3);
	begin(&younger, "c", 4);
	assert_true(file_tell(&fed, WIRE_DATA, bytes, WIRE_CHUNK));
	int64_t before = clock_mono_ms();
	file_fence(4);
	/* Not by the kill of all that comes after three seconds. */
	assert_true(clock_mono_ms() - before < 2500);
	assert_int_equal(file_finish(&idle), WIRE_FAIL_FENCED);
	assert_int_equal(file_finish(&fed), WIRE_FAIL_FENCED);
	assert_true(file_tell(&younger, WIRE_DATA, "new", 3));
	assert_true(file_tell(&younger, WIRE_DATA_END, NULL, 0));
	assert_int_equal(file_finish(&younger), 0);
	has("a", "old");
	has("c", "new");
	work_is("a c");
	free(bytes);
}

static void
a_change_that_comes_late_is_refused_and_a_read_is_not(void **state)
{
	struct wire_file x = {.path = "a", .to = "b", .generation = 4};

	(void)state;
	need_root();
	assert_int_equal(file_put_x(&x, "old", 3), 0);
	file_fence(5);
	assert_int_equal(file_put_x(&x, "new", 3), WIRE_FAIL_FENCED);
	for (int what = WIRE_FILE_MKDIR; what <= WIRE_FILE_REMOVE; what++) {
		x.what = (enum wire_file_what)what;
		assert_int_equal(file_do_x(&x), WIRE_FAIL_FENCED);
	}
	has("a", "old");
	x.generation = 5;
	assert_int_equal(file_put_x(&x, "new", 3), 0);
	has("a", "new");
	work_is("a");
}

static void
a_fence_leaves_a_read_alone(void **state)
{
	const struct wire_file x = {.what = WIRE_FILE_GET, .path = "a"};
	const struct wire_read all = {0, INT64_MAX};
	BUF_AUTO frame = BUF_INIT(100);
	struct file_call c;
	const char *payload;
	size_t size;

	(void)state;
	need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	file_start(&c, &x);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_STAT);
	file_fence(7);
	wire_put_read(&frame, &all);
	assert_int_equal(
	    write(c.fd, frame.data, frame.size), (ssize_t)frame.size);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_DATA);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_DATA_END);
	file_leave(&c);
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
	need_root();
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
	work_is("same");
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
	    TEST(an_upload_that_is_cut_anywhere_leaves_the_old_file),
	    TEST(a_cut_upload_without_proc_leaves_nothing),
	    TEST(nonsense_in_an_upload_ends_it),
	    TEST(a_killed_handler_leaves_nothing),
	    TEST(signals_of_the_run_do_not_end_an_upload),
	    TEST(a_fence_ends_an_upload_and_undoes_it),
	    TEST(a_change_that_comes_late_is_refused_and_a_read_is_not),
	    TEST(a_fence_leaves_a_read_alone),
	    TEST(writers_at_once_never_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
