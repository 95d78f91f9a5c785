/* proxy/link: a run's only link leads back into its own network. */
#include "../../proxy/link.h"
#include "../../proxy/place.h"
#include "../check.h"
#include "lib/fd.h"
#include "netns_fixture.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GATEWAY "10.219.9.1"

static const struct cidr subnet = {{4, {10, 219, 9, 0}}, 29};
static char far_end[IF_NAMESIZE]; /* in this network */

/* What Docker gives a run. A new name each time: the kernel takes a network
 * that is gone apart at its leisure. */
static void
give_link(struct netns *n)
{
	static int count;
	char words[128];

	netns_start(n);
	(void)snprintf(
	    far_end, sizeof(far_end), "vt%d-%d", (int)getpid(), count++);
	(void)snprintf(words, sizeof(words),
	    "link add %s type veth peer name eth0 netns %d", far_end,
	    (int)n->pid);
	assert_true(netns_ip(NULL, words));
	(void)snprintf(words, sizeof(words), "link set %s up", far_end);
	assert_true(netns_ip(NULL, words));
	assert_true(netns_ip(n, "addr add 10.219.9.2/29 dev eth0"));
	assert_true(netns_ip(n, "link set eth0 up"));
	assert_true(netns_ip(n, "route add default via " GATEWAY " dev eth0"));
}

static int
listen_in(const struct netns *n, struct err *e)
{
	const struct place at = {
	    n->path, &subnet, cidr_first(&subnet), PLACE_PORT};

	return place_listen(&at, e);
}

static bool
reaches_proxy(const struct netns *n)
{
	FD_AUTO fd = netns_connect_to(n, GATEWAY, PLACE_PORT);

	return fd >= 0;
}

static void
its_other_end_is_brought_in_and_the_proxy_is_there(void **state)
{
	struct err e = ERR_INIT;
	struct netns n;

	(void)state;
	give_link(&n);
	assert_true(if_nametoindex(far_end) > 0);
	FD_AUTO listener = listen_in(&n, &e);
	check_ok(listener, &e);
	assert_int_equal(if_nametoindex(far_end), 0);
	assert_int_equal(if_nametoindex(LINK_NAME), 0);
	assert_true(reaches_proxy(&n));
	netns_end(&n);
}

static void
the_next_proxy_finds_it_closed(void **state)
{
	struct err e = ERR_INIT;
	struct netns n;

	(void)state;
	give_link(&n);
	FD_AUTO first = listen_in(&n, &e);
	check_ok(first, &e);
	fd_close(&first);
	assert_false(reaches_proxy(&n));
	FD_AUTO second = listen_in(&n, &e);
	check_ok(second, &e);
	assert_true(reaches_proxy(&n));
	netns_end(&n);
}

static void
what_a_killed_one_left_half_done_is_finished(void **state)
{
	struct err e = ERR_INIT;
	struct netns n;
	char words[128];

	(void)state;
	give_link(&n);
	(void)snprintf(words, sizeof(words), "link set %s netns %d name %s",
	    far_end, (int)n.pid, LINK_NAME);
	assert_true(netns_ip(NULL, words));
	FD_AUTO listener = listen_in(&n, &e);
	check_ok(listener, &e);
	assert_true(reaches_proxy(&n));
	netns_end(&n);
}

static void
links_that_are_down_do_not_matter(void **state)
{
	struct err e = ERR_INIT;
	struct netns n;

	(void)state;
	give_link(&n);
	assert_true(netns_ip(&n, "link add tunl9 type veth peer name tunl8"));
	FD_AUTO listener = listen_in(&n, &e);
	check_ok(listener, &e);
	netns_end(&n);
}

/* -- refused: nothing listens then ----------------------------------------- */

static void
check_refused(struct netns *n, const char *why)
{
	struct err e = ERR_INIT;

	check_fails(listen_in(n, &e), &e, ERR_INTERNAL);
	if (strstr(e.text, why) == NULL)
		fail_msg("not %s: %s", why, e.text);
	assert_false(reaches_proxy(n));
	netns_end(n);
}

static void
a_second_way_out_is_refused(void **state)
{
	static const char *const ways[] = {
	    "link add way type veth peer name back",
	    "link add way type bridge"};
	struct netns n;

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		give_link(&n);
		assert_true(netns_ip(&n, ways[i]));
		assert_true(netns_ip(&n, "link set way up"));
		check_refused(&n, "way");
	}
}

static void
a_link_whose_other_end_is_elsewhere_is_refused(void **state)
{
	struct netns n, other;
	char words[128];

	(void)state;
	netns_start(&other);
	give_link(&n);
	(void)snprintf(words, sizeof(words), "link set %s netns %d", far_end,
	    (int)other.pid);
	assert_true(netns_ip(NULL, words));
	check_refused(&n, "not in this network");
	netns_end(&other);
}

static void
no_link_is_refused(void **state)
{
	struct netns n;

	(void)state;
	netns_start(&n);
	check_refused(&n, "no link");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		its_other_end_is_brought_in_and_the_proxy_is_there),
	    cmocka_unit_test(the_next_proxy_finds_it_closed),
	    cmocka_unit_test(what_a_killed_one_left_half_done_is_finished),
	    cmocka_unit_test(links_that_are_down_do_not_matter),
	    cmocka_unit_test(a_second_way_out_is_refused),
	    cmocka_unit_test(a_link_whose_other_end_is_elsewhere_is_refused),
	    cmocka_unit_test(no_link_is_refused),
	};

	return cmocka_run_group_tests_name("proxy_link", tests, NULL, NULL);
}
