/* Reading files of a run: GET, STAT and LIST. Needs root. */
#include "../wait.h"
#include "file_fixture.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define ODD_NAME "a\nb\xff?#%20\t c"

static void
write_file(const char *path, const char *text)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(10);
}

/* -- GET ------------------------------------------------------------------- */

static void
make_plain(void)
{
	write_file("/work/empty", "");
	write_file("/work/a", "0123456789");
	write_file("/work/" ODD_NAME, "odd");
	if (mkdir("/work/d", 0755) != 0 || mkdir("/work/d/e", 0755) != 0)
		_exit(1);
	write_file("/work/d/e/f", "deep");
}

static void
a_file_is_read_whole_or_in_part(void **state)
{
	BUF_AUTO out = BUF_INIT(1000);

	(void)state;
	file_need_root();
	file_inside(make_plain);
	assert_int_equal(file_get("a", &out), 0);
	assert_string_equal(out.data, "0123456789");
	assert_int_equal(file_get_part("a", 3, 4, &out), 0);
	assert_string_equal(out.data, "3456");
	assert_int_equal(file_get_part("a", 8, 100, &out), 0);
	assert_string_equal(out.data, "89");
	assert_int_equal(file_get_part("a", 10, 1, &out), 0);
	assert_int_equal(out.size, 0);
	assert_int_equal(file_get_part("a", INT64_MAX, INT64_MAX, &out), 0);
	assert_int_equal(out.size, 0);
	assert_int_equal(file_get_part("a", 0, 0, &out), 0);
	assert_int_equal(out.size, 0);
	assert_int_equal(file_get("empty", &out), 0);
	assert_int_equal(out.size, 0);
	assert_int_equal(file_get("d/e/f", &out), 0);
	assert_string_equal(out.data, "deep");
	assert_int_equal(file_get(ODD_NAME, &out), 0);
	assert_string_equal(out.data, "odd");
}

static void
what_is_not_there_is_told_apart(void **state)
{
	char name[WIRE_NAME_MAX + 3];

	(void)state;
	file_need_root();
	file_inside(make_plain);
	assert_int_equal(file_get("no", NULL), WIRE_FAIL_ABSENT);
	assert_string_equal(file_text, "No such file: no");
	assert_int_equal(file_get("no/no", NULL), WIRE_FAIL_ABSENT);
	assert_int_equal(file_get("a/b", NULL), WIRE_FAIL_NOT_DIRECTORY);
	assert_int_equal(file_get("a/b/c", NULL), WIRE_FAIL_NOT_DIRECTORY);
	assert_int_equal(file_get("d", NULL), WIRE_FAIL_DIRECTORY);
	assert_int_equal(file_get("", NULL), WIRE_FAIL_DIRECTORY);
	memset(name, 'n', sizeof(name));
	name[WIRE_NAME_MAX + 1] = '\0';
	assert_int_equal(file_get(name, NULL), WIRE_FAIL_NAME);
	name[WIRE_NAME_MAX] = '\0';
	assert_int_equal(file_get(name, NULL), WIRE_FAIL_ABSENT);
}

static void
make_special(void)
{
	struct sockaddr_un addr = {AF_UNIX, "/work/socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (mkfifo("/work/fifo", 0666) != 0 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		_exit(1);
}

static void
fifos_sockets_and_devices_are_refused_at_once(void **state)
{
	static const char *const special[] = {"fifo", "socket", "zero"};

	(void)state;
	file_need_root();
	file_inside(make_special);
	assert_int_equal(
	    mknod(file_at("/work/zero"), S_IFCHR | 0666, makedev(1, 5)), 0);
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		assert_int_equal(
		    file_get(special[i], NULL), WIRE_FAIL_NOT_FILE);
		assert_int_equal(
		    file_put(special[i], "x", 1), WIRE_FAIL_NOT_FILE);
		assert_int_equal(
		    file_do(WIRE_FILE_LIST, special[i]), WIRE_FAIL_FILE);
	}
	assert_int_equal(file_get("fifo/x", NULL), WIRE_FAIL_NOT_DIRECTORY);
}

static void
make_unreadable(void)
{
	make_plain();
	if (chmod("/work/a", 0200) != 0 || chmod("/work/d", 0) != 0 ||
	    chmod("/work/empty", 0) != 0)
		_exit(1);
}

static void
the_image_s_user_reads_what_it_may(void **state)
{
	const struct wire_file as_root = {
	    .what = WIRE_FILE_LIST, .path = "d", .user = ""};

	(void)state;
	file_need_root();
	file_inside(make_unreadable);
	assert_int_equal(file_get("a", NULL), WIRE_FAIL_DENIED);
	assert_int_equal(file_get("empty", NULL), WIRE_FAIL_DENIED);
	assert_int_equal(file_get("d/e/f", NULL), WIRE_FAIL_DENIED);
	assert_int_equal(file_do(WIRE_FILE_LIST, "d"), WIRE_FAIL_DENIED);
	assert_int_equal(file_put("d/new", "x", 1), WIRE_FAIL_DENIED);
	assert_int_equal(file_do(WIRE_FILE_STAT, "d/e"), WIRE_FAIL_DENIED);
	assert_int_equal(file_do_x(&as_root), 0);
}

static void
groups_of_root_are_dropped_too(void **state)
{
	(void)state;
	file_need_root();
	write_file(file_at("/work/roots"), "x");
	assert_int_equal(chmod(file_at("/work/roots"), 0640), 0);
	assert_int_equal(file_get("roots", NULL), WIRE_FAIL_DENIED);
	assert_int_equal(chown(file_at("/work/roots"), 0, FILE_USER), 0);
	assert_int_equal(file_get("roots", NULL), 0);
}

static void
an_unknown_user_is_refused(void **state)
{
	const struct wire_file x = {
	    .what = WIRE_FILE_STAT, .path = "", .user = "nobody-of-that-name"};

	(void)state;
	file_need_root();
	assert_int_equal(file_do_x(&x), WIRE_FAIL_USER);
}

static void
make_sparse(void)
{
	int fd = open("/work/sparse", O_WRONLY | O_CREAT, 0644);

	if (fd < 0 || ftruncate(fd, INT64_C(1) << 40) != 0 ||
	    pwrite(fd, "end", 3, (INT64_C(1) << 40) - 3) != 3)
		_exit(1);
}

static void
a_huge_sparse_file_is_read_at_its_end(void **state)
{
	BUF_AUTO out = BUF_INIT(1000);
	struct wire_stat x;

	(void)state;
	file_need_root();
	file_inside(make_sparse);
	assert_int_equal(file_stat("sparse", &x), 0);
	assert_true(x.size == UINT64_C(1) << 40);
	assert_int_equal(
	    file_get_part("sparse", (UINT64_C(1) << 40) - 3, 100, &out), 0);
	assert_string_equal(out.data, "end");
	assert_int_equal(file_get_part("sparse", 12345, 10, &out), 0);
	assert_memory_equal(out.data, "\0\0\0\0\0\0\0\0\0\0", 10);
}

static void
a_file_that_shrinks_is_cut_not_padded(void **state)
{
	const struct wire_file x = {.what = WIRE_FILE_GET, .path = "sparse"};
	const struct wire_read all = {0, INT64_MAX};
	BUF_AUTO frame = BUF_INIT(100);
	struct file_call c;
	const char *payload;
	enum wire_type type;
	size_t size;

	(void)state;
	file_need_root();
	file_inside(make_sparse);
	file_start(&c, &x);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_STAT);
	assert_int_equal(truncate(file_at("/work/sparse"), 100000), 0);
	wire_put_read(&frame, &all);
	assert_int_equal(
	    write(c.fd, frame.data, frame.size), (ssize_t)frame.size);
	while ((type = file_next(&c, &payload, &size)) == WIRE_DATA)
		continue;
	assert_int_equal(type, 0);
	file_leave(&c);
}

static void
a_file_that_grows_is_read_as_it_was_told(void **state)
{
	const struct wire_file x = {.what = WIRE_FILE_GET, .path = "a"};
	const struct wire_read all = {0, INT64_MAX};
	BUF_AUTO frame = BUF_INIT(100);
	struct file_call c;
	const char *payload;
	size_t size;

	(void)state;
	file_need_root();
	file_inside(make_plain);
	file_start(&c, &x);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_STAT);
	write_file(file_at("/work/a"), "0123456789 and more");
	wire_put_read(&frame, &all);
	assert_int_equal(
	    write(c.fd, frame.data, frame.size), (ssize_t)frame.size);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_DATA);
	assert_int_equal(size, 10);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_DATA_END);
	file_leave(&c);
}

static void
a_reader_that_leaves_ends_the_handler(void **state)
{
	const struct wire_file x = {.what = WIRE_FILE_GET, .path = "sparse"};
	const struct wire_read all = {0, INT64_MAX};
	BUF_AUTO frame = BUF_INIT(100);
	struct file_call c;
	const char *payload;
	size_t size;

	(void)state;
	file_need_root();
	file_inside(make_sparse);
	file_start(&c, &x);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_STAT);
	assert_int_equal(file_handlers(), 1);
	wire_put_read(&frame, &all);
	assert_int_equal(
	    write(c.fd, frame.data, frame.size), (ssize_t)frame.size);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_DATA);
	file_leave(&c);
	wait_until(file_handlers() == 0, PATIENCE_MS);
}

/* -- STAT ------------------------------------------------------------------ */

static void
make_for_stat(void)
{
	const struct timeval times[2] = {{1, 0}, {1700000000, 123456}};

	make_plain();
	if (chmod("/work/a", 04751) != 0 || utimes("/work/a", times) != 0 ||
	    symlink("d/e", "/work/l") != 0 ||
	    symlink("/nowhere", "/work/out") != 0)
		_exit(1);
}

static void
a_stat_tells_type_mode_size_and_time(void **state)
{
	struct wire_stat x;

	(void)state;
	file_need_root();
	file_inside(make_for_stat);
	assert_int_equal(file_stat("a", &x), 0);
	assert_int_equal(x.type, WIRE_TYPE_FILE);
	assert_int_equal(x.mode, 04751);
	assert_int_equal(x.size, 10);
	assert_true(x.mtime_ns == INT64_C(1700000000123456000));
	assert_string_equal(x.name, "a");
	assert_string_equal(x.target, "");
	assert_int_equal(file_stat("d/e", &x), 0);
	assert_int_equal(x.type, WIRE_TYPE_DIRECTORY);
	assert_int_equal(x.size, 0);
	assert_string_equal(x.name, "e");
	assert_int_equal(file_stat("", &x), 0);
	assert_int_equal(x.type, WIRE_TYPE_DIRECTORY);
	assert_string_equal(x.name, "");
	assert_int_equal(file_stat("no", &x), WIRE_FAIL_ABSENT);
}

static void
a_stat_of_a_link_tells_of_the_link(void **state)
{
	struct wire_stat x;

	(void)state;
	file_need_root();
	file_inside(make_for_stat);
	assert_int_equal(file_stat("l", &x), 0);
	assert_int_equal(x.type, WIRE_TYPE_SYMLINK);
	assert_string_equal(x.target, "d/e");
	assert_int_equal(file_stat("out", &x), 0);
	assert_string_equal(x.target, "/nowhere");
	assert_int_equal(file_stat("l/f", &x), 0);
	assert_int_equal(x.type, WIRE_TYPE_FILE);
	assert_int_equal(file_stat("out/f", &x), WIRE_FAIL_ESCAPES);
}

static void
a_tag_changes_with_the_file(void **state)
{
	struct wire_stat first, again, written, replaced;

	(void)state;
	file_need_root();
	file_inside(make_for_stat);
	assert_int_equal(file_stat("a", &first), 0);
	assert_int_equal(file_stat("a", &again), 0);
	assert_true(first.tag == again.tag);
	write_file(file_at("/work/a"), "9876543210!");
	assert_int_equal(file_stat("a", &written), 0);
	assert_true(written.tag != first.tag);
	assert_int_equal(file_put("a", "9876543210!", 11), 0);
	assert_int_equal(file_stat("a", &replaced), 0);
	assert_true(replaced.tag != written.tag);
}

/* -- LIST ------------------------------------------------------------------ */

static void
a_list_has_each_entry_once(void **state)
{
	BUF_AUTO names = BUF_INIT(10000);
	size_t count;

	(void)state;
	file_need_root();
	assert_int_equal(file_list("", &names, &count), 0);
	assert_int_equal(count, 0);
	file_inside(make_for_stat);
	file_inside(make_special);
	assert_int_equal(file_list("", &names, &count), 0);
	assert_int_equal(count, 8);
	assert_true(file_has_name(&names, ODD_NAME));
	assert_true(file_has_name(&names, "fifo"));
	assert_true(file_has_name(&names, "out"));
	assert_int_equal(file_list("l", &names, &count), 0);
	assert_int_equal(count, 1);
	assert_true(file_has_name(&names, "f"));
	assert_int_equal(file_list("a", &names, &count), WIRE_FAIL_FILE);
	assert_int_equal(file_list("no", &names, &count), WIRE_FAIL_ABSENT);
}

static void
make_many(void)
{
	char name[40];

	for (int i = 0; i < 100000; i++) {
		(void)snprintf(name, sizeof(name), "/work/n%d", i);
		int fd = open(name, O_CREAT | O_WRONLY, 0644);

		if (fd < 0)
			_exit(1);
		(void)close(fd);
	}
}

/* Of the one process that handles files: VmHWM of its status, in kB. */
static long
memory_of_handler(void)
{
	char path[300], *text, *at;
	struct err e = ERR_INIT;
	long size = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)file_run.pid, (int)file_run.pid);
	text = fd_read_file(path, 4096, NULL, &e);
	assert_non_null(text);
	(void)snprintf(
	    path, sizeof(path), "/proc/%ld/status", strtol(text, NULL, 10));
	free(text);
	text = fd_read_file(path, 65536, NULL, &e);
	assert_non_null(text);
	at = strstr(text, "VmHWM:");
	if (at != NULL)
		size = strtol(at + 6, NULL, 10);
	free(text);
	return size;
}

static void
a_hundred_thousand_entries_are_listed_with_flat_memory(void **state)
{
	const struct wire_file x = {.what = WIRE_FILE_LIST, .path = ""};
	BUF_AUTO names = BUF_INIT(4 << 20);
	struct file_call c;
	const char *payload;
	enum wire_type type;
	size_t count = 0, size;

	(void)state;
	file_need_root();
	file_inside(make_many);
	assert_int_equal(file_list("", &names, &count), 0);
	assert_int_equal(count, 100000);
	file_start(&c, &x);
	for (count = 0; (type = file_next(&c, &payload, &size)) == WIRE_STAT;)
		if (++count == 90000)
			assert_in_range(memory_of_handler(), 1, 2000);
	assert_int_equal(type, WIRE_DONE);
	file_leave(&c);
	assert_int_equal(file_list("", &names, &count), 0);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, file_open_run, file_close_run)
#define SMALL(f) \
	cmocka_unit_test_setup_teardown(f, file_open_small, file_close_small)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_file_is_read_whole_or_in_part),
	    TEST(what_is_not_there_is_told_apart),
	    TEST(fifos_sockets_and_devices_are_refused_at_once),
	    TEST(the_image_s_user_reads_what_it_may),
	    TEST(groups_of_root_are_dropped_too),
	    TEST(an_unknown_user_is_refused),
	    TEST(a_huge_sparse_file_is_read_at_its_end),
	    TEST(a_file_that_shrinks_is_cut_not_padded),
	    TEST(a_file_that_grows_is_read_as_it_was_told),
	    TEST(a_reader_that_leaves_ends_the_handler),
	    TEST(a_stat_tells_type_mode_size_and_time),
	    TEST(a_stat_of_a_link_tells_of_the_link),
	    TEST(a_tag_changes_with_the_file),
	    TEST(a_list_has_each_entry_once),
	    SMALL(a_hundred_thousand_entries_are_listed_with_flat_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
