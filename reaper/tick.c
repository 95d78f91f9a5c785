/* The table of sweeps and their threads. */
#include "tick.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/log.h"
#include "lib/str.h"
#include "store/counters.h"
#include "store/reaper_lock.h"
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct sweep sweeps[] = {
    {"expire", 1000, 1000, expire_open, expire_close, expire_round},
    {"reconcile", 0, 20000, reconcile_open, reconcile_close, reconcile_round},
    {"proxies", 5000, 20000, NULL, NULL, proxies_round},
    {"cache", 0, 20000, cache_sweep_open, cache_sweep_close, cache_sweep_round},
    {"disk", 2000, 20000, disk_open, disk_close, disk_round},
};

#define SWEEPS (sizeof(sweeps) / sizeof(sweeps[0]))

/* Renewed every second by the shortest period above. A reaper that was killed
 * is followed by a stand-by after so long. */
#define HOLD_MS 2000
#define STANDBY_MS 500
#define RETRY_MS 5000 /* after a round that failed, or without Redis */

struct thread {
	pthread_t id;
	struct sweeper sweeper;
	const char *holder;
	bool acts;	 /* the last round was not stood by */
	int64_t fence;	 /* 0 while another holds the office, -1 at first */
	char fault[500]; /* what the last round failed of, or "" */
};

/* -- a sweep's thread ------------------------------------------------------ */

bool
sweep_over(const struct sweeper *s, int64_t deadline)
{
	struct pollfd p = {s->stop_fd, POLLIN, 0};

	return clock_mono_ms() >= deadline || poll(&p, 1, 0) != 0;
}

/* Sleep until the next round. False where the reaper stops. A stand-by is not
 * woken: only a round makes wake_fd quiet. */
static bool
rest(const struct thread *t, int64_t wait_ms)
{
	struct pollfd p[] = {{t->sweeper.stop_fd, POLLIN, 0},
	    {t->acts ? t->sweeper.wake_fd : -1, POLLIN, 0}};
	int64_t deadline = clock_mono_ms() + wait_ms;

	while (poll(p, 2, clock_left(deadline)) < 0 && errno == EINTR)
		;
	return p[0].revents == 0;
}

/* True where this process may act: it holds the office, or nobody can. */
static bool
holds_office(struct thread *t)
{
	struct sweeper *s = &t->sweeper;
	struct err e = ERR_INIT;
	int64_t fence = 0;
	bool away =
	    reaper_lock_take(s->ctx.redis, t->holder, HOLD_MS, &fence, &e) != 0;
	bool speaks = s->sweep == &sweeps[0]; /* one thread tells for all */

	if (speaks && away != s->away)
		LOG_AT(away ? LEVEL_ERROR : LEVEL_INFO, w,
		    away ? "redis.lost" : "redis.found")
		{
			if (away)
				jw_str(&w, "error", e.text);
		}
	if (speaks && !away && fence != t->fence)
		LOG_EVENT(w, fence > 0 ? "office.taken" : "office.awaited")
		{
			if (fence > 0)
				jw_int(&w, "fence", fence);
		}
	s->away = away;
	if (!away)
		t->fence = fence;
	return away || fence > 0;
}

/* A fault that lasts is told once, and when it is over. */
static void
tell_fault(struct thread *t, const char *fault)
{
	if (str_eq(t->fault, fault))
		return;
	LOG_AT(*fault ? LEVEL_ERROR : LEVEL_INFO, w,
	    *fault ? "sweep.failed" : "sweep.recovered")
	{
		jw_str(&w, "sweep", t->sweeper.sweep->name);
		if (*fault)
			jw_str(&w, "error", fault);
	}
	(void)snprintf(t->fault, sizeof(t->fault), "%s", fault);
}

/* For GET /metrics: `sweep NAME WHAT` in sbx:counters. */
static void
count_round(struct sweeper *s, bool failed)
{
	static const char *const what[] = {
	    "rounds", "failed", "dealt", "faults"};
	const int64_t value[] = {1, failed, s->dealt, s->failed};
	struct figure figures[4];
	struct err ignored = ERR_INIT;

	for (size_t i = 0; i < 4; i++)
		figures[i] =
		    (struct figure){arena_printf(&s->arena, "sweep %s %s",
					s->sweep->name, what[i]),
			value[i]};
	if (!s->away)
		(void)counters_add(s->ctx.redis, figures, 4, &ignored);
}

static int64_t
one_round(struct thread *t)
{
	struct sweeper *s = &t->sweeper;
	struct err e = ERR_INIT;
	int64_t period = s->sweep->period_ms > 0
			     ? s->sweep->period_ms
			     : s->ctx.config->reap_interval * 1000;
	int64_t retry = period < RETRY_MS ? period : RETRY_MS;

	t->acts = holds_office(t);
	if (!t->acts)
		return STANDBY_MS;
	int64_t wait_ms = s->away ? retry : period;
	arena_reset(&s->arena);
	s->dealt = s->failed = 0;
	int64_t deadline = clock_mono_ms() + s->sweep->budget_ms;
	int rc = s->sweep->round(s, deadline, &wait_ms, &e);
	count_round(s, rc != 0);
	tell_fault(t, rc != 0 ? e.text : "");
	return rc != 0 ? retry : wait_ms;
}

static void *
thread_main(void *arg)
{
	struct thread *t = arg;
	int64_t wait_ms = 0;

	while (rest(t, wait_ms))
		wait_ms = one_round(t);
	return NULL;
}

/* -- the process ----------------------------------------------------------- */

static void
sweeper_close(struct sweeper *s)
{
	if (s->own != NULL)
		s->sweep->close(s);
	redis_free(s->ctx.redis);
	engine_free(s->ctx.engine);
	arena_release(&s->arena);
}

static int
thread_start(struct thread *t, struct err *e)
{
	struct sweeper *s = &t->sweeper;

	s->wake_fd = -1;
	s->ctx.redis = redis_new(s->ctx.config->redis_url, e);
	if (s->ctx.redis == NULL)
		return -1;
	s->ctx.engine = engine_new(s->ctx.config->docker_socket);
	if (s->sweep->open != NULL && s->sweep->open(s, e) != 0)
		goto undo_sweeper;
	errno = pthread_create(&t->id, NULL, thread_main, t);
	if (errno == 0)
		return 0;
	(void)err_sys(e, ERR_INTERNAL, "cannot start a thread");
undo_sweeper:
	sweeper_close(s);
	return -1;
}

static void
wait_for_signal(void)
{
	sigset_t set;
	int number;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigwait(&set, &number);
	LOG_EVENT(w, "reaper.stopping")
	{
		jw_int(&w, "signal", number);
	}
}

/* Leave the office. With Redis away it lapses by itself. */
static void
resign(const struct config *config, const char *holder)
{
	struct err ignored = ERR_INIT;
	struct redis *r = redis_new(config->redis_url, &ignored);

	if (r != NULL)
		(void)reaper_lock_release(r, holder, &ignored);
	redis_free(r);
}

int
tick_run(const struct config *config, const char *instance, struct err *e)
{
	struct thread threads[SWEEPS];
	char holder[400];
	int pipe_fd[2];
	size_t started = 0;
	int rc = 0;

	if (pipe2(pipe_fd, O_CLOEXEC) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot make a pipe");
	/* The time tells this process from an earlier one of its number. */
	(void)snprintf(holder, sizeof(holder), "%s:%d:%lld", config->server,
	    (int)getpid(), (long long)clock_wall_ms());
	memset(threads, 0, sizeof(threads));
	for (size_t i = 0; i < SWEEPS && rc == 0; i++) {
		struct sweeper *s = &threads[i].sweeper;

		s->sweep = &sweeps[i];
		s->ctx.config = config;
		s->ctx.instance = instance;
		s->stop_fd = pipe_fd[0];
		threads[i].holder = holder;
		threads[i].fence = -1;
		rc = thread_start(&threads[i], e);
		started += rc == 0;
	}
	if (rc == 0)
		wait_for_signal();
	fd_close(&pipe_fd[1]);
	for (size_t i = 0; i < started; i++) {
		(void)pthread_join(threads[i].id, NULL);
		sweeper_close(&threads[i].sweeper);
	}
	fd_close(&pipe_fd[0]);
	if (rc == 0)
		resign(config, holder);
	return rc;
}
