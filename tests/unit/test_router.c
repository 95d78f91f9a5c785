/* http/router: which route a request takes. */
#include "../check.h"
#include "http/router.h"
#include "http/target.h"

#include <stdio.h>
#include <string.h>

static const struct route table[] = {
    {.method = "GET", .pattern = "/health"},
    {.method = "GET", .pattern = "/v1/runs"},
    {.method = "POST", .pattern = "/v1/runs"},
    {.method = "GET", .pattern = "/v1/runs/{id}"},
    {.method = "DELETE", .pattern = "/v1/runs/{id}"},
    {.method = "POST", .pattern = "/v1/runs/{id}/exec"},
    {.method = "PUT", .pattern = "/v1/runs/{id}/files/{path...}"},
    {.method = "GET", .pattern = "/v1/runs/{id}/execs/{eid}/stream"},
};

#define ROUTES (sizeof(table) / sizeof(table[0]))

static struct arena arena = ARENA_INIT;

static int
empty_arena(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static struct exchange
request(const char *method, const char *target)
{
	struct exchange x = {
	    .arena = &arena,
	    .method = method,
	    .target = target,
	    .head = strcmp(method, "HEAD") == 0,
	};
	struct err e = ERR_INIT;

	check_ok(target_parse(&x, &e), &e);
	return x;
}

/* The pattern that a request takes, or "kind allow" where none. */
static const char *
taken(const char *method, const char *target)
{
	static char said[256];
	struct exchange x = request(method, target);
	struct err e = ERR_INIT;
	char allow[128];
	const struct route *r =
	    router_find(table, ROUTES, &x, allow, sizeof(allow), &e);

	if (r != NULL)
		return r->pattern;
	(void)snprintf(said, sizeof(said), "%s %s",
	    e.kind == ERR_ROUTE ? "route" : "method", allow);
	return said;
}

static void
a_route_is_found_by_method_and_segments(void **state)
{
	(void)state;
	assert_string_equal(taken("GET", "/health"), "/health");
	assert_string_equal(taken("POST", "/v1/runs"), "/v1/runs");
	assert_string_equal(taken("GET", "/v1/runs/X"), "/v1/runs/{id}");
	assert_string_equal(
	    taken("POST", "/v1/runs/X/%65xec"), "/v1/runs/{id}/exec");
	assert_string_equal(taken("GET", "/v1/runs/X/execs/Y/stream?offset=1"),
	    "/v1/runs/{id}/execs/{eid}/stream");
	assert_string_equal(taken("PUT", "/v1/runs/X/files/a"),
	    "/v1/runs/{id}/files/{path...}");
}

static void
what_no_pattern_matches_is_no_route(void **state)
{
	static const char *const targets[] = {"/", "/healt", "/healthy",
	    "/health/x", "/v1", "/V1/runs", "/v1/runs/X/Y", "/v1/runs/X/files",
	    "/v1/runs/X/execs/Y", "/{id}", "/v1/runs/X/execs/Y/stream/Z"};

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		assert_string_equal(taken("GET", targets[i]), "route ");
}

static void
another_method_is_told_which_are_allowed(void **state)
{
	(void)state;
	assert_string_equal(taken("POST", "/health"), "method GET, HEAD");
	assert_string_equal(
	    taken("PATCH", "/v1/runs"), "method GET, HEAD, POST");
	assert_string_equal(
	    taken("POST", "/v1/runs/X"), "method GET, HEAD, DELETE");
	assert_string_equal(taken("HEAD", "/v1/runs/X/exec"), "method POST");
	assert_string_equal(taken("get", "/health"), "method GET, HEAD");
}

static void
head_takes_the_route_of_get(void **state)
{
	(void)state;
	assert_string_equal(taken("HEAD", "/health"), "/health");
	assert_string_equal(taken("HEAD", "/v1/runs/X"), "/v1/runs/{id}");
}

static void
parameters_are_decoded_segments(void **state)
{
	struct exchange x = request("GET", "/v1/runs/a%20b/execs/e/stream");

	(void)state;
	assert_string_equal(router_param(&table[7], &x, "id"), "a b");
	assert_string_equal(router_param(&table[7], &x, "eid"), "e");
	assert_null(router_param(&table[7], &x, "e"));
	assert_null(router_param(&table[7], &x, "runs"));
}

static void
a_rest_parameter_is_the_path_as_one_text(void **state)
{
	struct exchange x = request("PUT", "/v1/runs/X/files/a/b%20c%2Fd.txt");

	(void)state;
	assert_string_equal(router_param(&table[6], &x, "path"), "a/b c/d.txt");
	x = request("PUT", "/v1/runs/X/files/a");
	assert_string_equal(router_param(&table[6], &x, "path"), "a");
	assert_string_equal(router_param(&table[6], &x, "id"), "X");
}

static void
an_allow_header_never_outgrows_its_room(void **state)
{
	struct exchange x = request("PATCH", "/v1/runs");
	struct err e = ERR_INIT;
	char allow[8];

	(void)state;
	assert_null(router_find(table, ROUTES, &x, allow, sizeof(allow), &e));
	assert_string_equal(allow, "GET, HE");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_route_is_found_by_method_and_segments),
	    cmocka_unit_test(what_no_pattern_matches_is_no_route),
	    cmocka_unit_test(another_method_is_told_which_are_allowed),
	    cmocka_unit_test(head_takes_the_route_of_get),
	    cmocka_unit_test(parameters_are_decoded_segments),
	    cmocka_unit_test(a_rest_parameter_is_the_path_as_one_text),
	    cmocka_unit_test(an_allow_header_never_outgrows_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, empty_arena);
}
