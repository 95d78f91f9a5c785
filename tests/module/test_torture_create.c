/* Creating runs while Redis or the engine fails at any step (CONTRACT 2). */
#include "../check.h"
#include "lib/str.h"
#include "torture.h"
#include "torture_client.h"
#include "torture_world.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char id[ULID_SIZE]; /* of the run that a telling was promised, or "" */

/* What a creation does before it can fail. */
static void
forget_id(void)
{
	id[0] = '\0';
}

static void
take_id(const struct said *s)
{
	(void)snprintf(id, sizeof(id), "%s", said_text(s, "id"));
	promise(id, true);
}

/* A creation that failed has undone itself by the time it says so. Of a record
 * whose making got no reply it cannot know. */
static void
is_undone(void)
{
	struct model_container containers[MODEL_CONTAINERS];
	redisReply *keys = world_do("KEYS sbx:run:*");

	if (fault_was_brief() && id[0] == '\0') {
		if (model_list(world.model, containers) > 0)
			wrong("a container is left at first");
		for (size_t i = 0; i < keys->elements; i++)
			if (*world_text("HGET %s containerId",
				keys->element[i]->str) != '\0')
				wrong("a record is left at first");
	}
	freeReplyObject(keys);
}

/* A new run answers 201 and runs. */
static void
create(const char *body)
{
	SAID_AUTO s = ask("POST", "/v1/runs", body, NULL);

	if (expect(&s, 201))
		take_id(&s);
}

static void
create_plain(void)
{
	create("{\"image\":\"busybox\",\"env\":{\"A\":\"b\"}}");
}

static void
create_pulled(void)
{
	create("{\"image\":\"absent\"}");
}

/* Where the command is not heard to its end, the creation may say so. */
static void
create_with_init(void)
{
	SAID_AUTO s = ask("POST", "/v1/runs",
	    "{\"image\":\"busybox\",\"init\":{\"cmd\":\"say hello\"}}", NULL);

	if (s.status != 422 && expect(&s, 201))
		take_id(&s);
}

/* What becomes of it fails in Redis and the engine only: fake/proxy starts. */
static void
create_with_proxy(void)
{
	create("{\"image\":\"busybox\",\"network\":\"allowlist\","
	       "\"egressAllow\":[\"a.example\"]}");
}

static void
its_policy_is_there(void)
{
	char path[160];

	(void)snprintf(
	    path, sizeof(path), "%s/run/runs/%s/egress", world.dir, id);
	if (id[0] != '\0' && access(path, R_OK) != 0)
		wrong("a run has no policy");
}

/* Its failure is told as such, and leaves nothing. */
static void
create_with_bad_init(void)
{
	SAID_AUTO s = ask("POST", "/v1/runs",
	    "{\"image\":\"busybox\",\"init\":{\"cmd\":\"exit 3\"}}", NULL);

	(void)expect(&s, 422);
}

static void
nothing_is_there(void)
{
	if (world_number("ZCARD sbx:ids") != 0)
		wrong("a run is there");
}

static void
create_streamed(void)
{
	static const char *const more[] = {
	    "HTTP_ACCEPT=text/event-stream", NULL};
	SAID_AUTO s = ask("POST", "/v1/runs",
	    "{\"image\":\"absent\",\"init\":{\"cmd\":\"say hello\"}}", more);

	if (expect(&s, 200) && str_eq(s.event, "run"))
		take_id(&s);
}

/* -- with a key ----------------------------------------------------------- */

static const char *const key[] = {"HTTP_IDEMPOTENCY_KEY=k-1", NULL};

static void
ask_with_key(const char *body)
{
	SAID_AUTO s = ask("POST", "/v1/runs", body, key);

	if (expect(&s, 201))
		take_id(&s);
}

/* The caller tries again, as it should after a 5xx: there is one run, and it is
 * the one that it may have been told of. */
static void
ask_again(const char *body)
{
	/* A key whose making nobody could free lapses by itself. */
	if (str_starts(world_text("GET sbx:idem:k-1"), "making"))
		freeReplyObject(world_do("DEL sbx:idem:k-1"));
	SAID_AUTO s = ask_calm("POST", "/v1/runs", body, key);

	if (s.status != 200 && s.status != 201)
		wrong("again: %d %s", s.status, said_text(&s, "detail"));
	else if (id[0] != '\0' && !str_eq(id, said_text(&s, "id")))
		wrong("another run for the same key");
	else
		take_id(&s);
}

static void
create_with_key(void)
{
	ask_with_key("{\"image\":\"busybox\"}");
}

static void
create_with_key_again(void)
{
	ask_again("{\"image\":\"busybox\"}");
}

static void
one_run_is_there(void)
{
	if (world_number("ZCARD sbx:ids") != 1)
		wrong("%lld runs for one key",
		    (long long)world_number("ZCARD sbx:ids"));
}

/* -- the tests ------------------------------------------------------------ */

static void
a_creation_is_whole_or_nothing(void **state)
{
	static const struct story story = {.name = "create",
	    .prepare = forget_id,
	    .tell = create_plain,
	    .after = is_undone,
	    .late = true};

	(void)state;
	torture(&story);
}

static void
a_pull_that_fails_leaves_nothing(void **state)
{
	static const struct story story = {.name = "create and pull",
	    .prepare = forget_id,
	    .tell = create_pulled,
	    .after = is_undone};

	(void)state;
	torture(&story);
}

static void
an_init_command_that_runs_is_part_of_the_creation(void **state)
{
	static const struct story story = {.name = "create with init",
	    .prepare = forget_id,
	    .tell = create_with_init,
	    .after = is_undone};

	(void)state;
	torture(&story);
}

static void
an_init_command_that_fails_undoes_the_creation(void **state)
{
	static const struct story story = {.name = "create with a bad init",
	    .prepare = forget_id,
	    .tell = create_with_bad_init,
	    .end = nothing_is_there};

	(void)state;
	torture(&story);
}

static void
an_allowlist_run_is_whole_or_nothing(void **state)
{
	static const struct story story = {.name = "create with a proxy",
	    .prepare = forget_id,
	    .tell = create_with_proxy,
	    .after = is_undone,
	    .end = its_policy_is_there};

	(void)state;
	torture(&story);
}

static void
a_proxy_that_does_not_start_undoes_the_creation(void **state)
{
	struct model_container containers[MODEL_CONTAINERS];
	BUF_AUTO wrongs = BUF_INIT(4096);
	char path[100];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/proxy-fails", world.dir);
	int fd = creat(path, 0600);
	assert_true(fd >= 0 && close(fd) == 0);
	SAID_AUTO s = ask_calm("POST", "/v1/runs",
	    "{\"image\":\"busybox\",\"network\":\"allowlist\"}", NULL);
	assert_int_equal(s.status, 502);
	assert_string_equal(said_text(&s, "code"), "proxy_failed");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(model_list(world.model, containers), 0);
	world_disagreements(&wrongs);
	assert_string_equal(wrongs.data, "");
	assert_int_equal(world_number("ZCARD sbx:ids"), 0);
}

static void
a_streamed_creation_ends_with_its_run_or_its_problem(void **state)
{
	static const struct story story = {.name = "create streamed",
	    .prepare = forget_id,
	    .tell = create_streamed,
	    .after = is_undone};

	(void)state;
	torture(&story);
}

static void
a_key_makes_one_run_however_often_it_is_tried(void **state)
{
	static const struct story story = {.name = "create with a key",
	    .prepare = forget_id,
	    .tell = create_with_key,
	    .after = create_with_key_again,
	    .end = one_run_is_there,
	    .late = true};

	(void)state;
	torture(&story);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_creation_is_whole_or_nothing),
	    cmocka_unit_test(a_pull_that_fails_leaves_nothing),
	    cmocka_unit_test(an_init_command_that_runs_is_part_of_the_creation),
	    cmocka_unit_test(an_init_command_that_fails_undoes_the_creation),
	    cmocka_unit_test(an_allowlist_run_is_whole_or_nothing),
	    cmocka_unit_test(a_proxy_that_does_not_start_undoes_the_creation),
	    cmocka_unit_test(
		a_streamed_creation_ends_with_its_run_or_its_problem),
	    cmocka_unit_test(a_key_makes_one_run_however_often_it_is_tried),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
