/* guest/file before an init that passes whatever it likes with a GET's stat. */
#include "../check.h"
#include "guest/file.h"
#include "lib/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST 4

static char dir[] = "/tmp/sbx-passed-XXXXXX";
static char file[sizeof(dir) + 8], sock[sizeof(dir) + 16];
static int listener;

static int
setup(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(file, sizeof(file), "%s/file", dir);
	(void)snprintf(sock, sizeof(sock), "%s/%s", dir, GUEST_SOCKET);
	check_ok(fd_write_file(file, 0600, "0123456789", 10, &e), &e);
	listener = fd_listen_unix(sock, 0600, 4, &e);
	check_ok(listener, &e);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	fd_close(&listener);
	(void)unlink(sock);
	(void)unlink(file);
	return rmdir(dir);
}

static int
open_count(void)
{
	DIR *d = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		count++;
	(void)closedir(d);
	return count;
}

/* What the init says to a GET, with these descriptors, which are closed. */
static void
say_stat(int to, int *fds, size_t count)
{
	union {
		char room[CMSG_SPACE(MOST * sizeof(int))];
		struct cmsghdr head;
	} rights = {.head = {.cmsg_len = CMSG_LEN(count * sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS}};
	const struct wire_stat stat = {
	    .type = WIRE_TYPE_FILE, .size = 10, .name = "file", .target = ""};
	BUF_AUTO frame = BUF_INIT(1024);

	wire_put_stat(&frame, &stat);
	struct iovec v = {frame.data, frame.size};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	if (count > 0) {
		memcpy(CMSG_DATA(&rights.head), fds, count * sizeof(int));
		m.msg_control = &rights;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	assert_int_equal(sendmsg(to, &m, MSG_NOSIGNAL), frame.size);
	for (size_t i = 0; i < count; i++)
		fd_close(&fds[i]);
}

/* Whether it is taken for the file; and nothing of it is left open. */
static bool
taken(int *fds, size_t count)
{
	const struct guest_place place = {"", dir, getpid(), WIRE_VERSION};
	const struct guest_patience patience = {-1, 10000};
	const struct wire_file rq = {.what = WIRE_FILE_GET,
	    .user = "",
	    .root = "/work",
	    .path = "file",
	    .to = ""};
	int before = open_count() - (int)count;
	struct err e = ERR_INIT;
	struct wire_stat stat;
	char bytes[3] = "";

	struct guest_file *f =
	    guest_file_open(NULL, &place, &rq, &patience, &e);
	if (f == NULL)
		fail_msg("%s", e.text);
	FD_AUTO init = accept(listener, NULL, NULL);
	say_stat(init, fds, count);
	assert_int_equal(guest_file_stat(f, &stat, &e), 1);
	int fd = guest_file_opened(f);
	if (fd >= 0) {
		assert_int_equal(pread(fd, bytes, 2, 4), 2);
		assert_string_equal(bytes, "45");
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	guest_file_free(f);
	fd_close(&init);
	assert_int_equal(open_count(), before);
	return fd >= 0;
}

static void
a_file_opened_for_reading_is_taken(void **state)
{
	int fd = open(file, O_RDONLY | O_NONBLOCK);

	(void)state;
	assert_true(taken(&fd, 1));
}

static void
an_init_that_passes_none_is_asked(void **state)
{
	(void)state;
	assert_false(taken(NULL, 0));
}

static void
what_is_no_plain_file_is_not_taken(void **state)
{
	int pipes[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	int others[] = {pipes[0], open(dir, O_RDONLY), open(file, O_WRONLY),
	    open(file, O_RDWR), open(file, O_PATH), open("/dev/zero", O_RDONLY),
	    open("/proc/self/status", O_RDONLY),
	    socket(AF_UNIX, SOCK_STREAM, 0)};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(taken(&others[i], 1));
	fd_close(&pipes[1]);
}

static void
of_many_the_first_is_looked_at(void **state)
{
	int fds[MOST] = {open(file, O_RDONLY), open(dir, O_RDONLY),
	    open(file, O_RDONLY), open(file, O_RDONLY)};
	int swapped[2] = {open(dir, O_RDONLY), open(file, O_RDONLY)};

	(void)state;
	assert_true(taken(fds, MOST));
	assert_false(taken(swapped, 2));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_file_opened_for_reading_is_taken),
	    cmocka_unit_test(an_init_that_passes_none_is_asked),
	    cmocka_unit_test(what_is_no_plain_file_is_not_taken),
	    cmocka_unit_test(of_many_the_first_is_looked_at),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
