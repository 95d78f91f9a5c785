/* What a run's proxy did: its counters, and its log of decisions. */
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "run/egress.h"
#include "run/egress_talk.h"
#include "run/exit.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNTS_MAX (1u << 20)
#define LINE_MAX_BYTES (64u * 1024)
#define PIECE 4096

int
egress_counts(const struct run_ctx *ctx, struct run *run, struct arena *a,
    const char **ret_json, struct err *e)
{
	BUF_AUTO answer = BUF_INIT(COUNTS_MAX);
	const struct buf none = BUF_INIT(0);

	if (!str_eq(run->state, "running"))
		return run_not_running(run, e);
	if (egress_talk(ctx->config, run->id, "counts\n", &none, &answer, e) !=
	    0)
		return run_exit_explain(ctx, run, e);
	while (answer.size > 0 && answer.data[answer.size - 1] == '\n')
		answer.size--;
	*ret_json = arena_strndup(a, answer.data, answer.size);
	return 0;
}

struct egress_log {
	int fd;
	struct buf in;
	size_t taken; /* bytes of it that were lines already */
};

struct egress_log *
egress_log_open(const struct run_ctx *ctx, struct run *run, uint64_t position,
    bool follow, struct err *e)
{
	char line[64];

	if (!str_eq(run->state, "running")) {
		(void)run_not_running(run, e);
		return NULL;
	}
	(void)snprintf(line, sizeof(line), "log %llu%s\n",
	    (unsigned long long)position, follow ? "" : " end");
	int fd = egress_ask(ctx->config, run->id, line, e);
	if (fd < 0) {
		(void)run_exit_explain(ctx, run, e);
		return NULL;
	}
	struct egress_log *l = mem_zalloc(sizeof(*l));
	*l = (struct egress_log){fd, BUF_INIT(LINE_MAX_BYTES), 0};
	return l;
}

void
egress_log_free(struct egress_log *l)
{
	if (l == NULL)
		return;
	fd_close(&l->fd);
	buf_release(&l->in);
	free(l);
}

/* A line that is whole; blank ones only tell that somebody is there. */
static bool
take_line(struct egress_log *l, const char **ret_line, size_t *ret_size)
{
	for (;;) {
		const char *from = l->in.data + l->taken;
		const char *end = memchr(from, '\n', l->in.size - l->taken);

		if (end == NULL)
			return false;
		l->taken += (size_t)(end - from) + 1;
		if (end == from)
			continue;
		*ret_line = from;
		*ret_size = (size_t)(end - from);
		return true;
	}
}

/* Read once; false at the end. */
static bool
read_more(struct egress_log *l)
{
	buf_drop(&l->in, l->taken);
	l->taken = 0;
	char *at = buf_grow(&l->in, PIECE);
	if (at == NULL) /* a line that is none */
		return false;
	ssize_t n = read(l->fd, at, PIECE);
	if (n > 0)
		l->in.size += (size_t)n;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

enum egress_log_event
egress_log_next(struct egress_log *l, int other_fd, int timeout_ms,
    const char **ret_line, size_t *ret_size)
{
	struct pollfd p[] = {{l->fd, POLLIN, 0}, {other_fd, POLLIN, 0}};
	int64_t deadline = clock_mono_ms() + timeout_ms;

	while (!take_line(l, ret_line, ret_size)) {
		int n = poll(p, 2, clock_left(deadline));

		if (n < 0 && errno == EINTR)
			continue;
		if (p[0].revents == 0)
			return EGRESS_LOG_NONE;
		if (!read_more(l))
			return EGRESS_LOG_END;
	}
	/* What is no object says why there is no log: "error ...". */
	return **ret_line == '{' ? EGRESS_LOG_LINE : EGRESS_LOG_REFUSED;
}
