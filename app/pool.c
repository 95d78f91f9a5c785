/* A worker process: threads, signals, drain. */
#include "pool.h"
#include "docker/engine.h"
#include "heart.h"
#include "http/fcgi.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/log.h"
#include "lib/mem.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define STACK_SIZE (256 * 1024)
#define IDLE_MS 200 /* of a drain: until threads without a request ended */
#define CUT_MS 5000 /* until requests that were cut off ended */

const char *const pool_name[POOLS] = {"control", "stream"};

struct thread {
	pthread_t id;
	struct worker *worker;
};

static int
thread_count(const struct pool_setup *p)
{
	return (int)(p->pool == POOL_STREAM ? p->config->stream_threads
					    : p->config->control_threads);
}

static int
set_process_up(struct err *e)
{
	struct rlimit files;
	const struct rlimit none = {0, 0};

	(void)signal(SIGPIPE, SIG_IGN);
	/* There are tokens and values of env in this memory. */
	(void)setrlimit(RLIMIT_CORE, &none);
	/* One arena per core and more cost memory with hundreds of threads
	 * and gain nothing here (FACTS A). */
	(void)mallopt(M_ARENA_MAX, 2);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	return fcgi_setup(e) != 0 || engine_setup(e) != 0 ? -1 : 0;
}

static int
start_thread(struct thread *t, struct worker_shared *shared, size_t number,
    struct err *e)
{
	pthread_attr_t attr;

	t->worker = worker_new(shared, number, e);
	if (t->worker == NULL)
		return -1;
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
	errno = pthread_create(&t->id, &attr, worker_run, t->worker);
	(void)pthread_attr_destroy(&attr);
	if (errno == 0)
		return 0;
	worker_free(t->worker);
	return err_sys(e, ERR_INTERNAL, "cannot start a thread");
}

/* Start them all, or as many as the result says. */
static int
start_threads(
    struct thread *threads, int count, struct worker_shared *s, struct err *e)
{
	for (int i = 0; i < count; i++)
		if (start_thread(&threads[i], s, (size_t)i, e) != 0)
			return i;
	return count;
}

static void
raise_flag(int event_fd)
{
	uint64_t one = 1;

	(void)!write(event_fd, &one, sizeof(one));
}

/* pthread_timedjoin_np goes by the wall clock, which may be set meanwhile: wait
 * in slices of a second. */
static bool
join_until(pthread_t id, int64_t deadline_mono)
{
	int rc;

	do {
		int left = clock_left(deadline_mono);
		int64_t wall = clock_wall_ms() + (left < 1000 ? left : 1000);
		struct timespec until = {
		    .tv_sec = (time_t)(wall / 1000),
		    .tv_nsec = (long)(wall % 1000) * 1000000,
		};
		rc = pthread_timedjoin_np(id, NULL, &until);
	} while (rc == ETIMEDOUT && clock_left(deadline_mono) > 0);
	return rc == 0;
}

/* Wait for threads to end; keeps those that did not at the front and returns
 * their number. */
static int
join_threads(struct thread *threads, int count, int64_t ms)
{
	int64_t deadline = clock_mono_ms() + ms;
	int left = 0;

	for (int i = 0; i < count; i++) {
		if (join_until(threads[i].id, deadline))
			worker_free(threads[i].worker);
		else
			threads[left++] = threads[i];
	}
	return left;
}

static int
drain(struct thread *threads, int count, struct worker_shared *s)
{
	raise_flag(s->drain_fd);
	/* Idle threads first take what they were woken for. Then the listener
	 * goes, so that nobody queues for a process that takes nothing more;
	 * its number stays taken, a thread may be about to accept from it. */
	int left = join_threads(threads, count, IDLE_MS);
	(void)dup3(s->drain_fd, s->listener, O_CLOEXEC);
	left = join_threads(threads, left, s->config->drain_sec * 1000);
	if (left == 0)
		return 0;
	raise_flag(s->cut_fd);
	int stuck = join_threads(threads, left, CUT_MS);
	LOG_AT(LEVEL_WARNING, w, "drain.cut")
	{
		jw_int(&w, "requests", left);
		jw_int(&w, "stuck", stuck);
	}
	return stuck;
}

static void
log_pool(const char *event, const struct pool_setup *p)
{
	LOG_EVENT(w, event)
	{
		jw_str(&w, "pool", pool_name[p->pool]);
		jw_int(&w, "threads", thread_count(p));
	}
}

static int
run_threads(const struct pool_setup *p, struct worker_shared *s,
    const sigset_t *stop, struct err *e)
{
	int count = thread_count(p), signal_number;
	struct thread *threads =
	    mem_zalloc(mem_array((size_t)count, sizeof(*threads)));
	int started = start_threads(threads, count, s, e);

	if (started == count) {
		log_pool("pool.started", p);
		if (p->ready_fd >= 0) {
			(void)!write(p->ready_fd, "\n", 1);
			(void)close(p->ready_fd);
		}
		(void)sigwait(stop, &signal_number);
		log_pool("pool.draining", p);
	}
	int stuck = drain(threads, started, s);
	free(threads);
	return started == count ? stuck : -1;
}

int
pool_serve(const struct pool_setup *p, struct err *e)
{
	struct worker_shared s = {
	    .config = p->config,
	    .instance = p->instance,
	    .routes = p->routes,
	    .route_count = p->route_count,
	    .listener = p->listener,
	    .gate.max = thread_count(p) / (p->pool == POOL_CONTROL ? 2 : 1),
	};
	FD_AUTO drain_fd = eventfd(0, EFD_CLOEXEC);
	FD_AUTO cut_fd = eventfd(0, EFD_CLOEXEC);
	sigset_t stop;

	if (drain_fd < 0 || cut_fd < 0)
		return err_sys(e, ERR_INTERNAL, "cannot make an eventfd");
	s.drain_fd = drain_fd;
	s.cut_fd = cut_fd;
	/* Threads inherit the mask: signals are this thread's alone. */
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTERM);
	(void)sigaddset(&stop, SIGINT);
	(void)pthread_sigmask(SIG_BLOCK, &stop, NULL);
	if (set_process_up(e) != 0)
		return -1;
	s.inflight = inflight_new(
	    (size_t)thread_count(p), p->config->auto_extend_window_sec * 1000);
	s.metrics = metrics_new(p->routes, p->route_count);
	const struct heart_setup beat = {p->config, pool_name[p->pool],
	    thread_count(p), s.inflight, s.metrics};
	struct heart *heart = heart_start(&beat, e);
	int stuck = heart != NULL ? run_threads(p, &s, &stop, e) : -1;
	/* Threads that did not end still use what this function holds. */
	if (stuck > 0)
		_exit(EXIT_SUCCESS);
	heart_stop(heart);
	inflight_free(s.inflight);
	metrics_free(s.metrics);
	return stuck;
}
