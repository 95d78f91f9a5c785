/* pool and worker: streams, clients that leave or stall, limits, the drain. */
#include "../wait.h"
#include "fcgi_client.h"
#include "lib/fd.h"
#include "pool_fixture.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 30000

static struct pool_fixture pool;

static int
set_up(void **state)
{
	(void)state;
	pool_prepare(&pool);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	pool_stop(&pool);
	return 0;
}

/* A GET whose first byte of output came; its reply is read into r. */
static int
open_stream(const char *target, struct fcgi_reply *r)
{
	int fd = fcgi_connect(pool.socket);

	*r = (struct fcgi_reply)FCGI_REPLY_INIT;
	fcgi_head(fd, "GET", target, NULL);
	fcgi_stdin_end(fd);
	fcgi_read_some(fd, r, 1);
	return fd;
}

static void
close_stream(int fd, struct fcgi_reply *r)
{
	(void)close(fd);
	fcgi_reply_release(r);
}

static int
status_of(const char *target)
{
	struct fcgi_reply r = fcgi_get(pool.socket, "GET", target, NULL);
	int status = fcgi_status(&r);

	fcgi_reply_release(&r);
	return status;
}

static void
a_client_that_leaves_a_silent_stream_is_noticed_at_once(void **state)
{
	struct fcgi_reply r = FCGI_REPLY_INIT;

	(void)state;
	pool_start(&pool);
	int fd = fcgi_connect(pool.socket);
	/* A body that is announced and never read changes nothing. */
	fcgi_head(fd, "GET", "/wait", NULL);
	fcgi_stdin(fd, "unread", 6, 6);
	fcgi_read_some(fd, &r, 1);
	assert_true(fcgi_has_line(&r, "X-Accel-Buffering: no"));
	assert_true(fcgi_has_line(&r, "Cache-Control: no-store"));
	assert_null(strstr(r.out.data, "Content-Length"));
	wait_until(atomic_load(&pool.counters->waiting) == 1, LONG_MS);
	int64_t left = clock_mono_us();
	(void)close(fd);
	wait_until(atomic_load(&pool.counters->left) == 1, LONG_MS);
	print_message("noticed after %lld us\n",
	    atomic_load(&pool.counters->left_us) - left);
	fcgi_reply_release(&r);
}

static void
a_client_that_leaves_before_an_answer_is_logged_as_499(void **state)
{
	(void)state;
	pool_start(&pool);
	int fd = fcgi_connect(pool.socket);
	fcgi_head(fd, "GET", "/mute", NULL);
	fcgi_stdin_end(fd);
	wait_until(atomic_load(&pool.counters->waiting) == 1, LONG_MS);
	(void)close(fd);
	wait_until(pool_logged(&pool, "/mute", "\"status\":499") == 1, LONG_MS);
}

static void
a_stream_reaches_the_client_event_by_event(void **state)
{
	struct fcgi_reply r;

	(void)state;
	pool_start(&pool);
	int fd = open_stream("/events?n=3", &r);
	for (int i = 1; i <= 3; i++) {
		size_t before = r.out.size;

		atomic_store(&pool.counters->released, i);
		fcgi_read_some(fd, &r, before + 1);
		assert_string_equal(r.out.data + before, "data: x\n\n");
	}
	fcgi_read_all(fd, &r);
	assert_true(r.ended);
	(void)close(fd);
	fcgi_reply_release(&r);
}

/* Bytes that nobody takes: the write fails after the stall, and the thread
 * serves again. */
static void
a_client_that_reads_nothing_is_let_go_after_the_stall(void **state)
{
	struct fcgi_reply r;

	(void)state;
	pool.config.client_stall_sec = 1;
	pool_start(&pool);
	int fd = open_stream("/flood", &r);
	wait_until(
	    atomic_load(&pool.counters->last_error) == ERR_GONE_AWAY, LONG_MS);
	wait_until(
	    pool_logged(&pool, "/flood", "\"status\":200") == 1, LONG_MS);
	close_stream(fd, &r);
	assert_int_equal(status_of("/ping"), 200);
}

static void
descriptors_beyond_1024_work(void **state)
{
	struct rlimit files;
	struct fcgi_reply r;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	pool.extra_files = 1100;
	pool_start(&pool);
	int fd = open_stream("/wait", &r);
	assert_int_equal(status_of("/big?size=100000"), 200);
	close_stream(fd, &r);
	wait_until(atomic_load(&pool.counters->left) == 1, LONG_MS);
}

/* One request holds every descriptor there is: the next connection waits in
 * the backlog, and is served once some are free again. */
static void
a_worker_without_descriptors_recovers(void **state)
{
	struct fcgi_reply eater, r = FCGI_REPLY_INIT;

	(void)state;
	pool.most_files = 100;
	pool_start(&pool);
	int fd = open_stream("/eat", &eater);
	int waiting = fcgi_connect(pool.socket);
	fcgi_head(waiting, "GET", "/ping", NULL);
	fcgi_stdin_end(waiting);
	wait_until(atomic_load(&pool.counters->waiting) == 1, LONG_MS);
	close_stream(fd, &eater);
	fcgi_read_all(waiting, &r);
	assert_int_equal(fcgi_status(&r), 200);
	close_stream(waiting, &r);
}

static void
a_worker_leaves_no_core(void **state)
{
	struct rlimit core;

	(void)state;
	pool_start(&pool);
	assert_int_equal(prlimit(pool.pid, RLIMIT_CORE, NULL, &core), 0);
	assert_int_equal(core.rlim_cur, 0);
	assert_int_equal(core.rlim_max, 0);
}

static void
long_requests_take_at_most_half_of_a_control_pool(void **state)
{
	struct fcgi_reply r[2];
	int fd[2];

	(void)state;
	pool.config.control_threads = 4;
	pool_start(&pool);
	for (int i = 0; i < 2; i++)
		fd[i] = open_stream("/slow", &r[i]);
	struct fcgi_reply busy = fcgi_get(pool.socket, "GET", "/slow", NULL);
	assert_int_equal(fcgi_status(&busy), 503);
	assert_true(fcgi_has_line(&busy, "Retry-After: 1"));
	assert_non_null(strstr(fcgi_body(&busy), "\"busy\""));
	fcgi_reply_release(&busy);
	assert_int_equal(status_of("/ping"), 200);
	close_stream(fd[0], &r[0]);
	wait_until(pool_logged(&pool, "/slow", "\"status\":200") == 1, LONG_MS);
	fd[0] = open_stream("/slow", &r[0]);
	for (int i = 0; i < 2; i++)
		close_stream(fd[i], &r[i]);
}

/* A POST of which some comes, but not its end. */
static int
begin_body(struct fcgi_reply *r)
{
	static const char *const more[] = {"CONTENT_LENGTH=4", NULL};
	int fd = fcgi_connect(pool.socket);

	*r = (struct fcgi_reply)FCGI_REPLY_INIT;
	fcgi_head(fd, "POST", "/json", more);
	fcgi_stdin(fd, "{ ", 2, 2);
	return fd;
}

static void
slow_bodies_take_at_most_half_of_a_control_pool(void **state)
{
	struct fcgi_reply r[3];
	struct pollfd p[3];
	int busy = 0;

	(void)state;
	pool.config.control_threads = 4;
	pool_start(&pool);
	for (int i = 0; i < 3; i++)
		p[i] = (struct pollfd){begin_body(&r[i]), POLLIN, 0};
	assert_int_equal(poll(p, 3, LONG_MS), 1);
	while (p[busy].revents == 0)
		busy++;
	fcgi_read_all(p[busy].fd, &r[busy]);
	assert_int_equal(fcgi_status(&r[busy]), 503);
	assert_int_equal(status_of("/ping"), 200);
	for (int i = 0; i < 3; i++) {
		if (i != busy) {
			fcgi_stdin(p[i].fd, " }", 2, 2);
			fcgi_stdin_end(p[i].fd);
			fcgi_read_all(p[i].fd, &r[i]);
			assert_int_equal(fcgi_status(&r[i]), 200);
		}
		close_stream(p[i].fd, &r[i]);
	}
}

static void
a_stream_pool_gives_all_its_threads_to_long_requests(void **state)
{
	struct fcgi_reply r[2];
	int fd[2];

	(void)state;
	pool.pool = POOL_STREAM;
	pool_start(&pool);
	for (int i = 0; i < 2; i++)
		fd[i] = open_stream("/slow", &r[i]);
	for (int i = 0; i < 2; i++)
		close_stream(fd[i], &r[i]);
}

static bool
refused(void)
{
	struct err e = ERR_INIT;
	FD_AUTO fd = fd_connect_unix(pool.socket, 0, &e);

	return fd < 0 && errno == ECONNREFUSED;
}

static void
a_drain_finishes_what_is_in_flight_and_takes_nothing_new(void **state)
{
	struct fcgi_reply r;

	(void)state;
	pool_start(&pool);
	int fd = open_stream("/events?n=2", &r);
	atomic_store(&pool.counters->released, 1);
	assert_int_equal(kill(pool.pid, SIGTERM), 0);
	wait_until(refused(), LONG_MS);
	atomic_store(&pool.counters->released, 2);
	fcgi_read_all(fd, &r);
	assert_true(r.ended);
	assert_non_null(strstr(fcgi_body(&r), "data: end\n\n"));
	close_stream(fd, &r);
	/* tear_down: the process ends with 0. */
}

static void
a_drain_ends_what_goes_on_beyond_its_bound(void **state)
{
	struct fcgi_reply r[2];
	int fd[2];

	(void)state;
	pool.config.drain_sec = 0;
	pool_start(&pool);
	fd[0] = open_stream("/wait", &r[0]);
	fd[1] = open_stream("/events?n=1", &r[1]);
	assert_int_equal(kill(pool.pid, SIGTERM), 0);
	for (int i = 0; i < 2; i++) {
		fcgi_read_all(fd[i], &r[i]);
		close_stream(fd[i], &r[i]);
	}
	assert_int_equal(atomic_load(&pool.counters->left), 1);
	wait_until(
	    pool_logged(&pool, "\"drain.cut\"", "\"stuck\":0") == 1, LONG_MS);
}

static void
requests_on_all_threads_do_not_keep_a_drain_from_ending(void **state)
{
	(void)state;
	pool.config.control_threads = 32;
	pool_start(&pool);
	for (int i = 0; i < 200; i++)
		assert_int_equal(status_of("/ping"), 200);
	assert_int_equal(kill(pool.pid, SIGINT), 0);
	wait_until(refused(), LONG_MS);
}

#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    POOL_TEST(a_client_that_leaves_a_silent_stream_is_noticed_at_once),
	    POOL_TEST(a_client_that_leaves_before_an_answer_is_logged_as_499),
	    POOL_TEST(a_stream_reaches_the_client_event_by_event),
	    POOL_TEST(a_client_that_reads_nothing_is_let_go_after_the_stall),
	    POOL_TEST(descriptors_beyond_1024_work),
	    POOL_TEST(a_worker_without_descriptors_recovers),
	    POOL_TEST(a_worker_leaves_no_core),
	    POOL_TEST(long_requests_take_at_most_half_of_a_control_pool),
	    POOL_TEST(slow_bodies_take_at_most_half_of_a_control_pool),
	    POOL_TEST(a_stream_pool_gives_all_its_threads_to_long_requests),
	    POOL_TEST(a_drain_finishes_what_is_in_flight_and_takes_nothing_new),
	    POOL_TEST(a_drain_ends_what_goes_on_beyond_its_bound),
	    POOL_TEST(requests_on_all_threads_do_not_keep_a_drain_from_ending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
