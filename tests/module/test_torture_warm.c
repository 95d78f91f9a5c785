/* Warm volumes and templates while Redis or the engine fails at any step: a
 * template is whole or not there, and so is what a run is given of it. */
#include "../check.h"
#include "torture.h"
#include "torture_client.h"
#include "torture_trees.h"
#include "torture_world.h"

#include <stdio.h>

static char id[ULID_SIZE]; /* of the run that every story is about */
static int before, now;	   /* stamps of the template, and of the run's tree */
static int status;	   /* of the telling's answer; 0: none */

/* -- what there is at first ------------------------------------------------ */

static void
make_template(void)
{
	before = tree_template();
}

/* A run of a template whose tree is another one by now; and one that stays. */
static void
changed_run(void)
{
	make_template();
	now = tree_run(id);
}

static void
lasting_run(void)
{
	changed_run();
	promise(id, true);
}

/* -- what is done ---------------------------------------------------------- */

static void
boot(bool booted, int stamp)
{
	SAID_AUTO s = ask("POST", "/v1/runs", TREE_RUN, NULL);

	if (!expect(&s, 201))
		return;
	(void)snprintf(id, sizeof(id), "%s", said_text(&s, "id"));
	promise(id, true);
	if (json_is_true(json_object_get(
		json_object_get(s.json, "warm"), "booted")) != booted)
		wrong("booted is not %d", booted);
	if (tree_of_run(id) != stamp)
		wrong("a new run has %d, not %d", tree_of_run(id), stamp);
}

static void
boot_cold(void)
{
	boot(false, 0);
}

static void
boot_warm(void)
{
	boot(true, before);
}

static void
commit(void)
{
	SAID_AUTO s = ask("POST", target_of(id, "warm-commit"), "{}", NULL);

	(void)expect(&s, 201);
	status = s.status;
}

static void
drop(void)
{
	SAID_AUTO s = ask("DELETE", "/v1/warmcache/" TREE_REPO, NULL, NULL);

	(void)expect(&s, 204);
	status = s.status;
}

static void
destroy(void)
{
	SAID_AUTO s = ask("DELETE", target_of(id, ""), NULL, NULL);

	if (expect(&s, 204))
		promise(id, false);
}

/* -- what must be so ------------------------------------------------------- */

/* The template is the run's tree where it was said so, else that or what it was
 * before. */
static void
is_committed(void)
{
	int is = tree_of_template();

	if (status == 201 ? is != now : is != now && is != before)
		wrong("after %d the template is %d, not %d or %d", status, is,
		    before, now);
	if (tree_of_run(id) != now)
		wrong("a run's tree was %d and is %d", now, tree_of_run(id));
}

static void
is_dropped(void)
{
	int is = tree_of_template();

	if (is != 0 && (status == 204 || is != before))
		wrong("after %d the template is %d", status, is);
	if (tree_of_run(id) != now)
		wrong("a run's tree was %d and is %d", now, tree_of_run(id));
}

/* -- the tests ------------------------------------------------------------- */

static void
a_run_begins_with_an_empty_volume(void **state)
{
	static const struct story story = {
	    .name = "cold boot", .tell = boot_cold};

	(void)state;
	torture(&story);
}

static void
a_run_begins_with_all_of_the_template(void **state)
{
	static const struct story story = {
	    .name = "warm boot", .prepare = make_template, .tell = boot_warm};

	(void)state;
	torture(&story);
}

static void
a_template_is_the_old_one_or_the_new_one(void **state)
{
	static const struct story story = {.name = "warm-commit",
	    .prepare = lasting_run,
	    .tell = commit,
	    .end = is_committed};

	(void)state;
	torture(&story);
	assert_int_equal(status, 201); /* the last, where nothing failed */
}

static void
a_template_is_dropped_and_its_runs_stay(void **state)
{
	static const struct story story = {.name = "drop",
	    .prepare = lasting_run,
	    .tell = drop,
	    .end = is_dropped};

	(void)state;
	torture(&story);
	assert_int_equal(status, 204); /* the last, where nothing failed */
}

static void
a_run_goes_with_its_volume(void **state)
{
	static const struct story story = {
	    .name = "destroy", .prepare = changed_run, .tell = destroy};

	(void)state;
	torture(&story);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_run_begins_with_an_empty_volume),
	    cmocka_unit_test(a_run_begins_with_all_of_the_template),
	    cmocka_unit_test(a_template_is_the_old_one_or_the_new_one),
	    cmocka_unit_test(a_template_is_dropped_and_its_runs_stay),
	    cmocka_unit_test(a_run_goes_with_its_volume),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
