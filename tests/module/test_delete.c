/* DELETE of a run whose container Docker refuses to remove (CONTRACT 2). */
#include "../check.h"
#include "lib/str.h"
#include "torture_client.h"
#include "torture_world.h"

#include <stdio.h>

static char id[ULID_SIZE];

static struct said
say(const char *method)
{
	return ask_calm(method, target_of(id, ""), NULL, NULL);
}

/* A run, and a DELETE of it whose first call Docker answered with a 500; true
 * where that was the removal. */
static bool
refuse_once(void)
{
	SAID_AUTO made =
	    ask_calm("POST", "/v1/runs", "{\"image\":\"busybox\"}", NULL);

	assert_int_equal(made.status, 201);
	(void)snprintf(id, sizeof(id), "%s", said_text(&made, "id"));
	model_fail(world.model, 1, MODEL_REFUSE);
	SAID_AUTO refused = say("DELETE");
	const char *call = model_heal(world.model);
	if (call != NULL && str_starts(call, "DELETE /containers/")) {
		assert_int_equal(refused.status, 502);
		return true;
	}
	SAID_AUTO again = say("DELETE");
	assert_true(again.status == 204 || again.status == 404);
	return false;
}

static void
refuse(void)
{
	struct model_container left[MODEL_CONTAINERS];
	int tries = 0;

	/* A thread of the worker that is new to it asks its version first. */
	while (!refuse_once())
		assert_true(++tries < 20);
	assert_int_equal(model_list(world.model, left), 1);
	SAID_AUTO run = say("GET");
	assert_int_equal(run.status, 200);
	assert_string_equal(said_text(&run, "state"), "destroying");
	SAID_AUTO list = ask_calm("GET", "/v1/runs", NULL, NULL);
	const json_t *first =
	    json_array_get(json_object_get(list.json, "runs"), 0);
	assert_string_equal(
	    json_string_value(json_object_get(first, "state")), "destroying");
	SAID_AUTO exec = ask_calm(
	    "POST", target_of(id, "exec"), "{\"cmd\":\"exit 0\"}", NULL);
	assert_int_equal(exec.status, 409);
	assert_string_equal(said_text(&exec, "code"), "run_not_running");
}

static void
check_gone(void)
{
	struct model_container left[MODEL_CONTAINERS];
	SAID_AUTO get = say("GET");

	assert_int_equal(get.status, 404);
	assert_int_equal(model_list(world.model, left), 0);
	assert_true(world_empty());
}

static void
a_delete_that_docker_refuses_leaves_the_run_to_the_next(void **state)
{
	(void)state;
	refuse();
	SAID_AUTO again = say("DELETE");
	assert_int_equal(again.status, 204);
	check_gone();
}

static void
a_delete_that_docker_refuses_leaves_the_run_to_the_reaper(void **state)
{
	(void)state;
	refuse();
	world_age();
	world_tick(false);
	world_tick(false);
	check_gone();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		a_delete_that_docker_refuses_leaves_the_run_to_the_next),
	    cmocka_unit_test(
		a_delete_that_docker_refuses_leaves_the_run_to_the_reaper),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
