/* Using and deleting a run while Redis or the engine fails at any step. */
#include "../check.h"
#include "lib/str.h"
#include "torture.h"
#include "torture_client.h"
#include "torture_world.h"

#include <stdio.h>
#include <string.h>

static char id[ULID_SIZE]; /* of the run that every story is about */

static void
make_run(void)
{
	SAID_AUTO s =
	    ask_calm("POST", "/v1/runs", "{\"image\":\"busybox\"}", NULL);

	assert_int_equal(s.status, 201);
	(void)snprintf(id, sizeof(id), "%s", said_text(&s, "id"));
	promise(id, true);
}

/* A request to the run whose answer must have this status, or tell of a fault.
 */
static bool
request(const char *method, const char *what, const char *body, int status)
{
	SAID_AUTO s = ask(method, target_of(id, what), body, NULL);

	return expect(&s, status);
}

/* Once nothing fails any more the run can be had and used as ever. */
static void
use_run(void)
{
	SAID_AUTO x = ask_calm(
	    "POST", target_of(id, "exec"), "{\"cmd\":\"exit 7\"}", NULL);
	SAID_AUTO lease = ask_calm("POST", target_of(id, "lease"),
	    "{\"owner\":\"last\",\"ttlSec\":60}", NULL);

	if (x.status != 200 || said_number(&x, "exitCode") != 7)
		wrong("the run executes no more: %d", x.status);
	if (lease.status != 200)
		wrong("the run is not to be had: %d %s", lease.status,
		    said_text(&lease, "detail"));
}

/* -- exec ----------------------------------------------------------------- */

/* A stream that ends otherwise than its command says why. */
static void
exec(void)
{
	SAID_AUTO s =
	    ask("POST", target_of(id, "exec"), "{\"cmd\":\"exit 3\"}", NULL);

	if (expect(&s, 200) && said_number(&s, "exitCode") != 3 &&
	    *said_text(&s, "error") == '\0')
		wrong("an exec that ends with %lld",
		    (long long)said_number(&s, "exitCode"));
}

static void
exec_and_leave(void)
{
	struct asking a = ask_begin(
	    "POST", target_of(id, "exec"), "{\"cmd\":\"wait\"}", NULL);

	ask_await(&a);
	ask_leave(&a);
	struct said s = ask_end(&a);
	said_release(&s);
}

static void
an_exec_ends_with_an_event_or_does_not_begin(void **state)
{
	static const struct story story = {.name = "exec",
	    .prepare = make_run,
	    .tell = exec,
	    .end = use_run,
	    .late = true};

	(void)state;
	torture(&story);
}

static void
an_exec_ends_when_its_client_leaves(void **state)
{
	static const struct story story = {.name = "exec and leave",
	    .prepare = make_run,
	    .tell = exec_and_leave,
	    .end = use_run};

	(void)state;
	torture(&story);
}

/* -- delete --------------------------------------------------------------- */

static void
delete_run(void)
{
	if (request("DELETE", "", NULL, 204))
		promise(id, false);
}

static void
delete_again(void)
{
	SAID_AUTO s = ask_calm("DELETE", target_of(id, ""), NULL, NULL);

	if (s.status != 204 && s.status != 404)
		wrong("deleting again: %d", s.status);
	promise(id, false);
}

/* Whether it goes or stays depends on how far the DELETE came. */
static void
goes_or_stays(void)
{
	if (world_number("EXISTS sbx:run:%s", id) == 0)
		promise(id, false);
}

static void
a_delete_is_finished_by_the_next_one(void **state)
{
	static const struct story story = {.name = "delete twice",
	    .prepare = make_run,
	    .tell = delete_run,
	    .after = delete_again};

	(void)state;
	torture(&story);
}

static void
a_delete_is_finished_by_the_reaper(void **state)
{
	static const struct story story = {.name = "delete once",
	    .prepare = make_run,
	    .tell = delete_run,
	    .end = goes_or_stays,
	    .late = true};

	(void)state;
	torture(&story);
}

static void
delete_under_an_exec(void)
{
	struct asking a = ask_begin(
	    "POST", target_of(id, "exec"), "{\"cmd\":\"wait\"}", NULL);

	ask_await(&a);
	delete_run();
	if (world_number("EXISTS sbx:run:%s", id) == 1)
		ask_leave(&a); /* the command goes on */
	SAID_AUTO s = ask_end(&a);
	if (s.status == 200 && *said_text(&s, "error") == '\0')
		wrong("an exec under a DELETE that says nothing of it");
}

static void
a_delete_ends_what_is_in_flight(void **state)
{
	static const struct story story = {.name = "delete under an exec",
	    .prepare = make_run,
	    .tell = delete_under_an_exec,
	    .end = goes_or_stays};

	(void)state;
	torture(&story);
}

/* -- looking, and time ---------------------------------------------------- */

static void
look(void)
{
	SAID_AUTO list = ask("GET", "/v1/runs", NULL, NULL);

	if (expect(&list, 200) &&
	    json_array_size(json_object_get(list.json, "runs")) != 1)
		wrong("a list without the run");
	(void)request("GET", "", NULL, 200);
	SAID_AUTO ready = ask("GET", "/health/ready", NULL, NULL);
	(void)expect(&ready, 200);
}

static void
extend(void)
{
	(void)request("POST", "extend", "{\"ttlSec\":7200}", 200);
}

static void
looking_changes_nothing(void **state)
{
	static const struct story story = {.name = "list, get, ready",
	    .prepare = make_run,
	    .tell = look,
	    .end = use_run};

	(void)state;
	torture(&story);
}

static void
an_extension_never_ends_a_run(void **state)
{
	static const struct story story = {.name = "extend",
	    .prepare = make_run,
	    .tell = extend,
	    .end = use_run};

	(void)state;
	torture(&story);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_exec_ends_with_an_event_or_does_not_begin),
	    cmocka_unit_test(an_exec_ends_when_its_client_leaves),
	    cmocka_unit_test(a_delete_is_finished_by_the_next_one),
	    cmocka_unit_test(a_delete_is_finished_by_the_reaper),
	    cmocka_unit_test(a_delete_ends_what_is_in_flight),
	    cmocka_unit_test(looking_changes_nothing),
	    cmocka_unit_test(an_extension_never_ends_a_run),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
