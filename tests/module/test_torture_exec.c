/* Exec objects while Redis or the engine fails at any step. */
#include "../check.h"
#include "lib/str.h"
#include "torture.h"
#include "torture_client.h"
#include "torture_world.h"

#include <stdio.h>
#include <string.h>

static char id[ULID_SIZE];   /* of the run that every story is about */
static char exec[ULID_SIZE]; /* of one in it */

static const char *
exec_url(const char *what)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "execs/%s%s", exec, what);
	return target_of(id, path);
}

static void
make_run(void)
{
	SAID_AUTO s =
	    ask_calm("POST", "/v1/runs", "{\"image\":\"busybox\"}", NULL);

	assert_int_equal(s.status, 201);
	(void)snprintf(id, sizeof(id), "%s", said_text(&s, "id"));
	promise(id, true);
}

static void
make_exec(void)
{
	make_run();
	SAID_AUTO s = ask_calm("POST", target_of(id, "exec"),
	    "{\"cmd\":\"wait\",\"detach\":true}", NULL);
	assert_int_equal(s.status, 202);
	(void)snprintf(exec, sizeof(exec), "%s", said_text(&s, "exec.id"));
}

/* Nothing is in flight, whatever was answered. */
static void
take_run(void)
{
	SAID_AUTO lease = ask_calm("POST", target_of(id, "lease"),
	    "{\"owner\":\"last\",\"ttlSec\":60}", NULL);

	if (lease.status != 200)
		wrong("the run is not to be had: %d %s", lease.status,
		    said_text(&lease, "detail"));
}

static void
detach(void)
{
	SAID_AUTO s = ask("POST", target_of(id, "exec"),
	    "{\"cmd\":\"wait\",\"detach\":true}", NULL);

	if (expect(&s, 202) && !str_eq(said_text(&s, "exec.state"), "running"))
		wrong("a 202 without its exec");
}

static void
look(void)
{
	SAID_AUTO list = ask("GET", target_of(id, "execs"), NULL, NULL);
	if (expect(&list, 200) &&
	    json_array_size(json_object_get(list.json, "execs")) != 1)
		wrong("a list without the exec");
	SAID_AUTO one = ask("GET", exec_url(""), NULL, NULL);
	(void)expect(&one, 200);
	SAID_AUTO stream = ask("GET", exec_url("/stream"), NULL, NULL);
	if (expect(&stream, 200) && !str_eq(stream.event, "exit"))
		wrong("a stream that ends with %s", stream.event);
}

static void
act(void)
{
	SAID_AUTO fed = ask("POST", exec_url("/stdin?close=1"), "text", NULL);
	(void)expect(&fed, 204);
	SAID_AUTO told =
	    ask("POST", exec_url("/signal"), "{\"signal\":\"HUP\"}", NULL);
	(void)expect(&told, 204);
	SAID_AUTO ended = ask("DELETE", exec_url(""), NULL, NULL);
	(void)expect(&ended, 204);
}

static void
a_detached_exec_is_not_in_flight(void **state)
{
	static const struct story story = {.name = "detach",
	    .prepare = make_run,
	    .tell = detach,
	    .end = take_run};

	(void)state;
	torture(&story);
}

static void
looking_at_execs_changes_nothing(void **state)
{
	static const struct story story = {.name = "list, get, stream",
	    .prepare = make_exec,
	    .tell = look,
	    .end = take_run};

	(void)state;
	torture(&story);
}

static void
an_act_is_over_when_it_is_answered(void **state)
{
	static const struct story story = {.name = "stdin, signal, DELETE",
	    .prepare = make_exec,
	    .tell = act,
	    .end = take_run};

	(void)state;
	torture(&story);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_detached_exec_is_not_in_flight),
	    cmocka_unit_test(looking_at_execs_changes_nothing),
	    cmocka_unit_test(an_act_is_over_when_it_is_answered),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
