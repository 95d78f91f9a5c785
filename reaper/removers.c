/* Threads that tear runs down. */
#include "removers.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/log.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "run/destroy.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct remover {
	pthread_t thread;
	struct run_ctx ctx;
	int job_fd, done_fd; /* the pool's */
};

struct removers {
	struct remover remover[REMOVERS];
	int started;
	int busy;
	int give_fd, job_fd; /* two ends: whoever is free takes from job_fd */
	int done_fd;	     /* eventfd: jobs done */
};

static int
carry_out(const struct run_ctx *ctx, const struct removal *job, struct err *e)
{
	if (job->redis_away)
		return run_remove(ctx, job->id, e);
	if (run_teardown(ctx, job->id, e) == 0)
		return 0;
	/* A DELETE was quicker. */
	return e->kind == ERR_RUN_ABSENT ? 0 : -1;
}

static void
do_job(const struct run_ctx *ctx, const struct removal *job)
{
	struct err e = ERR_INIT;
	int64_t start = clock_mono_ms();
	bool failed = carry_out(ctx, job, &e) != 0;

	LOG_AT(failed ? LEVEL_ERROR : LEVEL_INFO, w,
	    failed ? "run.removal_failed" : "run.removed")
	{
		jw_str(&w, "run", job->id);
		if (job->redis_away)
			jw_bool(&w, "redisAway", job->redis_away);
		else
			jw_str(&w, "was", job->was);
		jw_int(&w, "ms", clock_mono_ms() - start);
		if (failed)
			jw_str(&w, "error", e.text);
	}
}

static void *
remover_main(void *arg)
{
	struct remover *me = arg;
	struct removal job;
	ssize_t n;

	/* A message each; 0 once the other end is closed. */
	while ((n = recv(me->job_fd, &job, sizeof(job), 0)) != 0) {
		if (n != sizeof(job))
			continue;
		do_job(&me->ctx, &job);
		(void)eventfd_write(me->done_fd, 1);
	}
	return NULL;
}

static int
remover_start(struct removers *r, const struct config *config,
    const char *instance, struct err *e)
{
	struct remover *me = &r->remover[r->started];

	me->job_fd = r->job_fd;
	me->done_fd = r->done_fd;
	me->ctx.config = config;
	me->ctx.instance = instance;
	me->ctx.redis = redis_new(config->redis_url, e);
	if (me->ctx.redis == NULL)
		return -1;
	me->ctx.engine = engine_new(config->docker_socket);
	errno = pthread_create(&me->thread, NULL, remover_main, me);
	if (errno == 0) {
		r->started++;
		return 0;
	}
	redis_free(me->ctx.redis);
	engine_free(me->ctx.engine);
	return err_sys(e, ERR_INTERNAL, "cannot start a thread");
}

struct removers *
removers_open(const struct config *config, const char *instance, struct err *e)
{
	int pair[2] = {-1, -1};
	struct removers *r = mem_zalloc(sizeof(*r));

	r->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->done_fd < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		(void)err_sys(e, ERR_INTERNAL, "cannot make a socket pair");
		fd_close(&r->done_fd);
		free(r);
		return NULL;
	}
	r->give_fd = pair[0];
	r->job_fd = pair[1];
	while (r->started < REMOVERS)
		if (remover_start(r, config, instance, e) != 0) {
			removers_close(r);
			return NULL;
		}
	return r;
}

void
removers_close(struct removers *r)
{
	fd_close(&r->give_fd);
	for (int i = 0; i < r->started; i++) {
		(void)pthread_join(r->remover[i].thread, NULL);
		redis_free(r->remover[i].ctx.redis);
		engine_free(r->remover[i].ctx.engine);
	}
	fd_close(&r->job_fd);
	fd_close(&r->done_fd);
	free(r);
}

int
removers_free(struct removers *r)
{
	eventfd_t done = 0;

	if (eventfd_read(r->done_fd, &done) == 0)
		r->busy -= (int)done;
	return REMOVERS - r->busy;
}

int
removers_give(struct removers *r, const struct removal *job, struct err *e)
{
	if (send(r->give_fd, job, sizeof(*job), MSG_NOSIGNAL) !=
	    (ssize_t)sizeof(*job))
		return err_sys(e, ERR_INTERNAL, "cannot hand over a removal");
	r->busy++;
	return 0;
}

int
removers_fd(const struct removers *r)
{
	return r->done_fd;
}
