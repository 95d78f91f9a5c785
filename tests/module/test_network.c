/* docker/network, run/egress_network: the network of a run. */
#include "docker/network.h"
#include "docker_fixture.h"
#include "lib/str.h"
#include "run/egress_network.h"

#include <jansson.h>
#include <string.h>

#define ID "01BX5ZZKBKACTAV9WEVGEMMVRZ"
#define NAME "teploy-sbx-01bx5zzkbkactav9wevgemmvrz"
#define OVERLAPS                                                       \
	"{\"message\":\"Pool overlaps with other one on this address " \
	"space\"}"

static struct arena arena;

static int
teardown(void **state)
{
	arena_release(&arena);
	return docker_teardown(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, docker_setup, teardown)

static void
on_create(struct docker_fixture *d, int status, const char *body, int times)
{
	fake_on(d->fake, (struct fake_rule){.method = "POST",
			     .path = "/networks/create",
			     .status = status,
			     .body = body,
			     .times = times});
}

/* What the engine is asked for, and whether it is made. */
static int
make(struct docker_fixture *d, const char *pool, const char **ret_subnet,
    struct err *e)
{
	static struct config config;

	config.egress_pool = pool;
	const struct run_ctx ctx = {
	    .config = &config, .instance = "box", .engine = d->engine};
	return egress_network_make(&ctx, ID, &arena, ret_subnet, e);
}

static void
it_leads_nowhere_and_carries_its_run(void **state)
{
	static const char want[] =
	    "{\"Name\":\"" NAME "\",\"CheckDuplicate\":true,"
	    "\"Driver\":\"bridge\",\"Internal\":true,\"EnableIPv6\":false,"
	    "\"IPAM\":{\"Config\":[{\"Subnet\":\"10.1.2.8/29\","
	    "\"Gateway\":\"10.1.2.9\"}]},"
	    "\"Options\":{\"com.docker.network.bridge.inhibit_ipv4\":\"true\","
	    "\"com.docker.network.bridge.enable_icc\":\"false\"},"
	    "\"Labels\":{\"teploy.sandbox\":\"1\","
	    "\"teploy.sandbox.run\":\"" ID "\","
	    "\"teploy.sandbox.instance\":\"box\"}}";
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;
	const char *subnet;

	on_create(d, 201, "{\"Id\":\"n\",\"Warning\":\"\"}", 0);
	check_ok(make(d, "10.1.2.8/29", &subnet, &e), &e);
	assert_string_equal(subnet, "10.1.2.8/29");
	json_auto_t *got = json_loads(fake_request(d->fake, 1).body, 0, NULL);
	json_auto_t *wanted = json_loads(want, 0, NULL);
	assert_non_null(wanted);
	assert_true(json_equal(got, wanted));
}

static void
a_subnet_that_is_taken_is_passed_over(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;
	const char *subnet;
	char third[ADDRESS_TEXT];

	on_create(d, 201, "{\"Id\":\"n\",\"Warning\":\"\"}", 0);
	on_create(d, 403, OVERLAPS, 2);
	check_ok(make(d, "10.0.0.0/16", &subnet, &e), &e);
	assert_true(egress_network_pick("10.0.0.0/16", ID, 2, third));
	assert_string_equal(subnet, third);
}

static void
a_pool_that_is_used_up_is_said_so(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;
	const char *subnet;

	on_create(d, 403, OVERLAPS, 0);
	check_fails(make(d, "10.0.0.0/28", &subnet, &e), &e, ERR_CAPACITY);
	assert_non_null(strstr(e.text, "SBX_EGRESS_POOL (10.0.0.0/28)"));
	assert_int_equal(fake_seen(d->fake, "POST", "/networks/create"), 2);
}

static void
another_refusal_is_not_tried_again(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;
	const char *subnet;

	on_create(d, 500, "{\"message\":\"no iptables\"}", 0);
	check_fails(make(d, "10.0.0.0/16", &subnet, &e), &e, ERR_ENGINE);
	assert_non_null(strstr(e.text, "no iptables"));
	assert_int_equal(fake_seen(d->fake, "POST", "/networks/create"), 1);
}

static void
what_is_gone_is_removed_and_what_is_used_is_a_conflict(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum err_kind kind;
	} answers[] = {{204, NULL, ERR_NONE},
	    {404, "{\"message\":\"network x not found\"}", ERR_NONE},
	    {403, "{\"message\":\"network x has active endpoints\"}",
		ERR_CONFLICT},
	    {500, "{\"message\":\"what\"}", ERR_ENGINE}};
	struct docker_fixture *d = *state;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct err e = ERR_INIT;

		fake_on(d->fake, (struct fake_rule){.method = "DELETE",
				     .path = "/networks/x",
				     .status = answers[i].status,
				     .body = answers[i].body});
		if (answers[i].kind == ERR_NONE)
			check_ok(network_remove(d->engine, "x", &e), &e);
		else
			check_fails(network_remove(d->engine, "x", &e), &e,
			    answers[i].kind);
	}
}

static void
a_list_may_be_empty_or_odd(void **state)
{
	static const char *const lists[] = {"[]", "null", "[{},{\"Name\":1}]",
	    "[{\"Name\":\"a\",\"Labels\":null},{\"Name\":\"b\",\"Labels\":{"
	    "\"k\":\"v\"}}]"};
	static const size_t counts[] = {0, 0, 0, 2};
	struct docker_fixture *d = *state;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct err e = ERR_INIT;
		struct network_list list;

		fake_on(d->fake, (struct fake_rule){.method = "GET",
				     .path = "/networks?filters=*",
				     .status = 200,
				     .body = lists[i]});
		check_ok(network_list(d->engine, "k", "v", &list, &e), &e);
		assert_int_equal(list.count, counts[i]);
		if (i == 3) {
			assert_string_equal(list.item[1].name, "b");
			assert_string_equal(list.item[1].labels[0].value, "v");
		}
		network_list_release(&list);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(it_leads_nowhere_and_carries_its_run),
	    TEST(a_subnet_that_is_taken_is_passed_over),
	    TEST(a_pool_that_is_used_up_is_said_so),
	    TEST(another_refusal_is_not_tried_again),
	    TEST(what_is_gone_is_removed_and_what_is_used_is_a_conflict),
	    TEST(a_list_may_be_empty_or_odd),
	};

	return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
