/*
 * The reaper's round over a thousand templates: the CPU that a look takes, and
 * one that evicts.
 */
#include "../../reaper/sweep.h"
#include "../e2e/harness.h"
#include "docker/engine.h"
#include "measure.h"
#include "run/cache_scan.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEMPLATES 1000
#define TEMPLATE_MB 24 /* each says */
#define PASS_GOAL_MS 100

/* Small trees that say they are large. */
static void
make_templates(const struct config *config)
{
	struct err e = ERR_INIT;

	check_ok(cache_setup(config, &e), &e);
	for (int i = 0; i < TEMPLATES; i++) {
		struct cache_manifest m = {.lock = {".", ""},
		    .bytes = (int64_t)TEMPLATE_MB << 20,
		    .entries = 1,
		    .created_ms = clock_wall_ms()};
		int tree, lock;

		(void)snprintf(m.repo, sizeof(m.repo), "many/%d", i);
		memset(m.lock.hash, 'a', sizeof(m.lock.hash) - 1);
		check_ok(ulid_new(m.gen, &e), &e);
		check_ok(cache_begin(config, m.repo, m.gen, &tree, &e), &e);
		(void)close(tree);
		check_ok(cache_lock(config, m.repo, 1000, &lock, &e), &e);
		check_ok(cache_publish(config, &m, &e), &e);
		cache_unlock(lock);
	}
}

static double
cpu_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

/* The CPU that a round takes this process, which has but one thread. */
static double
pass(struct sweeper *s, int64_t *ret_dealt)
{
	int64_t wait_ms = 0;
	struct err e = ERR_INIT;

	arena_reset(&s->arena);
	s->dealt = s->failed = 0;
	double before = cpu_ms();
	check_ok(
	    cache_sweep_round(s, clock_mono_ms() + 60000, &wait_ms, &e), &e);
	*ret_dealt = s->dealt;
	return cpu_ms() - before;
}

static void
pass_row(const char *measure, double ms, int64_t dealt)
{
	struct row row = {"", "", "", "", NO_GOAL};

	(void)snprintf(row.ours, sizeof(row.ours), "%.0f ms of CPU", ms);
	(void)snprintf(row.beside, sizeof(row.beside), "things done %lld",
	    (long long)dealt);
	(void)snprintf(row.goal, sizeof(row.goal), "<= %d ms", PASS_GOAL_MS);
	row.verdict = ms <= PASS_GOAL_MS ? GOAL_MET : GOAL_MISSED;
	row_add(measure, &row);
}

static void
an_eviction_over_a_thousand_templates_is_cheap(void **state)
{
	char root[128], url[128];
	struct config config = {
	    .cache_root = root, .run_dir = stack.run_dir, .cache_max_gb = 0};
	int pipe_fd[2];
	int64_t dealt;
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(root, sizeof(root), "%s/many", stack.base);
	(void)snprintf(url, sizeof(url), "unix://%s/redis.sock", stack.run_dir);
	make_templates(&config);
	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	struct sweeper s = {.ctx = {.config = &config,
				.instance = stack.instance,
				.redis = redis_new(url, &e),
				.engine = engine_new(stack.docker)},
	    .arena = ARENA_INIT,
	    .stop_fd = pipe_fd[0]};
	assert_non_null(s.ctx.redis);
	check_ok(cache_sweep_open(&s, &e), &e);
	(void)pass(&s, &dealt); /* Redis learns of all */
	double ms = pass(&s, &dealt);
	pass_row("a look over 1,000 templates", ms, dealt);
	config.cache_max_gb = TEMPLATES * TEMPLATE_MB / 1024 - 3;
	ms = pass(&s, &dealt);
	pass_row("an eviction pass over them", ms, dealt);
	cache_sweep_close(&s);
	redis_free(s.ctx.redis);
	engine_free(s.ctx.engine);
	arena_release(&s.arena);
	(void)close(pipe_fd[0]);
	(void)close(pipe_fd[1]);
	freeReplyObject(redis_do("EVAL %s 0",
	    "for _, k in ipairs(redis.call('KEYS', 'sbx:warm*')) do "
	    "redis.call('DEL', k) end return 0"));
}

static int
setup(void **state)
{
	/* The stack's own reaper has nothing to do with these. */
	static const char *const env[] = {"SBX_REAP_INTERVAL=3600", NULL};
	struct err e = ERR_INIT;

	(void)state;
	stack_start(env);
	check_ok(engine_setup(&e), &e);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest benches[] = {
	    cmocka_unit_test(an_eviction_over_a_thousand_templates_is_cheap),
	};

	return cmocka_run_group_tests(benches, setup, stack_stop);
}
