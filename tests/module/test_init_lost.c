/*
 * A command whose supervisor is killed by root of the run: nothing of it lives
 * on, and nothing else goes with it. Needs root.
 */
#include "../wait.h"
#include "object_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 30000

#define STAY "trap \"\" TERM; while :; do sleep 1; done"
/* In sessions of their own, twice orphaned, and stopped; with children. */
#define LEFT                                              \
	"(setsid sh -c '" STAY "' &)\n"                   \
	"(setsid setsid sh -c '" STAY " & " STAY "' &)\n" \
	"sleep 1000 & kill -STOP $!\n"

static char self[4096];

/* A process that is a new one all the time. */
static int
hop(void)
{
	(void)signal(SIGTERM, SIG_IGN);
	for (;;) {
		if (fork() > 0)
			_exit(0);
		(void)setsid();
	}
}

/* More and more of them, but not so many that the box is in danger. */
static int
grow(void)
{
	for (int more = 60; more > 0 && fork() == 0; more--)
		(void)setsid();
	return pause();
}

/* Run it, and begin once it is known to run, until its supervisor is gone. */
static void
run_and_lose(const char *id, uint64_t generation, const char *script)
{
	const struct wire_exec x = {.script = script,
	    .id = id,
	    .keep = true,
	    .open_stdin = true,
	    .generation = generation};
	const char *payload;
	enum wire_type type;
	struct init in;
	size_t size;

	object_start(&in, &x);
	init_say(&in, WIRE_STDIN, "\n", 1);
	while ((type = init_next(&in, &payload, &size)) != 0)
		assert_int_equal(type, WIRE_ROOM);
	object_hang_up(&in);
}

static void
lose_some(const char *id, uint64_t generation, const char *helper)
{
	char script[5000];

	(void)snprintf(script, sizeof(script),
	    "read begin; for i in 1 2 3 4; do '%s' %s & done\n"
	    "kill -9 $PPID; sleep 1000",
	    self, helper);
	run_and_lose(id, generation, script);
}

static void
all_that_loses_its_supervisor_is_killed(void **state)
{
	(void)state;
	run_and_lose("a", 0, "read begin\n" LEFT "kill -9 $PPID; sleep 1000");
	wait_until(init_marked() == 0, PATIENCE_MS);
	wait_until(pid1_children(&objects_run) == 0, PATIENCE_MS);
	assert_true(object_has_ended("a"));
}

static void
a_descendant_in_the_background_can_be_who_kills_it(void **state)
{
	(void)state;
	/* Its supervisor has nothing else to watch any more. */
	object_launch("a",
	    "s=$PPID; (setsid sh -c \"sleep 0.2; kill -9 $s; " ENDLESS
	    "\" >/dev/null 2>&1 &)\n" LEFT);
	wait_until(object_has_ended("a"), PATIENCE_MS);
	wait_until(init_marked() == 0, PATIENCE_MS);
}

/* Of the run, whose processes are counted on and on. */
static long
next_pid(void)
{
	const struct wire_exec x = {.script = "echo $$", .id = "p"};
	struct outcome o;
	struct init in;

	object_start(&in, &x);
	init_finish(&in, NULL, 0, &o);
	object_hang_up(&in);
	long pid = strtol(o.out.data, NULL, 10);
	outcome_release(&o);
	return pid;
}

static long
made_meanwhile(void)
{
	long before = next_pid();

	return next_pid() - before;
}

static void
process_that_is_never_the_same_is_killed_too(void **state)
{
	(void)state;
	lose_some("a", 0, "hop");
	/* A look at such ones tells nothing. */
	wait_until(made_meanwhile() == 2, PATIENCE_MS);
	wait_until(pid1_children(&objects_run) == 0, PATIENCE_MS);
}

static void
others_in_the_background_are_left_alone(void **state)
{
	const struct wire_exec gone = {
	    .script = "setsid sleep 1000 >/dev/null 2>&1 & exit 5", .id = "a"};
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &gone);
	init_finish(&in, NULL, 0, &o);
	object_hang_up(&in);
	assert_int_equal(o.exit.code, 5);
	outcome_release(&o);
	object_launch("b", "sleep 1000 & sleep 1000 & wait");
	wait_until(init_marked() == 4, PATIENCE_MS);
	run_and_lose("c", 0, "read begin\n" LEFT "kill -9 $PPID; sleep 1000");
	wait_until(pid1_children(&objects_run) == 2, PATIENCE_MS);
	assert_int_equal(init_marked(), 4);
	/* (PID 1 looks a few times.) */
	assert_int_equal(object_end("c"), 0);
	assert_int_equal(init_marked(), 4);
	assert_false(object_has_ended("b"));
	init_kill_marked();
}

static const struct {
	const char *id, *helper;
} rounds[] = {
    {"a", "hop"}, {"b", "grow"}, {"c", "hop"}, {"d", "grow"}, {"e", "hop"}};

#define ROUNDS (sizeof(rounds) / sizeof(rounds[0]))

static void
its_end_is_waited_for_by_who_ends_the_exec(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROUNDS; i++) {
		lose_some(rounds[i].id, 0, rounds[i].helper);
		assert_int_equal(object_end(rounds[i].id), 0);
		assert_int_equal(init_marked(), 0);
	}
}

static void
its_end_is_waited_for_by_a_fence(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROUNDS; i++) {
		const char generation[8] = {(char)(i + 1)};
		const char *payload;
		struct init in;
		size_t size;

		lose_some(rounds[i].id, i, rounds[i].helper);
		object_call(&in);
		init_say(&in, WIRE_FENCE, generation, sizeof(generation));
		assert_int_equal(init_next(&in, &payload, &size), WIRE_FENCED);
		object_hang_up(&in);
		assert_int_equal(init_marked(), 0);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    OBJECT_TEST(all_that_loses_its_supervisor_is_killed),
	    OBJECT_TEST(a_descendant_in_the_background_can_be_who_kills_it),
	    OBJECT_TEST(process_that_is_never_the_same_is_killed_too),
	    OBJECT_TEST(others_in_the_background_are_left_alone),
	    OBJECT_TEST(its_end_is_waited_for_by_who_ends_the_exec),
	    OBJECT_TEST(its_end_is_waited_for_by_a_fence),
	};

	if (argc == 2 && strcmp(argv[1], "hop") == 0)
		return hop();
	if (argc == 2 && strcmp(argv[1], "grow") == 0)
		return grow();
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, objects_begin, NULL);
}
