/* Uploads that are cut, killed or fenced. Needs root. */
#include "../wait.h"
#include "file_fixture.h"
#include "lib/fd.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define PATIENCE_MS 60000

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
	file_need_root();
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
			file_has("a", "old");
			wait_until(file_handlers() == 0, PATIENCE_MS);
		}
	}
	file_work_is("a");
}

static void
a_cut_upload_without_proc_leaves_nothing(void **state)
{
	struct file_call c;

	(void)state;
	file_need_root();
	file_without_proc();
	assert_int_equal(file_put("a", "old", 3), 0);
	begin(&c, "a", 0);
	assert_true(file_tell(&c, WIRE_DATA, "new", 3));
	wait_until(file_handlers() == 1, PATIENCE_MS);
	file_leave(&c);
	wait_until(file_handlers() == 0, PATIENCE_MS);
	file_has("a", "old");
	file_work_is("a");
}

static void
nonsense_in_an_upload_ends_it(void **state)
{
	static const enum wire_type nonsense[] = {
	    WIRE_STDIN, WIRE_STARTED, WIRE_KILL, WIRE_DONE};
	struct file_call c;

	(void)state;
	file_need_root();
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
	file_work_is("");
}

static void
a_killed_handler_leaves_nothing(void **state)
{
	char *bytes = calloc(1, WIRE_CHUNK);
	struct file_call c;

	(void)state;
	file_need_root();
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
	file_has("a", "old");
	file_work_is("a");
	free(bytes);
}

static void
signals_of_the_run_do_not_end_an_upload(void **state)
{
	struct file_call c;

	(void)state;
	file_need_root();
	begin(&c, "a", 0);
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			assert_int_equal(
			    pid1_signal_children(&file_run, sig), 1);
	assert_true(file_tell(&c, WIRE_DATA, "new", 3));
	assert_true(file_tell(&c, WIRE_DATA_END, NULL, 0));
	assert_int_equal(file_finish(&c), 0);
	file_has("a", "new");
}

/* -- the fence ------------------------------------------------------------- */

static void
a_fence_ends_an_upload_and_undoes_it(void **state)
{
	struct file_call idle, fed, younger;
	char *bytes = calloc(1, WIRE_CHUNK);

	(void)state;
	file_need_root();
	assert_int_equal(file_put("a", "old", 3), 0);
	begin(&idle, "a", 0);
	begin(&fed, "b", 3);
	begin(&younger, "c", 4);
	assert_true(file_tell(&fed, WIRE_DATA, bytes, WIRE_CHUNK));
	file_fence(4);
	/* Not by the kill of all that comes after three seconds: they tell. */
	assert_int_equal(file_finish(&idle), WIRE_FAIL_FENCED);
	assert_int_equal(file_finish(&fed), WIRE_FAIL_FENCED);
	assert_true(file_tell(&younger, WIRE_DATA, "new", 3));
	assert_true(file_tell(&younger, WIRE_DATA_END, NULL, 0));
	assert_int_equal(file_finish(&younger), 0);
	file_has("a", "old");
	file_has("c", "new");
	file_work_is("a c");
	free(bytes);
}

static void
a_change_that_comes_late_is_refused_and_a_read_is_not(void **state)
{
	struct wire_file x = {.path = "a", .to = "b", .generation = 4};

	(void)state;
	file_need_root();
	assert_int_equal(file_put_x(&x, "old", 3), 0);
	file_fence(5);
	assert_int_equal(file_put_x(&x, "new", 3), WIRE_FAIL_FENCED);
	for (int what = WIRE_FILE_MKDIR; what <= WIRE_FILE_REMOVE; what++) {
		x.what = (enum wire_file_what)what;
		assert_int_equal(file_do_x(&x), WIRE_FAIL_FENCED);
	}
	file_has("a", "old");
	x.generation = 5;
	assert_int_equal(file_put_x(&x, "new", 3), 0);
	file_has("a", "new");
	file_work_is("a");
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
	file_need_root();
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

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, file_open_run, file_close_run)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(an_upload_that_is_cut_anywhere_leaves_the_old_file),
	    TEST(a_cut_upload_without_proc_leaves_nothing),
	    TEST(nonsense_in_an_upload_ends_it),
	    TEST(a_killed_handler_leaves_nothing),
	    TEST(signals_of_the_run_do_not_end_an_upload),
	    TEST(a_fence_ends_an_upload_and_undoes_it),
	    TEST(a_change_that_comes_late_is_refused_and_a_read_is_not),
	    TEST(a_fence_leaves_a_read_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
