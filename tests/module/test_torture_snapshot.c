/* Snapshots while Redis or the engine fails at any step: an image with a name,
 * or nothing; the run goes on in any case. */
#include "../check.h"
#include "lib/str.h"
#include "torture.h"
#include "torture_client.h"
#include "torture_trees.h"
#include "torture_world.h"

#include <stdio.h>
#include <string.h>

static char id[ULID_SIZE]; /* of the run that every story is about */
static char image[80];	   /* of the snapshot that was promised, or "" */
static int status;	   /* of the telling's answer; 0: none */

/* -- what there is at first ------------------------------------------------ */

static void
warm_run(void)
{
	(void)tree_run(id);
	promise(id, true);
	image[0] = '\0';
}

static void
snapshot(void)
{
	warm_run();
	SAID_AUTO s = ask_calm("POST", target_of(id, "snapshot"), NULL, NULL);
	assert_int_equal(s.status, 201);
	(void)snprintf(image, sizeof(image), "%s", said_text(&s, "image"));
}

/* -- what is done ---------------------------------------------------------- */

static void
take(void)
{
	SAID_AUTO s = ask("POST", target_of(id, "snapshot"), NULL, NULL);

	status = s.status;
	if (expect(&s, 201))
		(void)snprintf(
		    image, sizeof(image), "%s", said_text(&s, "image"));
}

static void
drop(void)
{
	char target[120];

	(void)snprintf(target, sizeof(target), "/v1/snapshots?image=%s", image);
	SAID_AUTO s = ask("DELETE", target, NULL, NULL);
	status = s.status;
	(void)expect(&s, 204);
}

static void
boot(void)
{
	char body[200];

	(void)snprintf(body, sizeof(body),
	    "{\"image\":\"%s\",\"warm\":{\"repo\":\"" TREE_REPO "\"}}", image);
	SAID_AUTO s = ask("POST", "/v1/runs", body, NULL);
	status = s.status;
	if (expect(&s, 201))
		promise(said_text(&s, "id"), true);
}

/* -- what must be so ------------------------------------------------------- */

static bool
is_listed(void)
{
	SAID_AUTO s = ask_calm("GET", "/v1/snapshots", NULL, NULL);
	json_t *all = json_object_get(s.json, "snapshots");

	for (size_t i = 0; i < json_array_size(all); i++)
		if (str_eq(json_string_value(json_object_get(
			       json_array_get(all, i), "image")),
			image))
			return true;
	return false;
}

static void
is_taken(void)
{
	if (status == 201 && !is_listed())
		wrong("a snapshot that was taken is not there");
}

static void
is_dropped(void)
{
	if (status == 204 && is_listed())
		wrong("a snapshot that was deleted is there");
}

/* -- the tests ------------------------------------------------------------- */

static void
a_snapshot_is_whole_or_nothing(void **state)
{
	static const struct story story = {.name = "snapshot",
	    .prepare = warm_run,
	    .tell = take,
	    .end = is_taken};

	(void)state;
	torture(&story);
	assert_int_equal(status, 201); /* the last, where nothing failed */
}

static void
a_snapshot_is_deleted(void **state)
{
	static const struct story story = {.name = "delete a snapshot",
	    .prepare = snapshot,
	    .tell = drop,
	    .end = is_dropped};

	(void)state;
	torture(&story);
	assert_int_equal(status, 204);
}

static void
a_run_begins_with_a_snapshot(void **state)
{
	static const struct story story = {
	    .name = "boot from a snapshot", .prepare = snapshot, .tell = boot};

	(void)state;
	torture(&story);
	assert_int_equal(status, 201);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_snapshot_is_whole_or_nothing),
	    cmocka_unit_test(a_snapshot_is_deleted),
	    cmocka_unit_test(a_run_begins_with_a_snapshot),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
