/* The proxy of a run, seen from the host. */
#include "run/egress.h"
#include "docker/container.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/egress_network.h"
#include "run/egress_proxy.h"
#include "run/egress_talk.h"
#include "run/place.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_MS 15000 /* above what anybody does under it */
#define ANSWER_MAX 4096

bool
egress_has(const struct run *run)
{
	return str_eq(run->network, "allowlist");
}

/* -- where it listens ------------------------------------------------------ */

static bool
takes_network(const struct config *config)
{
	if (str_eq(config->egress_mode, "auto"))
		return str_starts(config->runtime, "runsc");
	return str_eq(config->egress_mode, "bridge");
}

int
egress_prepare(
    const struct run_ctx *ctx, struct run *run, struct arena *a, struct err *e)
{
	run->subnet = "";
	if (!egress_has(run) || !takes_network(ctx->config))
		return 0;
	return egress_network_make(ctx, run->id, a, &run->subnet, e);
}

void
egress_address(const struct run *run, char to[ADDRESS_TEXT])
{
	struct cidr subnet;

	/* One of before there was this field has none. */
	if (run->subnet == NULL || !cidr_parse(run->subnet, &subnet)) {
		(void)snprintf(to, ADDRESS_TEXT, "127.0.0.1");
		return;
	}
	const struct address gateway = cidr_first(&subnet);
	address_format(&gateway, false, to);
}

/* Docker's own resolver, which is what such a container asks, gets the gateway
 * as its server: a query is a channel, and nobody answers there. */
void
egress_attach(
    const struct run *run, struct arena *a, struct container_spec *spec)
{
	char gateway[ADDRESS_TEXT], name[RUN_NAME_SIZE];

	if (*run->subnet == '\0')
		return;
	egress_address(run, gateway);
	run_name(run->id, name);
	spec->network = arena_strdup(a, name);
	spec->dns = arena_strdup(a, gateway);
}

/* -- one at a time --------------------------------------------------------- */

/* What the record says, what the proxy was told and what the file says change
 * together. A lock of the run's directory; the descriptor's end frees it. */
static int
lock(const struct config *config, const char *id, struct err *e)
{
	int64_t deadline = clock_mono_ms() + LOCK_MS;
	char path[RUN_PATH_SIZE];

	run_path(config, id, NULL, path);
	FD_AUTO fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, ERR_PROXY, "cannot open %s", path);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(e, ERR_PROXY, "cannot lock %s", path);
		if (clock_mono_ms() >= deadline)
			return err_set(e, ERR_PROXY,
			    "the proxy of run %s is being told already", id);
		(void)poll(NULL, 0, 5);
	}
	return fd_take(&fd);
}

/* -- the policy ------------------------------------------------------------ */

static int
write_policy(const struct config *config, const char *id, const char *file,
    const struct buf *text, struct err *e)
{
	char path[RUN_PATH_SIZE];

	run_path(config, id, file, path);
	return fd_write_file(path, 0600, text->data, text->size, e);
}

/* NULL where there is none. */
static char *
read_policy(const struct config *config, const char *id, const char *file)
{
	struct err ignored = ERR_INIT;
	char path[RUN_PATH_SIZE];

	run_path(config, id, file, path);
	return fd_read_file(path, EGRESS_TEXT_MAX, NULL, &ignored);
}

/* Where a telling is cut off nobody knows which policy holds: EGRESS_NEXT is
 * there until it does. */
static int
tell(const struct config *config, const char *id, const struct buf *text,
    struct err *e)
{
	char policy[RUN_PATH_SIZE], next[RUN_PATH_SIZE];
	BUF_AUTO answer = BUF_INIT(ANSWER_MAX);

	if (write_policy(config, id, EGRESS_NEXT, text, e) != 0 ||
	    egress_talk(config, id, "policy\n", text, &answer, e) != 0)
		return -1;
	if (!str_starts(answer.data, "ok"))
		return err_set(e, ERR_PROXY, "the run's proxy said nothing");
	run_path(config, id, EGRESS_POLICY, policy);
	run_path(config, id, EGRESS_NEXT, next);
	if (rename(next, policy) != 0)
		return err_sys(e, ERR_PROXY, "cannot put %s in place", policy);
	return 0;
}

/* The proxy was told exactly that. */
static bool
was_told(const struct config *config, const char *id, const struct buf *text)
{
	char *next = read_policy(config, id, EGRESS_NEXT);
	char *policy = read_policy(config, id, EGRESS_POLICY);
	bool same =
	    next == NULL && policy != NULL && str_eq(policy, text->data);

	free(next);
	free(policy);
	return same;
}

void
egress_restore(const struct config *config, struct run *run, struct arena *a)
{
	char *text = NULL;

	if (egress_has(run))
		text = read_policy(config, run->id, EGRESS_NEXT);
	if (egress_has(run) && text == NULL)
		text = read_policy(config, run->id, EGRESS_POLICY);
	if (text != NULL)
		run->egress_allow = egress_text_own(text, a);
	free(text);
}

int
egress_set(
    const struct run_ctx *ctx, struct run *run, const char *own, struct err *e)
{
	BUF_AUTO text = BUF_INIT(EGRESS_TEXT_MAX);
	FD_AUTO held = lock(ctx->config, run->id, e);

	if (held < 0 || run_egress(ctx->redis, run->id, own, e) != 0)
		return -1;
	run->egress_allow = own;
	egress_text(ctx->config, own, &text);
	return tell(ctx->config, run->id, &text, e);
}

/* -- start and end --------------------------------------------------------- */

/* 1 where the proxy runs, 0 where the run does not, -1. */
static int
start(const struct run_ctx *ctx, const struct run *run, struct err *e)
{
	const char *id = run->id;
	BUF_AUTO text = BUF_INIT(EGRESS_TEXT_MAX);
	struct container_info info;
	char name[RUN_NAME_SIZE];

	run_name(id, name);
	if (container_inspect(ctx->engine, name, &info, e) != 0)
		return e->kind == ERR_ABSENT ? 0 : -1;
	const struct egress_place at = {id, info.netns, run->subnet, info.pid};
	int rc = info.pid > 0;
	if (rc == 1) {
		egress_text(ctx->config, run->egress_allow, &text);
		if (*info.netns == '\0')
			rc = err_set(e, ERR_PROXY,
			    "Docker names no network namespace of run %s", id);
		else if (write_policy(
			     ctx->config, id, EGRESS_POLICY, &text, e) != 0 ||
			 egress_proxy_start(ctx->config, &at, e) != 0)
			rc = -1;
	}
	container_info_release(&info);
	return rc;
}

int
egress_start(const struct run_ctx *ctx, const struct run *run, struct err *e)
{
	int rc = start(ctx, run, e);

	if (rc == 0)
		return err_set(e, ERR_PROXY,
		    "the container ended before its proxy started");
	return rc > 0 ? 0 : -1;
}

static int
end(const struct config *config, const char *id, struct err *e)
{
	char path[RUN_PATH_SIZE];

	run_path(config, id, NULL, path);
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return 0;
	/* Whoever keeps it finishes, and finds it destroyed the next time. */
	FD_AUTO held = lock(config, id, e);
	return held < 0 ? -1 : egress_proxy_end(config, id, e);
}

int
egress_end(const struct run_ctx *ctx, const char *id, struct err *e)
{
	if (end(ctx->config, id, e) != 0)
		return -1;
	return egress_network_remove(ctx, id, e);
}

/* -- keeping --------------------------------------------------------------- */

static bool
answers(const struct config *config, const char *id)
{
	struct err ignored = ERR_INIT;
	BUF_AUTO answer = BUF_INIT(EGRESS_TEXT_MAX);
	const struct buf none = BUF_INIT(0);

	/* A refusal is an answer as well. */
	return egress_talk(config, id, "counts\n", &none, &answer, &ignored) ==
		   0 ||
	       answer.size > 0;
}

static int
keep(const struct run_ctx *ctx, const struct run *run, const char **ret_done,
    struct err *e)
{
	const struct config *config = ctx->config;
	BUF_AUTO text = BUF_INIT(EGRESS_TEXT_MAX);

	if (!answers(config, run->id)) {
		/* One that hangs is in the way of another. */
		if (egress_proxy_end(config, run->id, e) != 0)
			return -1;
		int rc = start(ctx, run, e);
		if (rc > 0)
			*ret_done = "started";
		return rc < 0 ? -1 : 0;
	}
	egress_text(config, run->egress_allow, &text);
	if (was_told(config, run->id, &text))
		return 0;
	if (tell(config, run->id, &text, e) != 0)
		return -1;
	*ret_done = "told";
	return 0;
}

int
egress_keep(const struct run_ctx *ctx, const char *id, const char **ret_done,
    struct err *e)
{
	struct arena a = ARENA_INIT;
	char path[RUN_PATH_SIZE];
	struct run run;
	int rc = 0;

	*ret_done = NULL;
	run_path(ctx->config, id, NULL, path);
	bool made = mkdir(path, 0700) == 0; /* an adopted run may have none */
	FD_AUTO held = lock(ctx->config, id, e);
	if (held < 0)
		return -1;
	/* Read under the lock, or it could be older than what was told. */
	if (run_get(ctx->redis, id, true, &a, &run, e) != 0)
		rc = e->kind == ERR_RUN_ABSENT ? 0 : -1;
	else if (str_eq(run.state, "running") && egress_has(&run))
		rc = keep(ctx, &run, ret_done, e);
	/* Of one that is gone nothing stays; what is not empty does. */
	if (made && *ret_done == NULL)
		(void)rmdir(path);
	arena_release(&a);
	return rc;
}

int
egress_confine(const struct run_ctx *ctx, const struct run *run, struct err *e)
{
	const char *done;

	if (!egress_has(run) || run->subnet == NULL || *run->subnet == '\0' ||
	    answers(ctx->config, run->id))
		return 0;
	return egress_keep(ctx, run->id, &done, e);
}
