/* store/warm: what is current of a repository, and who needs which generation.
 */
#include "lib/str.h"
#include "run_fixture.h"
#include "store/warm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define REPO "acme/site"
#define OLD "01ARZ3NDEKTSV4RRFFQ69G5FA0"
#define NEW "01ARZ3NDEKTSV4RRFFQ69G5FA1"
#define RUN "01BX5ZZKBKACTAV9WEVGEMMVRZ"
#define RUN_B "01BX5ZZKBKACTAV9WEVGEMMVS0"

static void
learn(const char *gen)
{
	struct err e = ERR_INIT;
	const struct warm warm = {
	    REPO, gen, "c0ffee", "web", 1700000000000, 4096, 7, 1000};

	check_ok(warm_learn(redis, &warm, &e), &e);
}

static const char *
boot(const char *run)
{
	static char gen[ULID_SIZE];
	struct err e = ERR_INIT;

	check_ok(warm_boot(redis, REPO, run, gen, &e), &e);
	return gen;
}

static int64_t
last_use(void)
{
	return fixture_number(fixture_say("HGET sbx:warm:" REPO " lastUse"));
}

static bool
evicted(const char *gen)
{
	struct err e = ERR_INIT;
	bool yes;

	check_ok(warm_evict(redis, REPO, gen, &yes, &e), &e);
	return yes;
}

static bool
is_pinned(struct redis *r, const char *gen, const char *who)
{
	struct arena a = ARENA_INIT;
	struct warm_pins pins;
	struct err e = ERR_INIT;
	bool found = false;

	check_ok(warm_pins(r, REPO, &a, &pins, &e), &e);
	for (size_t i = 0; i < pins.count; i++)
		found |= str_eq(pins.item[i].gen, gen) &&
			 (who == NULL || str_eq(pins.item[i].who, who));
	arena_release(&a);
	return found;
}

static void
of_an_unknown_repository_there_is_nothing(void **state)
{
	struct err e = ERR_INIT;
	char gen[ULID_SIZE];

	(void)state;
	check_fails(warm_boot(redis, REPO, RUN, gen, &e), &e, ERR_ABSENT);
	assert_non_null(strstr(e.text, REPO));
	check_fails(warm_drop(redis, REPO, &e), &e, ERR_ABSENT);
	assert_false(evicted(OLD));
	check_ok(warm_forget(redis, REPO, OLD, &e), &e);
	assert_false(is_pinned(redis, OLD, NULL));
	assert_string_equal(fixture_say("KEYS sbx:warm*"), "");
}

static void
what_was_learnt_explains_itself(void **state)
{
	(void)state;
	learn(OLD);
	assert_string_equal(fixture_say("HGETALL sbx:warm:" REPO),
	    "gen " OLD " lockHash c0ffee repoDir web createdAt 1700000000000 "
	    "bytes 4096 entries 7 lastUse 1000");
	assert_string_equal(
	    fixture_say("ZRANGE sbx:warms 0 -1 WITHSCORES"), REPO " 1000");
	assert_false(is_pinned(redis, OLD, NULL));
}

/* The last that is learnt counts, be it older: the disk says so. */
static void
what_is_learnt_takes_the_place_of_what_was(void **state)
{
	(void)state;
	learn(NEW);
	assert_string_equal(boot(RUN), NEW);
	learn(OLD);
	/* When it was used is not forgotten. */
	assert_true(last_use() > 1700000000000);
	assert_string_equal(boot(RUN_B), OLD);
	assert_true(is_pinned(redis, NEW, RUN));
	assert_true(is_pinned(redis, OLD, RUN_B));
}

static void
a_boot_pins_what_it_gets_and_counts_as_a_use(void **state)
{
	struct err e = ERR_INIT;
	int64_t now;

	(void)state;
	learn(OLD);
	check_ok(store_now(redis, &now, &e), &e);
	assert_string_equal(boot(RUN), OLD);
	assert_true(is_pinned(redis, OLD, RUN));
	assert_true(fixture_number(
			fixture_say("HGET sbx:warm:" REPO " lastUse")) >= now);
	assert_true(
	    fixture_number(fixture_say("ZSCORE sbx:warms " REPO)) >= now);
	assert_true(fixture_number(fixture_say("PTTL sbx:warm-pins:" REPO)) >
		    WARM_PIN_MS);
}

static void
a_generation_is_evicted_only_once_nothing_pins_it(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	learn(OLD);
	(void)boot(RUN);
	(void)boot(RUN_B);
	assert_false(evicted(OLD));
	check_ok(warm_unpin(redis, REPO, OLD, RUN, &e), &e);
	assert_false(evicted(OLD));
	/* A pin of another generation does not count. */
	check_ok(warm_pin(redis, REPO, NEW, RUN, &e), &e);
	check_ok(warm_unpin(redis, REPO, OLD, RUN_B, &e), &e);
	assert_false(evicted(NEW));
	assert_true(evicted(OLD));
	assert_false(evicted(OLD));
	assert_int_equal(
	    fixture_number(fixture_say("EXISTS sbx:warm:" REPO)), 0);
	assert_string_equal(fixture_say("ZRANGE sbx:warms 0 -1"), "");
}

/* Their time was in 1970. */
static void
end_all_pins(void)
{
	(void)fixture_say("ZUNIONSTORE sbx:warm-pins:" REPO
			  " 1 sbx:warm-pins:" REPO " WEIGHTS 0");
}

static void
a_pin_that_nobody_keeps_lapses(void **state)
{
	(void)state;
	learn(OLD);
	(void)boot(RUN);
	end_all_pins();
	assert_false(is_pinned(redis, OLD, NULL));
	assert_true(evicted(OLD));
	assert_int_equal(
	    fixture_number(fixture_say("EXISTS sbx:warm-pins:" REPO)), 0);
}

/* Until when its only one holds. */
static int64_t
pinned_until(void)
{
	const char *said =
	    fixture_say("ZRANGE sbx:warm-pins:" REPO " 0 -1 WITHSCORES");

	return fixture_number(strrchr(said, ' ') + 1);
}

static void
a_pin_is_made_longer_and_never_shorter(void **state)
{
	struct err e = ERR_INIT;
	int64_t now, until;

	(void)state;
	check_ok(store_now(redis, &now, &e), &e);
	check_ok(warm_committing(redis, REPO, OLD, &e), &e);
	assert_in_range(pinned_until() - now, WARM_COMMIT_MS, WARM_PIN_MS - 1);
	check_ok(warm_pin(redis, REPO, OLD, "commit", &e), &e);
	until = pinned_until();
	assert_true(until - now >= WARM_PIN_MS);
	check_ok(warm_committing(redis, REPO, OLD, &e), &e);
	assert_int_equal(pinned_until(), until);
	assert_true(fixture_number(fixture_say("PTTL sbx:warm-pins:" REPO)) >
		    WARM_PIN_MS);
}

static void
nothing_is_dropped_while_a_commit_is_on_its_way(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	learn(OLD);
	(void)boot(RUN);
	check_ok(warm_committing(redis, REPO, NEW, &e), &e);
	check_fails(warm_drop(redis, REPO, &e), &e, ERR_CONFLICT);
	assert_non_null(strstr(e.text, REPO));
	assert_string_equal(boot(RUN), OLD);
	check_ok(warm_unpin(redis, REPO, NEW, "commit", &e), &e);
	check_ok(warm_drop(redis, REPO, &e), &e);
	/* Who runs on it keeps it. */
	assert_true(is_pinned(redis, OLD, RUN));
	check_fails(warm_drop(redis, REPO, &e), &e, ERR_ABSENT);
}

static void
a_commit_that_died_is_not_waited_for(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	learn(OLD);
	check_ok(warm_committing(redis, REPO, NEW, &e), &e);
	end_all_pins();
	check_ok(warm_drop(redis, REPO, &e), &e);
}

static void
what_the_disk_has_lost_is_forgotten_though_it_is_pinned(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	learn(NEW);
	(void)boot(RUN);
	check_ok(warm_forget(redis, REPO, OLD, &e), &e);
	assert_string_equal(boot(RUN), NEW);
	check_ok(warm_forget(redis, REPO, NEW, &e), &e);
	check_fails(warm_drop(redis, REPO, &e), &e, ERR_ABSENT);
}

#define RACERS 4
#define ROUNDS 300

static atomic_bool over;

static void *
boot_and_end(void *arg)
{
	struct err e = ERR_INIT;
	struct redis *r = redis_new(fixture.url, &e);
	char who[ULID_SIZE], gen[ULID_SIZE];

	(void)snprintf(who, sizeof(who), "RUN%d", (int)(intptr_t)arg);
	while (r != NULL && !atomic_load(&over)) {
		if (warm_boot(r, REPO, who, gen, &e) == 0)
			(void)warm_unpin(r, REPO, gen, who, &e);
	}
	redis_free(r);
	return NULL;
}

/* Once it was evicted nobody has it, and nobody gets it. */
static void
no_boot_gets_what_was_evicted(void **state)
{
	pthread_t threads[RACERS];
	char gen[ULID_SIZE];

	(void)state;
	atomic_store(&over, false);
	for (intptr_t i = 0; i < RACERS; i++)
		assert_int_equal(
		    pthread_create(&threads[i], NULL, boot_and_end, (void *)i),
		    0);
	for (int round = 0; round < ROUNDS; round++) {
		(void)snprintf(gen, sizeof(gen), "GEN%023d", round);
		learn(gen);
		while (!evicted(gen))
			;
		assert_false(is_pinned(redis, gen, NULL));
	}
	atomic_store(&over, true);
	for (size_t i = 0; i < RACERS; i++)
		(void)pthread_join(threads[i], NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, fixture_empty)
	    T(of_an_unknown_repository_there_is_nothing),
	    T(what_was_learnt_explains_itself),
	    T(what_is_learnt_takes_the_place_of_what_was),
	    T(a_boot_pins_what_it_gets_and_counts_as_a_use),
	    T(a_generation_is_evicted_only_once_nothing_pins_it),
	    T(a_pin_that_nobody_keeps_lapses),
	    T(a_pin_is_made_longer_and_never_shorter),
	    T(nothing_is_dropped_while_a_commit_is_on_its_way),
	    T(a_commit_that_died_is_not_waited_for),
	    T(what_the_disk_has_lost_is_forgotten_though_it_is_pinned),
	    T(no_boot_gets_what_was_evicted),
#undef T
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
