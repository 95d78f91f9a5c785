/* docker/events on a scripted engine. */
#include "docker/events.h"
#include "docker_fixture.h"

#define DIE(id)                                           \
	"{\"status\":\"die\",\"Type\":\"container\","     \
	"\"Action\":\"die\",\"Actor\":{\"ID\":\"" id "\"" \
	",\"Attributes\":{\"exitCode\":\"0\"}}}\n"
#define START(id)                                                              \
	"{\"Type\":\"container\",\"Action\":\"start\",\"Actor\":{\"ID\":\"" id \
	"\"}}\n"

static void
answer(struct docker_fixture *d, const char *path, const char *body)
{
	fake_on(d->fake,
	    (struct fake_rule){
		.method = "GET", .path = path, .status = 200, .body = body});
}

static void
check(struct docker_fixture *d, const char *events, bool restart)
{
	struct err e = ERR_INIT;
	bool got = !restart;

	answer(d, "/events[?]since=1&until=*.*", events);
	check_ok(events_restart_ended(d->engine, "c1", &got, &e), &e);
	assert_int_equal(got, restart);
}

static void
an_engine_that_did_not_see_a_start_was_started_after_it(void **state)
{
	check(*state, "", true);
	check(*state, START("c2") DIE("c2"), true);
	check(*state, START("c1"), false);
	check(*state, START("c1") DIE("c1"), false);
}

static void
an_end_is_the_engine_s_own_work_unless_runs_outlive_it(void **state)
{
	answer(*state, "/info", "{\"LiveRestoreEnabled\":false}");
	check(*state, DIE("c1"), true);
	answer(*state, "/info", "{\"LiveRestoreEnabled\":true}");
	check(*state, DIE("c1") START("c2"), false);
	check(*state, START("c2"), true);
}

static void
a_full_memory_tells_nothing(void **state)
{
	BUF_AUTO events = BUF_INIT(1 << 20);

	for (int i = 0; i < 255; i++)
		buf_adds(&events, START("c2"));
	check(*state, events.data, true);
	buf_adds(&events, START("c2"));
	check(*state, events.data, false);
}

static void
what_is_no_memory_is_refused(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;
	bool got;

	check_fails(
	    events_restart_ended(d->engine, "c1", &got, &e), &e, ERR_ABSENT);
	fake_on(d->fake, (struct fake_rule){.path = "/events*",
			     .status = 200,
			     .body = START("c1") "{\"Type\":"});
	check_fails(
	    events_restart_ended(d->engine, "c1", &got, &e), &e, ERR_ENGINE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    docker_test(
		an_engine_that_did_not_see_a_start_was_started_after_it),
	    docker_test(an_end_is_the_engine_s_own_work_unless_runs_outlive_it),
	    docker_test(a_full_memory_tells_nothing),
	    docker_test(what_is_no_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
