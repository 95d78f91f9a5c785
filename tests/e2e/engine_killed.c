/* Steps at which the engine dies. */
#include "engine_killed.h"
#include "dockerd.h"
#include "gate.h"
#include "harness.h"
#include "snapshots.h"
#include "templates.h"

#include <stdio.h>
#include <string.h>

#define END_MS 60000
#define LEFT_MS 120000 /* a minute, and rounds of the reaper */
#define REPO "acme/copied"
#define FORM "repos/acme+copied/"

static char run[ULID_SIZE];

static void
run_begin(void)
{
	/* Enough that the engine is at it for a moment. */
	static const char fill[] =
	    "for f in /big /work/big; do "
	    "dd if=/dev/urandom of=$f bs=1M count=8 2>/dev/null; done; "
	    "echo kept >/work/go.mod";

	template_new(IMAGE_PLAIN, REPO, NULL, run);
	template_says(run, "/work", fill, "");
}

/* -- looking --------------------------------------------------------------- */

static size_t
staging(void)
{
	REPLY_AUTO r = docker_do("GET",
	    "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22"
	    "teploy.sandbox.staging%22%5D%7D",
	    NULL);

	assert_int_equal(r.status, 200);
	return json_array_size(r.json);
}

static bool
goes_on(void)
{
	EXECUTED_AUTO x = exec_sh(run, "cat /work/go.mod");

	return x.status == 200 && str_eq(x.out.data, "kept\n");
}

static bool
has_ended(void)
{
	REPLY_AUTO r = http_do("GET", run_url(run, ""), NULL, NULL);

	return str_eq(json_string_value(json_at(r.json, "state")), "exited");
}

/* How many snapshots there are; none then. */
static size_t
drop_listed(void)
{
	REPLY_AUTO r = http_do("GET", "/v1/snapshots", NULL, NULL);
	json_t *one;
	size_t i;

	assert_int_equal(r.status, 200);
	json_array_foreach(json_object_get(r.json, "snapshots"), i, one)
	    snapshot_end(json_string_value(json_object_get(one, "image")));
	return i;
}

static void
snapshot_works(void)
{
	char image[SNAPSHOT_SIZE];

	snapshot_take(run, image);
	snapshot_end(image);
}

/* -- snapshots ------------------------------------------------------------- */

static const struct step {
	const char *request;
	int nth;
	enum gate_when when;
	size_t least, most; /* snapshots there are then */
} steps[] = {
    {"POST /containers/*/pause", 1, GATE_ANSWERED, 0, 0},
    {"POST /commit?*", 1, GATE_ASKED, 0, 0},
    {"POST /containers/create?name=teploy-sbx-snap-*", 1, GATE_ANSWERED, 0, 0},
    {"POST /containers/*/wait*", 1, GATE_ASKED, 0, 0},
    {"POST /commit?*", 2, GATE_ANSWERED, 0, 0},
    /* Of one that got its name nobody was told, but it is whole. */
    {"POST /images/*/tag?*", 1, GATE_ANSWERED, 0, 1},
    /* There was nothing left to do but to clean up. */
    {"DELETE /containers/teploy-sbx-snap-*", 1, GATE_ASKED, 1, 1},
};

static void
snapshot_killed(const struct step *step)
{
	gate_arm(step->request, step->nth, step->when);
	REPLY_AUTO r = http_do("POST", run_url(run, "snapshot"), "{}", NULL);
	if (!gate_sprung())
		fail_msg("%s: %ld %s", step->request, r.status, r.body.data);
	if (step->least == 0)
		check_problem(&r, 503, "engine_unavailable", NULL);
	else
		assert_int_equal(r.status, 201);
	gate_resume();
}

void
a_run_that_ended_with_its_engine_amid_a_snapshot_is_copied(void **state)
{
	static const struct step committing = {
	    "POST /commit?*", 2, GATE_ASKED, 0, 0};

	(void)state;
	run_begin();
	snapshot_killed(&committing);
	wait_until(has_ended(), END_MS);
	assert_int_equal(drop_listed(), 0);
	snapshot_works();
	run_end(run);
}

void
a_snapshot_whose_engine_is_killed_is_whole_or_nothing(void **state)
{
	(void)state;
	dockerd_live_restore(true);
	run_begin();
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		snapshot_killed(&steps[i]);
		wait_until(goes_on(), END_MS);
		assert_in_range(drop_listed(), steps[i].least, steps[i].most);
	}
	snapshot_works();
}

/* -- warm commits ---------------------------------------------------------- */

void
a_warm_commit_whose_engine_is_killed_is_whole_or_nothing(void **state)
{
	(void)state;
	/* A gVisor whose engine dies while it is resumed may stay paused. */
	if (stack_gvisor())
		skip();
	gate_arm("POST /containers/*/unpause", 1, GATE_ASKED);
	REPLY_AUTO made = template_commit(run, NULL);
	assert_true(gate_sprung());
	gate_resume();
	wait_until(goes_on(), END_MS);
	REPLY_AUTO current = template_do("GET", REPO);
	assert_int_equal(current.status, made.status == 201 ? 200 : 404);
	template_made(run, NULL);
	assert_int_equal(template_files(FORM "new-*"), 0);
	template_drop(REPO);
}

/* -- what is left ---------------------------------------------------------- */

void
what_was_half_made_when_it_was_killed_is_removed(void **state)
{
	(void)state;
	wait_until(staging() == 0, LEFT_MS);
	wait_until(snapshot_images() == 0, LEFT_MS);
	wait_until(template_files(FORM "*") == 0, LEFT_MS);
	run_end(run);
}
