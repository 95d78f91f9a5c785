/* http/link: a file as records. */
#include "../check.h"
#include "http/link.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define ID 0x1234
#define SIZE 100000

static char bytes[SIZE];

/* A connection, its other end, and a file. */
struct world {
	struct link link;
	int pair[2], watch[2], file;
};

static struct world
make(void)
{
	struct world w;

	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)(i * 7 + (i >> 12));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, w.pair), 0);
	assert_int_equal(pipe(w.watch), 0);
	w.file = memfd_create("file", MFD_CLOEXEC);
	assert_int_equal(write(w.file, bytes, SIZE), SIZE);
	link_init(&w.link, w.watch[0], 100);
	link_begin(&w.link, w.pair[0]);
	w.link.body.id = ID;
	return w;
}

static void
end(struct world *w)
{
	link_release(&w->link);
	for (int i = 0; i < 2; i++) {
		fd_close(&w->pair[i]);
		fd_close(&w->watch[i]);
	}
	fd_close(&w->file);
}

/* Take the content of the records that came, up to SIZE bytes of it. */
static size_t
contents(int fd, char *to)
{
	unsigned char head[RECORD_HEAD];
	size_t total = 0;

	while (recv(fd, head, sizeof(head), MSG_DONTWAIT) == sizeof(head)) {
		size_t n = (size_t)head[4] << 8 | head[5];

		assert_memory_equal(head, "\1\6\x12\x34", 4);
		assert_memory_equal(head + 6, "\0\0", 2);
		assert_true(n > 0 && n <= SIZE - total);
		assert_int_equal(recv(fd, to + total, n, MSG_WAITALL), n);
		total += n;
	}
	return total;
}

static void
part_of_a_file_goes_as_records(void **state)
{
	struct world w = make();
	static char got[SIZE];

	(void)state;
	assert_int_equal(link_send_file(&w.link, w.file, 3, SIZE - 10), 0);
	assert_int_equal(contents(w.pair[1], got), SIZE - 10);
	assert_memory_equal(got, bytes + 3, SIZE - 10);
	/* Who writes to it otherwise is to wait. */
	assert_false(fcntl(w.pair[0], F_GETFL) & O_NONBLOCK);
	end(&w);
}

static void
file_that_is_shorter_is_told(void **state)
{
	struct world w = make();

	(void)state;
	assert_int_equal(link_send_file(&w.link, w.file, 10, SIZE), LINK_SHORT);
	assert_int_equal(link_send_file(&w.link, w.file, SIZE, 1), LINK_SHORT);
	end(&w);
}

static void
peer_that_takes_nothing_is_gone(void **state)
{
	struct world w = make();
	int rc = 0;

	(void)state;
	for (int i = 0; i < 1000 && rc == 0; i++)
		rc = link_send_file(&w.link, w.file, 0, SIZE);
	assert_int_equal(rc, -1);
	end(&w);
}

static void
peer_that_left_is_gone(void **state)
{
	struct world w = make();

	(void)state;
	fd_close(&w.pair[1]);
	assert_int_equal(link_send_file(&w.link, w.file, 0, SIZE), -1);
	end(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(part_of_a_file_goes_as_records),
	    cmocka_unit_test(file_that_is_shorter_is_told),
	    cmocka_unit_test(peer_that_takes_nothing_is_gone),
	    cmocka_unit_test(peer_that_left_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
