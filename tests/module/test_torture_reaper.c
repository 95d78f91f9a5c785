/* The reaper at work while Redis or the engine fails at any step: what it did
 * not finish, the next one does (DESIGN 7). */
#include "../check.h"
#include "lib/str.h"
#include "run/place.h"
#include "torture.h"
#include "torture_client.h"
#include "torture_world.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char id[ULID_SIZE]; /* of the run that every story is about */

static void
make_run(void)
{
	SAID_AUTO s = ask_calm("POST", "/v1/runs",
	    "{\"image\":\"busybox\",\"ttlSec\":3600,\"labels\":{\"a\":\"b\"}}",
	    NULL);

	assert_int_equal(s.status, 201);
	(void)snprintf(id, sizeof(id), "%s", said_text(&s, "id"));
}

static void
reap(void)
{
	world_tick(true);
}

/* -- what must go --------------------------------------------------------- */

static void
expire(void)
{
	make_run();
	promise(id, false);
	freeReplyObject(world_do("HSET sbx:run:%s expiresAt 1000", id));
	freeReplyObject(world_do("ZADD sbx:runs 1000 %s", id));
}

static void
lose_container(void)
{
	make_run();
	promise(id, false);
	model_clear(world.model);
}

/* A container whose DELETE was finished: as an engine that came back from the
 * dead would have it. */
static void
bury(void)
{
	make_run();
	promise(id, false);
	freeReplyObject(world_do("FLUSHALL"));
	freeReplyObject(world_do("SET sbx:gone:%s 1", id));
	freeReplyObject(world_do("PEXPIRE sbx:gone:%s 600000", id));
	world_age();
}

static void
leave_directory(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path),
	    "%s/run/runs/01BX5ZZKBKACTAV9WEVGEMMVS0", world.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	world_age();
}

/* -- what must stay ------------------------------------------------------- */

static void
flush(void)
{
	make_run();
	promise(id, true);
	freeReplyObject(world_do("FLUSHALL"));
	world_age();
}

static void
is_as_before(void)
{
	SAID_AUTO s = ask_calm("GET", target_of(id, ""), NULL, NULL);

	if (s.status != 200 || !str_eq(said_text(&s, "image"), "busybox") ||
	    !str_eq(said_text(&s, "labels.a"), "b"))
		wrong("an adopted run is another one: %s", s.raw.data);
}

static void
kill_container(void)
{
	char name[RUN_NAME_SIZE];

	make_run();
	run_name(id, name);
	model_end(world.model, name, 137);
}

static void
has_exited(void)
{
	SAID_AUTO s = ask_calm("GET", target_of(id, ""), NULL, NULL);

	if (!str_eq(said_text(&s, "state"), "exited") ||
	    said_number(&s, "exit.code") != 137 ||
	    !str_eq(said_text(&s, "exit.reason"), "killed"))
		wrong("a run that was killed says: %s", s.raw.data);
}

static void
keep(void)
{
	make_run();
	promise(id, true);
}

/* -- the tests ------------------------------------------------------------ */

static void
an_expired_run_goes(void **state)
{
	static const struct story story = {.name = "expire",
	    .prepare = expire,
	    .tell = reap,
	    .clientless = true,
	    .late = true};

	(void)state;
	torture(&story);
}

static void
a_record_without_a_container_goes(void **state)
{
	static const struct story story = {.name = "lost container",
	    .prepare = lose_container,
	    .tell = reap,
	    .clientless = true};

	(void)state;
	torture(&story);
}

static void
a_container_that_was_deleted_goes(void **state)
{
	static const struct story story = {.name = "buried",
	    .prepare = bury,
	    .tell = reap,
	    .clientless = true};

	(void)state;
	torture(&story);
}

static void
a_directory_of_nobody_goes(void **state)
{
	static const struct story story = {.name = "left directory",
	    .prepare = leave_directory,
	    .tell = reap,
	    .clientless = true};

	(void)state;
	torture(&story);
}

static void
a_run_of_a_flushed_redis_is_adopted(void **state)
{
	static const struct story story = {.name = "adopt",
	    .prepare = flush,
	    .tell = reap,
	    .clientless = true,
	    .end = is_as_before};

	(void)state;
	torture(&story);
}

static void
a_run_whose_container_ended_says_why(void **state)
{
	static const struct story story = {.name = "exited",
	    .prepare = kill_container,
	    .tell = reap,
	    .clientless = true,
	    .end = has_exited};

	(void)state;
	torture(&story);
}

static void
a_live_run_is_left_alone(void **state)
{
	static const struct story story = {
	    .name = "live", .prepare = keep, .tell = reap, .clientless = true};

	(void)state;
	torture(&story);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_expired_run_goes),
	    cmocka_unit_test(a_record_without_a_container_goes),
	    cmocka_unit_test(a_container_that_was_deleted_goes),
	    cmocka_unit_test(a_directory_of_nobody_goes),
	    cmocka_unit_test(a_run_of_a_flushed_redis_is_adopted),
	    cmocka_unit_test(a_run_whose_container_ended_says_why),
	    cmocka_unit_test(a_live_run_is_left_alone),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
