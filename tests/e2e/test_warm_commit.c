/* Commits of warm volumes: templates that come and go, commits that do not go
 * as hoped for, and the volumes of runs that were booted from a snapshot. */
#include "harness.h"
#include "snapshots.h"
#include "templates.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define END_MS 60000
#define REPO "acme/site"
#define DIRECTORY "repos/acme+site/"

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	return 0;
}

/* A run whose volume has one file, committed. */
static void
begin(char id[ULID_SIZE])
{
	template_new(IMAGE_PLAIN, REPO, NULL, id);

	template_says(id, "/work", "echo there >f", "");
	template_made(id, NULL);
}

static void
check_goes_on(const char *id)
{
	template_says(id, "/work", "echo on; cat f", "on\nthere\n");
}

/* -- templates come and go ------------------------------------------------- */

static void
a_commit_takes_the_place_of_the_one_before(void **state)
{
	char id[ULID_SIZE], old[ULID_SIZE], warm[ULID_SIZE];

	(void)state;
	template_new(IMAGE_USER, "acme/gen", NULL, id);
	template_says(id, "/work", "echo 1 >v", "");
	template_made(id, NULL);
	REPLY_AUTO first = template_do("GET", "acme/gen");
	template_new(IMAGE_USER, "acme/gen", NULL, old);
	template_says(id, "/work", "echo 2 >v", "");
	template_made(id, "ACME/Gen");
	REPLY_AUTO second = template_do("GET", "acme/gen");
	assert_int_equal(second.status, 200);
	const char *gen = text_at(&second, "warm.gen");
	assert_true(strcmp(gen, text_at(&first, "warm.gen")) > 0);
	assert_int_equal(strlen(gen), strlen("g-") + ULID_SIZE - 1);
	assert_true(str_starts(gen, "g-"));
	template_new(IMAGE_USER, "acme/gen", NULL, warm);
	template_says(warm, "/work", "cat v", "2\n");
	/* A generation in use stays what it is. */
	template_says(old, "/work", "cat v", "1\n");
	run_end(id);
	run_end(old);
	run_end(warm);
	template_drop("acme/gen");
}

static void
another_repository_can_be_committed_to(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	template_new(IMAGE_USER, "acme/one", NULL, id);
	template_says(id, "/work", "echo there >f", "");
	REPLY_AUTO made = template_commit(id, "acme/two/deep.er");
	assert_int_equal(made.status, 201);
	assert_string_equal(text_at(&made, "warm.repo"), "acme/two/deep.er");
	run_end(id);
	REPLY_AUTO none = template_do("GET", "acme/one");
	check_problem(&none, 404, "not_found", "acme/one");
	template_new(IMAGE_USER, "acme/two/deep.er", NULL, id);
	template_says(id, "/work", "cat f", "there\n");
	run_end(id);
	template_drop("acme/two/deep.er");
}

static void
a_template_is_dropped_under_those_who_use_it(void **state)
{
	char id[ULID_SIZE], cold[ULID_SIZE];

	(void)state;
	template_new(IMAGE_USER, "acme/gone", NULL, id);
	template_says(id, "/work", "echo there >f; echo too >g", "");
	template_made(id, NULL);
	run_end(id);
	template_new(IMAGE_USER, "acme/gone", NULL, id);
	template_drop("acme/gone");
	REPLY_AUTO none = template_do("GET", "acme/gone");
	check_problem(&none, 404, "not_found", "acme/gone");
	REPLY_AUTO again = template_do("DELETE", "acme/gone");
	check_problem(&again, 404, "not_found", "acme/gone");
	template_says(id, "/work", "cat f g; echo more >>f; cat f",
	    "there\ntoo\nthere\nmore\n");
	REPLY_AUTO next = template_run(IMAGE_USER, "acme/gone", NULL, cold);
	assert_false(json_is_true(json_at(next.json, "warm.booted")));
	template_says(cold, "/work", "ls -A", "");
	run_end(cold);
	/* It goes on from what it has. */
	template_made(id, NULL);
	run_end(id);
	template_drop("acme/gone");
}

/* -- from a snapshot ------------------------------------------------------- */

/* What the snapshot has, and nothing of the template beside it. */
static void
a_volume_from_a_snapshot_is_the_snapshots(void **state)
{
	char id[ULID_SIZE], image[SNAPSHOT_SIZE];

	(void)state;
	begin(id);
	template_says(id, "/work",
	    "rm f; mkdir web; echo '{}' >web/package-lock.json; "
	    "ln web/package-lock.json again; chmod 0640 again; "
	    "echo outside >/root/file",
	    "");
	REPLY_AUTO was = http_do("GET", run_url(id, "warm"), NULL, NULL);
	snapshot_take(id, image);
	run_end(id);

	REPLY_AUTO r = template_run(image, REPO, NULL, id);
	assert_true(json_is_true(json_at(r.json, "warm.booted")));
	assert_string_equal(text_at(&r, "warm.repo"), REPO);
	assert_string_equal(text_at(&r, "warm.repoDir"), "web");
	assert_string_equal(
	    text_at(&r, "warm.lockHash"), text_at(&was, "lockHash"));
	template_says(id, "/work",
	    "find . | sort; stat -c '%a %h' again; cat /root/file",
	    ".\n./again\n./web\n./web/package-lock.json\n640 2\noutside\n");
	/* It is a warm volume like others. */
	template_made(id, NULL);
	run_end(id);
	template_new(IMAGE_PLAIN, REPO, NULL, id);
	template_says(id, "/work", "cat again; ls f 2>/dev/null || echo none",
	    "{}\nnone\n");
	run_end(id);

	/* Where the snapshot has nothing, the volume has nothing. */
	REPLY_AUTO other = template_run(image, REPO, "/srv/site", id);
	assert_false(json_is_true(json_at(other.json, "warm.booted")));
	template_says(id, "/srv/site", "ls -A; cat /work/again", "{}\n");
	run_end(id);
	snapshot_end(image);
	template_drop(REPO);
}

/* -- given up -------------------------------------------------------------- */

static bool
is_committing(void)
{
	redisReply *r = redis_do("ZRANGE sbx:warm-pins:" REPO " 0 -1");
	bool found = false;

	for (size_t i = 0; i < r->elements; i++)
		found |= strstr(r->element[i]->str, " commit") != NULL;
	freeReplyObject(r);
	return found;
}

/* As somebody else that publishes there would have it. */
static int
take_lock(void)
{
	char path[200];

	(void)snprintf(
	    path, sizeof(path), "%s/cache/" DIRECTORY "lock", stack.base);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
	return fd;
}

static void
while_one_is_on_its_way(void **state)
{
	char id[ULID_SIZE], other[ULID_SIZE];

	(void)state;
	begin(id);
	size_t published = template_files(DIRECTORY "g-*");
	int lock = take_lock();
	int client = run_ask(id, "warm-commit");
	wait_until(template_files(DIRECTORY "new-*") == 1, END_MS);
	wait_until(is_committing(), END_MS);
	/* Another of the same run, and a drop, have to wait. */
	REPLY_AUTO second = template_commit(id, "acme/elsewhere");
	check_problem(&second, 409, "conflict", "warm-commit");
	REPLY_AUTO drop = template_do("DELETE", REPO);
	check_problem(&drop, 409, "conflict", REPO);
	/* What was published before serves. */
	template_new(IMAGE_PLAIN, REPO, NULL, other);
	check_goes_on(other);
	run_end(other);
	check_goes_on(id);
	/* Its client leaves: all of it goes. */
	(void)close(client);
	wait_until(!is_committing(), END_MS);
	wait_until(template_files(DIRECTORY "new-*") == 0, END_MS);
	(void)close(lock);
	assert_in_range(template_files(DIRECTORY "g-*"), 1, published);
	template_made(id, NULL);
	run_end(id);
	template_drop(REPO);
}

static json_int_t
entries(void)
{
	REPLY_AUTO r = template_do("GET", REPO);

	return json_integer_value(json_at(r.json, "warm.entries"));
}

static void
a_run_that_is_removed_meanwhile_publishes_all_or_nothing(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	begin(id);
	/* Long enough to copy for somebody to come in between, mostly. */
	template_says(id, "/work",
	    "mkdir d; cd d; i=0; while [ $i -lt 6000 ]; do : >$i; "
	    "i=$((i+1)); done",
	    "");
	int client = run_ask(id, "warm-commit");
	wait_until(
	    template_files(DIRECTORY "new-*") == 1 || entries() > 1, END_MS);
	run_end(id);
	wait_until(template_files(DIRECTORY "new-*") == 0, END_MS);
	wait_until(!is_committing(), END_MS);
	(void)close(client);
	assert_true(entries() == 1 || entries() == 6002);
	template_drop(REPO);
}

/* -- what is not to be read ------------------------------------------------ */

/* The engine's mount is out of sight: the directory below it is empty, and no
 * template. */
static void
a_volume_out_of_sight_is_not_taken_for_an_empty_one(void **state)
{
	char id[ULID_SIZE], name[100];

	(void)state;
	begin(id);
	run_end(id);
	size_t published = template_files(DIRECTORY "g-*");
	template_new(IMAGE_PLAIN, REPO, NULL, id);
	(void)snprintf(name, sizeof(name), "%s", id);
	str_lower(name);
	char path[200];
	(void)snprintf(path, sizeof(path), "/volumes/teploy-sbx-%s-warm", name);
	REPLY_AUTO volume = docker_do("GET", path, NULL);
	assert_int_equal(
	    umount2(text_at(&volume, "Mountpoint"), MNT_DETACH), 0);
	REPLY_AUTO look = http_do("GET", run_url(id, "warm"), NULL, NULL);
	check_problem(&look, 409, "conflict", "mount namespace");
	REPLY_AUTO made = template_commit(id, NULL);
	check_problem(&made, 409, "conflict", "mount namespace");
	assert_in_range(template_files(DIRECTORY "g-*"), 1, published);
	assert_int_equal(template_files(DIRECTORY "new-*"), 0);
	check_goes_on(id);
	run_end(id);
	template_drop(REPO);
}

/* -- a full disk ----------------------------------------------------------- */

/* The last test: it leaves another cache behind, which it takes away. */
static void
a_full_disk_is_said_and_nothing_is_left(void **state)
{
	char id[ULID_SIZE], root[100], setting[150];

	(void)state;
	(void)snprintf(root, sizeof(root), "%s/small", stack.base);
	(void)snprintf(setting, sizeof(setting), "SBX_CACHE_ROOT=%s", root);
	assert_int_equal(mkdir(root, 0700), 0);
	assert_int_equal(mount("small", root, "tmpfs", 0, "size=4m"), 0);
	stack_set(setting);
	stack_restart(SIGTERM);
	begin(id);
	template_says(id, "/work",
	    "dd if=/dev/urandom of=large bs=1M count=6 2>/dev/null", "");
	REPLY_AUTO full = template_commit(id, NULL);
	check_problem(&full, 507, "insufficient_storage", "large");
	check_goes_on(id);
	/* The one before is whole, and there is room again. */
	assert_int_equal(entries(), 1);
	template_says(id, "/work", "rm large; echo 2 >g", "");
	template_made(id, NULL);
	run_end(id);
	template_drop(REPO);
	assert_int_equal(umount2(root, MNT_DETACH), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_commit_takes_the_place_of_the_one_before),
	    cmocka_unit_test(another_repository_can_be_committed_to),
	    cmocka_unit_test(a_template_is_dropped_under_those_who_use_it),
	    cmocka_unit_test(a_volume_from_a_snapshot_is_the_snapshots),
	    cmocka_unit_test(while_one_is_on_its_way),
	    cmocka_unit_test(
		a_run_that_is_removed_meanwhile_publishes_all_or_nothing),
	    cmocka_unit_test(
		a_volume_out_of_sight_is_not_taken_for_an_empty_one),
	    cmocka_unit_test(a_full_disk_is_said_and_nothing_is_left),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
