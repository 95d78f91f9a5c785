/* Redis or Docker away (CONTRACT 8): every route says so at once, says which,
 * and works again when they do, by itself. */
#include "dockerd.h"
#include "harness.h"

#include <signal.h>
#include <string.h>

#define END_MS 30000
#define AT_ONCE_MS 15000 /* 2 s are promised; the engine's own are 30 */

static char run[ULID_SIZE];

static int
setup(void **state)
{
	(void)state;
	dockerd_start(true);
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	run_new(IMAGE_PLAIN, run);
	return 0;
}

static int
teardown(void **state)
{
	run_end(run);
	int rc = stack_stop(state);
	dockerd_stop();
	return rc;
}

#define LEASE "{\"owner\":\"anna\",\"generation\":1,\"ttlSec\":60}"

/* All routes but those of health; with "" the path is not of the run. */
static const struct {
	const char *method, *path, *what, *body;
	bool redis, docker; /* it needs them */
} routes[] = {
    {"GET", "/metrics", NULL, NULL, true, false},
    {"GET", "/v1/usage", NULL, NULL, true, false},
    {"GET", "/v1/runs", NULL, NULL, true, false},
    {"POST", "/v1/runs", NULL, "{\"image\":\"" IMAGE_PLAIN "\"}", true, true},
    {"GET", NULL, "", NULL, true, false},
    {"POST", NULL, "extend", "{\"ttlSec\":60}", true, false},
    {"POST", NULL, "exec", "{\"cmd\":\"true\"}", true, true},
    {"POST", NULL, "lease", LEASE, true, false},
    {"POST", NULL, "lease/renew", LEASE, true, false},
    {"POST", NULL, "lease/release", LEASE, true, false},
    {"DELETE", NULL, "", NULL, true, true},
};

#define ROUTES (sizeof(routes) / sizeof(routes[0]))

static bool
is_exec(size_t i)
{
	return routes[i].what != NULL && str_eq(routes[i].what, "exec");
}

/* Those that need it are refused with 503 and that code; the slowest's time. */
static int64_t
check_routes(const char *id, bool redis, const char *code)
{
	int64_t slowest = 0;

	for (size_t i = 0; i < ROUTES; i++) {
		if (redis ? !routes[i].redis : !routes[i].docker)
			continue;
		if (!redis && run_has_socket(id) && is_exec(i))
			continue;
		REPLY_AUTO r = http_do(routes[i].method,
		    routes[i].path != NULL ? routes[i].path
					   : run_url(id, routes[i].what),
		    routes[i].body, NULL);
		printf("%s %s%s: %ld in %lld ms\n", routes[i].method,
		    routes[i].path ? routes[i].path : "/v1/runs/{id}/",
		    routes[i].what ? routes[i].what : "", r.status,
		    (long long)r.took_ms);
		check_problem(&r, 503, code, NULL);
		assert_non_null(http_header(&r.headers, "Retry-After"));
		slowest = r.took_ms > slowest ? r.took_ms : slowest;
	}
	assert_in_range(slowest, 0, AT_ONCE_MS);
	return slowest;
}

static void
check_health(const char *which, const char *other)
{
	REPLY_AUTO health = http_do("GET", "/health", NULL, NULL);
	REPLY_AUTO ready = http_do("GET", "/health/ready", NULL, NULL);

	assert_int_equal(health.status, 200);
	check_problem(&ready, 503, "not_ready", which);
	assert_null(strstr(ready.body.data, other));
	assert_in_range(ready.took_ms, 0, AT_ONCE_MS);
}

static bool
executes(const char *id)
{
	EXECUTED_AUTO x = exec_sh(id, "true");

	return x.status == 200;
}

static void
check_heals(void)
{
	wait_until(stack_ready(), END_MS);
	wait_until(executes(run), END_MS);
}

static void
a_dead_redis_is_said_by_every_route(void **state)
{
	pid_t redis;

	(void)state;
	assert_int_equal(stack_pids(STACK_REDIS, &redis, 1), 1);
	assert_int_equal(kill(stack.serve, SIGSTOP), 0);
	assert_int_equal(kill(redis, SIGKILL), 0);
	check_routes(run, true, "store_unavailable");
	check_health("redis", "docker");
	assert_int_equal(kill(stack.serve, SIGCONT), 0);
	check_heals();
}

/* What was sent to it is done when it wakes: so nothing that would make a run,
 * and another one to destroy. */
static void
a_hanging_redis_is_said_at_once(void **state)
{
	pid_t redis;

	(void)state;
	assert_int_equal(stack_pids(STACK_REDIS, &redis, 1), 1);
	assert_int_equal(kill(redis, SIGSTOP), 0);
	REPLY_AUTO list = http_do("GET", "/v1/runs", NULL, NULL);
	REPLY_AUTO exec =
	    http_do("POST", run_url(run, "exec"), "{\"cmd\":\"id\"}", NULL);
	check_health("redis", "docker");
	assert_int_equal(kill(redis, SIGCONT), 0);
	check_problem(&list, 503, "store_unavailable", NULL);
	check_problem(&exec, 503, "store_unavailable", NULL);
	assert_in_range(list.took_ms, 0, AT_ONCE_MS);
	assert_in_range(exec.took_ms, 0, AT_ONCE_MS);
	check_heals();
}

/* Those that Docker has no part in. */
static void
check_others(void)
{
	REPLY_AUTO list = http_do("GET", "/v1/runs", NULL, NULL);
	REPLY_AUTO one = http_do("GET", run_url(run, ""), NULL, NULL);
	REPLY_AUTO usage = http_do("GET", "/v1/usage", NULL, NULL);

	assert_int_equal(list.status, 200);
	assert_int_equal(one.status, 200);
	assert_int_equal(usage.status, 200);
	if (run_has_socket(run))
		assert_true(executes(run));
}

static bool
is_gone(const char *id)
{
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);

	return r.status == 404;
}

/* A DELETE that found it away is finished by the reaper. */
static void
without_docker(void (*lose)(void), void (*find)(void))
{
	char other[ULID_SIZE];

	run_new(IMAGE_PLAIN, other);
	lose();
	/* It takes a second, after which no thread trusts it any more. */
	check_health("docker", "redis");
	check_routes(other, false, "engine_unavailable");
	check_others();
	REPLY_AUTO left = http_do("GET", run_url(other, ""), NULL, NULL);
	find();
	assert_string_equal(
	    json_string_value(json_at(left.json, "state")), "destroying");
	check_heals();
	wait_until(is_gone(other), 90000);
}

static void
kill_docker(void)
{
	dockerd_end(SIGKILL);
}

static void
stop_docker(void)
{
	assert_int_equal(kill(dockerd_pid(), SIGSTOP), 0);
}

static void
continue_docker(void)
{
	assert_int_equal(kill(dockerd_pid(), SIGCONT), 0);
}

static void
a_dead_docker_is_said_at_once(void **state)
{
	(void)state;
	without_docker(kill_docker, dockerd_resume);
}

static void
a_hanging_docker_is_said_at_once(void **state)
{
	(void)state;
	without_docker(stop_docker, continue_docker);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_dead_redis_is_said_by_every_route),
	    cmocka_unit_test(a_hanging_redis_is_said_at_once),
	    cmocka_unit_test(a_dead_docker_is_said_at_once),
	    cmocka_unit_test(a_hanging_docker_is_said_at_once),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
