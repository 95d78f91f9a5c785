/*
 * Snapshots beside what one would do without them: `docker commit`, and the
 * engine's archives for what lies in a volume.
 */
#include "bulk.h"
#include "lib/mem.h"
#include "spawned.h"

#include <string.h>
#include <unistd.h>

#define PART "sbx-bench:part"

/* A container as an image, which is kept under a name of its own. */
static double
commit_container(const char *container)
{
	static int count;
	char image[64];
	const char *argv[] = {
	    "docker", "-H", bulk.docker, "commit", container, image, NULL};

	(void)snprintf(
	    image, sizeof(image), "sbx-bench:%d-%d", (int)getpid(), count++);
	double ms = spawned(argv, NULL, 0);
	bulk_keep_image(image);
	return ms;
}

static double
snapshot(void *arg)
{
	int64_t start = clock_mono_us();
	REPLY_AUTO r = http_do("POST", run_url(arg, "snapshot"), "{}", NULL);
	double ms = bulk_since(start);

	assert_int_equal(r.status, 201);
	bulk_keep_image(json_string_value(json_at(r.json, "image")));
	sync();
	return ms;
}

static void
container_of(const char *id, char to[64])
{
	json_auto_t *container = docker_container(id);

	(void)snprintf(
	    to, 64, "%.60s", json_string_value(json_at(container, "Id")));
}

/* -- of a run's own files -------------------------------------------------- */

static double
docker_commit(void *arg)
{
	double ms = commit_container(arg);

	sync();
	return ms;
}

static void
a_snapshot_costs_a_commit(void **state)
{
	char id[ULID_SIZE], name[64];
	struct contender c[] = {{.once = snapshot, .arg = id},
	    {.once = docker_commit, .arg = name}};

	(void)state;
	run_new(IMAGE_PLAIN, id);
	bulk_keep_run(id);
	container_of(id, name);
	EXECUTED_AUTO x = exec_sh(id,
	    "dd if=/dev/urandom of=/big bs=1M count=1024 2>/dev/null && sync");
	assert_int_equal(exit_code(&x), 0);
	measure_in_turn(c, 2, BULK_COPIES);
	bulk_row("snapshot of a run, 1 GiB written", &c[0], &c[1], 1.15,
	    "docker commit");
	contenders_release(c, 2);
}

/* -- of a warm volume ------------------------------------------------------ */

/* A run with a volume of them, and what the same takes by hand. */
static struct hand {
	char id[ULID_SIZE], container[64], volume[256];
	struct samples core; /* the archives and the commit alone */
	int rounds;
} hand;

static double
settled_snapshot(void *arg)
{
	(void)arg;
	bulk_settle(hand.volume);
	return snapshot(hand.id);
}

static double
docker(const char *verb, const char *one, const char *two, char *ret_said)
{
	const char *argv[] = {
	    "docker", "-H", bulk.docker, verb, one, two, NULL};
	char said[80];

	double ms = spawned(argv, said, sizeof(said));
	if (ret_said != NULL)
		(void)snprintf(
		    ret_said, 80, "%.*s", (int)strcspn(said, "\n"), said);
	return ms;
}

/* The volume through the engine's archives into another container. */
static double
archive(const char *to)
{
	char script[600];
	const char *argv[] = {"sh", "-c", script, NULL};

	(void)snprintf(script, sizeof(script),
	    "curl -sSf --unix-socket %s http://d/containers/%s/archive?path="
	    "/work | curl -sSf --unix-socket %s -T - -H 'Expect:' "
	    "'http://d/containers/%s/archive?path=/'",
	    stack.docker, hand.container, stack.docker, to);
	return spawned(argv, NULL, 0);
}

/* What a snapshot does: the run's files as an image, a container of it, the
 * volume into that, this committed, and removed what was only there for it. */
static double
by_hand(void *arg)
{
	char made[80];

	(void)arg;
	bulk_settle(hand.volume);
	double ms = docker("commit", hand.container, PART, NULL) +
		    docker("create", PART, "true", made);
	double core = archive(made) + commit_container(made);
	ms += core + docker("rm", made, NULL, NULL) +
	      docker("rmi", PART, NULL, NULL);
	if (hand.rounds++ > 0)
		samples_add(&hand.core, core);
	sync();
	return ms;
}

static void
a_snapshot_with_a_volume_costs_an_archive_and_a_commit(void **state)
{
	struct contender c[] = {{.once = settled_snapshot}, {.once = by_hand}};

	(void)state;
	bulk_run("bench/snap", bulk.source, hand.id);
	bulk_volume(hand.id, hand.volume);
	container_of(hand.id, hand.container);
	measure_in_turn(c, 2, BULK_COPIES);
	bulk_row("snapshot with a warm volume of them", &c[0], &c[1], 1.3,
	    "commit, create, archive, commit, rm");
	struct contender core = {.ms = hand.core};
	bulk_row("the same beside a part of that", &c[0], &core, 1.3,
	    "archive, commit");
	contenders_release(c, 2);
	contenders_release(&core, 1);
}

int
main(void)
{
	const struct CMUnitTest benches[] = {
	    cmocka_unit_test(a_snapshot_costs_a_commit),
	    cmocka_unit_test(
		a_snapshot_with_a_volume_costs_an_archive_and_a_commit),
	};

	return cmocka_run_group_tests(benches, bulk_open, bulk_close);
}
