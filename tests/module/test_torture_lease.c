/* Leases while Redis or the engine fails at any step (CONTRACT 5). */
#include "../check.h"
#include "lib/str.h"
#include "torture.h"
#include "torture_client.h"
#include "torture_world.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define OWNER "{\"owner\":\"a\",\"ttlSec\":600"

static char id[ULID_SIZE];	 /* of the run that every story is about */
static json_int_t generation;	 /* the highest that anybody was told of */
static struct asking background; /* an exec in flight */

static void
make_run(void)
{
	SAID_AUTO s =
	    ask_calm("POST", "/v1/runs", "{\"image\":\"busybox\"}", NULL);

	assert_int_equal(s.status, 201);
	(void)snprintf(id, sizeof(id), "%s", said_text(&s, "id"));
	promise(id, true);
	generation = 0;
}

/* A grant's number is above every earlier one. */
static void
take_grant(const struct said *s)
{
	json_int_t granted = said_number(s, "lease.generation");

	if (granted <= generation)
		wrong("generation %lld after %lld", (long long)granted,
		    (long long)generation);
	generation = granted;
}

static const char *
credential(const char *more)
{
	static char body[128];

	(void)snprintf(body, sizeof(body),
	    "{\"owner\":\"a\",\"generation\":%lld%s}", (long long)generation,
	    more);
	return body;
}

static void
acquire_calmly(void)
{
	SAID_AUTO s = ask_calm("POST", target_of(id, "lease"), OWNER "}", NULL);

	if (s.status != 200)
		wrong("acquiring again: %d %s", s.status,
		    said_text(&s, "detail"));
	else
		take_grant(&s);
}

static void
make_lease(void)
{
	make_run();
	acquire_calmly();
}

/* Whatever happened before: who asks anew is granted, above all others, and
 * with that grant everything is allowed, without it nothing is. */
static void
hold_run(void)
{
	acquire_calmly();
	SAID_AUTO own = ask_calm("POST", target_of(id, "extend"),
	    credential(",\"ttlSec\":60"), NULL);
	SAID_AUTO other =
	    ask_calm("POST", target_of(id, "extend"), "{\"ttlSec\":60}", NULL);
	SAID_AUTO stale = ask_calm("POST", target_of(id, "extend"),
	    "{\"ttlSec\":60,\"owner\":\"a\",\"generation\":999}", NULL);

	if (own.status != 200)
		wrong("the holder is refused: %d", own.status);
	if (other.status != 409 || stale.status != 409)
		wrong(
		    "others are admitted: %d, %d", other.status, stale.status);
}

/* -- the stories ---------------------------------------------------------- */

static void
acquire(void)
{
	SAID_AUTO s = ask("POST", target_of(id, "lease"), OWNER "}", NULL);

	if (expect(&s, 200))
		take_grant(&s);
}

static void
renew(void)
{
	SAID_AUTO s = ask("POST", target_of(id, "lease/renew"),
	    credential(",\"ttlSec\":900"), NULL);

	if (expect(&s, 200) &&
	    said_number(&s, "lease.generation") != generation)
		wrong("a renewal that changes the generation");
}

/* A client whose release got no answer releases again: 409 says that the first
 * one did. */
static void
release(void)
{
	SAID_AUTO s =
	    ask("POST", target_of(id, "lease/release"), credential(""), NULL);

	if (!expect(&s, 204)) {
		SAID_AUTO again = ask("POST", target_of(id, "lease/release"),
		    credential(""), NULL);
		if (again.status != 409)
			(void)expect(&again, 204);
	}
}

static void
exec_as_holder(void)
{
	SAID_AUTO s = ask("POST", target_of(id, "exec"),
	    credential(",\"cmd\":\"exit 0\""), NULL);

	(void)expect(&s, 200);
}

static void
begin_exec(void)
{
	make_run();
	background = ask_begin(
	    "POST", target_of(id, "exec"), "{\"cmd\":\"wait\"}", NULL);
	ask_await(&background);
}

/* A grant by force comes when what was in flight is dead, and not before. */
static void
force(void)
{
	SAID_AUTO s =
	    ask("POST", target_of(id, "lease"), OWNER ",\"force\":true}", NULL);

	if (expect(&s, 200)) {
		take_grant(&s);
		/* The engine hears of a dead one when its stream is closed;
		 * one that runs would not end by itself. */
		for (int i = 0; i < 200 && model_execs(world.model) > 0; i++)
			(void)poll(NULL, 0, 5);
		if (model_execs(world.model) > 0)
			wrong("a grant over a running exec");
	}
}

static void
end_exec(void)
{
	if (model_execs(world.model) > 0)
		ask_leave(&background);
	SAID_AUTO s = ask_end(&background);
	if (s.status == 200 && *said_text(&s, "error") == '\0')
		wrong("a killed exec that says nothing of it");
}

static void
a_grant_is_made_once(void **state)
{
	static const struct story story = {.name = "acquire",
	    .prepare = make_run,
	    .tell = acquire,
	    .after = acquire_calmly,
	    .end = hold_run,
	    .late = true};

	(void)state;
	torture(&story);
}

static void
a_renewal_keeps_the_grant(void **state)
{
	static const struct story story = {.name = "renew",
	    .prepare = make_lease,
	    .tell = renew,
	    .end = hold_run};

	(void)state;
	torture(&story);
}

static void
a_release_can_be_repeated(void **state)
{
	static const struct story story = {.name = "release",
	    .prepare = make_lease,
	    .tell = release,
	    .end = hold_run};

	(void)state;
	torture(&story);
}

static void
a_holder_s_exec_leaves_its_lease_alone(void **state)
{
	static const struct story story = {.name = "exec as holder",
	    .prepare = make_lease,
	    .tell = exec_as_holder,
	    .end = hold_run};

	(void)state;
	torture(&story);
}

static void
force_grants_over_the_dead_only(void **state)
{
	static const struct story story = {.name = "force",
	    .prepare = begin_exec,
	    .tell = force,
	    .after = end_exec,
	    .end = hold_run};

	(void)state;
	torture(&story);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_grant_is_made_once),
	    cmocka_unit_test(a_renewal_keeps_the_grant),
	    cmocka_unit_test(a_release_can_be_repeated),
	    cmocka_unit_test(a_holder_s_exec_leaves_its_lease_alone),
	    cmocka_unit_test(force_grants_over_the_dead_only),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
