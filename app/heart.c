/* The heartbeat of a worker process. */
#include "heart.h"
#include "lib/fd.h"
#include "lib/log.h"
#include "lib/mem.h"
#include "store/counters.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_SIZE (256 * 1024)
#define AGAIN_MS 500 /* after a beat that failed */

struct heart {
	pthread_t id;
	struct heart_setup setup;
	struct redis *redis;
	int stop_fd;
};

static void
log_failed(const struct err *e)
{
	LOG_AT(LEVEL_ERROR, w, "heartbeat.failed")
	jw_str(&w, "error", e->text);
}

/* The marks first: others wait for them. */
static int
beat_once(struct heart *h, struct err *e)
{
	const struct heart_setup *s = &h->setup;
	char name[32];

	(void)snprintf(name, sizeof(name), "%s-%d", s->pool, (int)getpid());
	if (inflight_beat(s->inflight, h->redis, e) != 0 ||
	    worker_beat(h->redis, name, s->pool, s->threads,
		metrics_busy(s->metrics), e) != 0)
		return -1;
	return metrics_flush(s->metrics, h->redis, e);
}

static void *
beat(void *arg)
{
	struct heart *h = arg;
	struct pollfd stop = {h->stop_fd, POLLIN, 0};
	int wait = 0;
	bool failing = false;

	while (poll(&stop, 1, wait) == 0) {
		struct err e = ERR_INIT;
		bool failed = beat_once(h, &e) != 0;

		if (failed && !failing)
			log_failed(&e);
		failing = failed;
		wait = failed ? AGAIN_MS : OP_REFRESH_MS;
	}
	return NULL;
}

static void
heart_free(struct heart *h)
{
	redis_free(h->redis);
	fd_close(&h->stop_fd);
	free(h);
}

static int
start_thread(struct heart *h, struct err *e)
{
	pthread_attr_t attr;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
	errno = pthread_create(&h->id, &attr, beat, h);
	(void)pthread_attr_destroy(&attr);
	if (errno != 0)
		return err_sys(e, ERR_INTERNAL, "cannot start a thread");
	return 0;
}

struct heart *
heart_start(const struct heart_setup *setup, struct err *e)
{
	struct heart *h = mem_zalloc(sizeof(*h));

	h->setup = *setup;
	h->stop_fd = eventfd(0, EFD_CLOEXEC);
	h->redis = redis_new(setup->config->redis_url, e);
	if (h->stop_fd < 0)
		(void)err_sys(e, ERR_INTERNAL, "cannot make an eventfd");
	else if (h->redis != NULL && start_thread(h, e) == 0)
		return h;
	heart_free(h);
	return NULL;
}

void
heart_stop(struct heart *h)
{
	uint64_t one = 1;
	struct err ignored = ERR_INIT;

	if (h == NULL)
		return;
	(void)!write(h->stop_fd, &one, sizeof(one));
	(void)pthread_join(h->id, NULL);
	(void)metrics_flush(h->setup.metrics, h->redis, &ignored);
	heart_free(h);
}
