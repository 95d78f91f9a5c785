/* proxy/place and proxy/watch: listening in a run's network, ending with it. */
#include "../../proxy/place.h"
#include "../../proxy/watch.h"
#include "../wait.h"
#include "lib/fd.h"
#include "netns_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct address
loopback(void)
{
	struct address a;

	assert_true(address_parse(PLACE_ADDRESS, &a));
	return a;
}

static int
listen_in(const struct netns *n, struct err *e)
{
	const struct place at = {n->path, NULL, loopback(), PLACE_PORT};

	return place_listen(&at, e);
}

static ino_t
own_network(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	return st.st_ino;
}

static void
it_listens_there_and_stays_here(void **state)
{
	struct err e = ERR_INIT;
	ino_t here = own_network();
	struct netns n;

	(void)state;
	netns_start(&n);
	FD_AUTO listener = listen_in(&n, &e);
	check_ok(listener, &e);
	assert_int_equal(own_network(), here);
	assert_true(fcntl(listener, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(listener, F_GETFD) & FD_CLOEXEC);
	FD_AUTO theirs = netns_connect(&n, PLACE_PORT);
	assert_true(theirs >= 0);
	FD_AUTO ours = accept4(listener, NULL, NULL, 0);
	assert_true(ours >= 0);
	assert_int_equal(write(theirs, "x", 1), 1);
	char byte;
	assert_int_equal(read(ours, &byte, 1), 1);
	netns_end(&n);
}

static void
a_port_that_is_taken_is_a_conflict(void **state)
{
	struct err e = ERR_INIT;
	struct netns n;

	(void)state;
	for (int any = 0; any <= 1; any++) {
		netns_start(&n);
		FD_AUTO other = netns_listen(&n, PLACE_PORT, any != 0);
		assert_true(other >= 0);
		check_fails(listen_in(&n, &e), &e, ERR_CONFLICT);
		assert_non_null(strstr(e.text, "127.0.0.1:3128"));
		netns_end(&n);
	}
}

static void
nobody_can_share_its_port(void **state)
{
	struct err e = ERR_INIT;
	struct netns n;

	(void)state;
	netns_start(&n);
	FD_AUTO listener = listen_in(&n, &e);
	check_ok(listener, &e);
	assert_int_equal(netns_listen(&n, PLACE_PORT, false), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(netns_listen(&n, PLACE_PORT, true), -1);
	assert_int_equal(errno, EADDRINUSE);
	netns_end(&n);
}

/* What is left of a connection that its proxy ended first holds the port. */
static void
one_that_comes_after_another_gets_the_port(void **state)
{
	struct err e = ERR_INIT;
	struct netns n;

	(void)state;
	netns_start(&n);
	FD_AUTO first = listen_in(&n, &e);
	check_ok(first, &e);
	FD_AUTO theirs = netns_connect(&n, PLACE_PORT);
	FD_AUTO ours = accept4(first, NULL, NULL, 0);
	fd_close(&ours);
	fd_close(&first);
	FD_AUTO second = listen_in(&n, &e);
	check_ok(second, &e);
	fd_close(&theirs);
	netns_end(&n);
}

static int
listen_at(const char *netns, struct address a, uint16_t port, struct err *e)
{
	const struct place at = {netns, NULL, a, port};

	return place_listen(&at, e);
}

static void
what_is_no_network_is_an_error(void **state)
{
	static const char *const none[] = {
	    "/nonexistent", "/dev/null", "/proc/self/ns/mnt"};
	struct err e = ERR_INIT;
	ino_t here = own_network();

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		check_fails(listen_at(none[i], loopback(), PLACE_PORT, &e), &e,
		    ERR_INTERNAL);
	assert_int_equal(own_network(), here);
}

static void
without_a_network_it_is_this_one(void **state)
{
	struct err e = ERR_INIT;
	struct address a;

	(void)state;
	assert_true(address_parse("::1", &a));
	for (int six = 0; six <= 1; six++) {
		FD_AUTO fd = listen_at("", a, 0, &e);
		if (fd < 0 && six == 0 && strstr(e.text, "assign") != NULL)
			; /* no IPv6 here */
		else
			check_ok(fd, &e);
		a = loopback();
	}
}

static bool
has_ended(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, 0) == 1;
}

static void
the_end_of_the_init_is_seen(void **state)
{
	struct err e = ERR_INIT;
	struct netns n;

	(void)state;
	netns_start(&n);
	FD_AUTO fd = watch_open(n.pid, n.path, &e);
	check_ok(fd, &e);
	assert_false(has_ended(fd));
	netns_end(&n);
	wait_until(has_ended(fd), 30000);
}

static void
another_process_is_not_taken_for_the_init(void **state)
{
	struct err e = ERR_INIT;
	struct netns n;

	(void)state;
	netns_start(&n);
	check_fails(watch_open(getpid(), n.path, &e), &e, ERR_GONE);
	assert_non_null(strstr(e.text, "is not in the network"));
	FD_AUTO any = watch_open(getpid(), "", &e);
	check_ok(any, &e);
	/* Nobody has that number; a zombie has ended. */
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	siginfo_t info;
	assert_int_equal(
	    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	check_fails(watch_open(child, "", &e), &e, ERR_GONE);
	assert_int_equal(waitpid(child, NULL, 0), child);
	check_fails(watch_open(child, "", &e), &e, ERR_GONE);
	check_fails(watch_open(child, n.path, &e), &e, ERR_GONE);
	netns_end(&n);
}

static void
stop_the_loop(void *arg)
{
	loop_stop(arg);
}

static void
the_loop_is_told_once_of_the_end(void **state)
{
	struct err e = ERR_INIT;
	struct watch_run w;
	struct netns n;

	(void)state;
	netns_start(&n);
	struct loop *loop = loop_new(&e);
	FD_AUTO fd = watch_open(n.pid, n.path, &e);
	check_ok(fd, &e);
	check_ok(watch_run(&w, loop, fd, stop_the_loop, loop, &e), &e);
	(void)kill(n.pid, SIGKILL);
	loop_run(loop);
	assert_int_equal(w.watch.events, 0);
	loop_free(loop);
	netns_end(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_listens_there_and_stays_here),
	    cmocka_unit_test(a_port_that_is_taken_is_a_conflict),
	    cmocka_unit_test(nobody_can_share_its_port),
	    cmocka_unit_test(one_that_comes_after_another_gets_the_port),
	    cmocka_unit_test(what_is_no_network_is_an_error),
	    cmocka_unit_test(without_a_network_it_is_this_one),
	    cmocka_unit_test(the_end_of_the_init_is_seen),
	    cmocka_unit_test(another_process_is_not_taken_for_the_init),
	    cmocka_unit_test(the_loop_is_told_once_of_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
