/* lib/fd: descriptors that close themselves, whole reads and writes. */
#include "../check.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sbx-test-fd-XXXXXX";

static const char *
in_dir(const char *name)
{
	static char path[200];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int
make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) == NULL ? -1 : 0;
}

/* Remove the directory; entries that a failed write left are a failure. */
static int
remove_dir(void **state)
{
	static const char *const made[] = {"file", "a.sock", "link", "thing"};

	(void)state;
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		(void)unlink(in_dir(made[i]));
	return rmdir(dir);
}

static int
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void
a_scope_closes_its_descriptor_unless_it_was_taken(void **state)
{
	int leaked, taken;

	(void)state;
	{
		FD_AUTO a = open("/dev/null", O_RDONLY | O_CLOEXEC);
		FD_AUTO b = open("/dev/null", O_RDONLY | O_CLOEXEC);

		leaked = a;
		taken = fd_take(&b);
		assert_int_equal(b, -1);
	}
	assert_false(is_open(leaked));
	assert_true(is_open(taken));
	fd_close(&taken);
	assert_int_equal(taken, -1);
	fd_close(&taken);
}

static void
files_are_written_with_their_mode_and_read_back(void **state)
{
	struct err e = ERR_INIT;
	struct stat st;
	size_t size = 0;

	(void)state;
	mode_t before = umask(077);
	check_ok(fd_write_file(in_dir("file"), 0644, "a\0b", 3, &e), &e);
	(void)umask(before);
	assert_int_equal(stat(in_dir("file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	char *bytes = fd_read_file(in_dir("file"), 3, &size, &e);
	assert_non_null(bytes);
	assert_int_equal(size, 3);
	assert_memory_equal(bytes, "a\0b", 4);
	free(bytes);
	check_ok(fd_write_file(in_dir("file"), 0600, "", 0, &e), &e);
	assert_int_equal(stat(in_dir("file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	bytes = fd_read_file(in_dir("file"), 3, NULL, &e);
	assert_string_equal(bytes, "");
	free(bytes);
}

static void
a_file_over_its_ceiling_or_missing_is_an_error(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	check_ok(fd_write_file(in_dir("file"), 0600, "1234", 4, &e), &e);
	assert_null(fd_read_file(in_dir("file"), 3, NULL, &e));
	assert_non_null(strstr(e.text, "larger than 3"));
	assert_null(fd_read_file(in_dir("absent"), 3, NULL, &e));
	assert_non_null(strstr(e.text, "No such file"));
	assert_null(fd_read_file(dir, 3, NULL, &e));
}

static void
a_failed_write_leaves_nothing_behind(void **state)
{
	struct err e = ERR_INIT;
	int entries = 0;

	(void)state;
	check_fails(fd_write_file(dir, 0600, "x", 1, &e), &e, ERR_INTERNAL);
	check_fails(fd_write_file(in_dir("absent/x"), 0600, "x", 1, &e), &e,
	    ERR_INTERNAL);
	DIR *d = opendir("/tmp");
	assert_non_null(d);
	for (struct dirent *at; (at = readdir(d)) != NULL;)
		entries += strncmp(at->d_name, dir + 5, strlen(dir + 5)) == 0;
	closedir(d);
	assert_int_equal(entries, 1);
}

static void
unix_sockets_connect_and_stale_ones_are_replaced(void **state)
{
	struct err e = ERR_INIT;
	struct stat st;
	const char *path = in_dir("a.sock");

	(void)state;
	FD_AUTO first = fd_listen_unix(path, 0660, 8, &e);
	check_ok(first, &e);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	fd_close(&first);
	check_fails(fd_connect_unix(path, 1000, &e), &e, ERR_INTERNAL);
	FD_AUTO again = fd_listen_unix(path, 0600, 8, &e);
	check_ok(again, &e);
	FD_AUTO client = fd_connect_unix(path, 1000, &e);
	check_ok(client, &e);
	FD_AUTO server = accept4(again, NULL, NULL, SOCK_CLOEXEC);
	assert_true(server >= 0);
	check_ok(fd_write_all(client, "hi", 2, clock_mono_ms() + 1000, &e), &e);
	char got[2];
	assert_int_equal(read(server, got, 2), 2);
	assert_memory_equal(got, "hi", 2);
	assert_int_equal(fcntl(client, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(client, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(fcntl(again, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

static void
a_socket_does_not_replace_what_is_not_one(void **state)
{
	struct err e = ERR_INIT;
	char path[200];

	(void)state;
	check_ok(fd_write_file(in_dir("thing"), 0600, "x", 1, &e), &e);
	check_fails(
	    fd_listen_unix(in_dir("thing"), 0600, 8, &e), &e, ERR_INTERNAL);
	assert_int_equal(symlink("/dev/null", in_dir("link")), 0);
	check_fails(
	    fd_listen_unix(in_dir("link"), 0600, 8, &e), &e, ERR_INTERNAL);
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	check_fails(fd_listen_unix(path, 0600, 8, &e), &e, ERR_INTERNAL);
	assert_non_null(strstr(e.text, "longer than 107"));
}

static void
a_full_backlog_is_waited_for_until_the_timeout(void **state)
{
	struct err e = ERR_INIT;
	const char *path = in_dir("a.sock");

	(void)state;
	FD_AUTO listener = fd_listen_unix(path, 0600, 0, &e);
	check_ok(listener, &e);
	FD_AUTO fills = fd_connect_unix(path, 100, &e);
	check_ok(fills, &e);
	int64_t start = clock_mono_ms();
	check_fails(fd_connect_unix(path, 60, &e), &e, ERR_INTERNAL);
	assert_true(clock_mono_ms() - start >= 60);
	FD_AUTO served = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(served >= 0);
	FD_AUTO next = fd_connect_unix(path, 1000, &e);
	check_ok(next, &e);
}

static void
writing_into_a_stalled_reader_times_out(void **state)
{
	struct err e = ERR_INIT;
	int pair[2];
	char *lump = calloc(1, 1 << 22);

	(void)state;
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	check_fails(
	    fd_write_all(pair[0], lump, 1 << 22, clock_mono_ms() + 50, &e), &e,
	    ERR_INTERNAL);
	assert_non_null(strstr(e.text, "timed out"));
	free(lump);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_scope_closes_its_descriptor_unless_it_was_taken),
	    cmocka_unit_test(files_are_written_with_their_mode_and_read_back),
	    cmocka_unit_test(a_file_over_its_ceiling_or_missing_is_an_error),
	    cmocka_unit_test(a_failed_write_leaves_nothing_behind),
	    cmocka_unit_test(unix_sockets_connect_and_stale_ones_are_replaced),
	    cmocka_unit_test(a_socket_does_not_replace_what_is_not_one),
	    cmocka_unit_test(a_full_backlog_is_waited_for_until_the_timeout),
	    cmocka_unit_test(writing_into_a_stalled_reader_times_out),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
