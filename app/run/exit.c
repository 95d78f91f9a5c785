/* Runs whose container has ended. */
#include "run/exit.h"
#include "docker/container.h"
#include "docker/events.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/place.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>

#define CODE_KILLED (128 + SIGKILL)
#define ENDED_MS 3000 /* for the engine to notice that an init has ended */
#define LOOK_MS 10
#define TAKEN_MS 1000 /* between a mark's end and the grant */
#define TAKEN_LOOK_MS 50
#define REVIEW_MS 60000 /* more than an engine takes to stop and start */

static const char engine_restart[] = "engine-restart";

/* PID 1 is ours and ends by itself only when told to: another end is a kill
 * from outside, of the kernel's making (OOM), the engine's or a person's. An
 * engine without live-restore ends what runs when it stops or, if it was
 * killed, when it starts, with codes (0, 137, 255) that tell nothing. */
static const char *
reason(
    struct engine *en, const struct run *run, const struct container_info *info)
{
	struct err ignored = ERR_INIT;
	bool restart = false;

	if (run->stop_reason != NULL && *run->stop_reason != '\0')
		return run->stop_reason;
	if (info->oom_killed)
		return "out-of-memory";
	if (events_restart_ended(en, info->id, &restart, &ignored) == 0 &&
	    restart)
		return engine_restart;
	return info->exit_code == CODE_KILLED ? "killed" : "stopped";
}

int
run_exit_observe(const struct run_ctx *ctx, struct run *run, bool *ret_present,
    struct err *e)
{
	struct container_info info;
	char name[RUN_NAME_SIZE];

	*ret_present = false;
	run_name(run->id, name);
	if (container_inspect(ctx->engine, name, &info, e) != 0)
		return e->kind == ERR_ABSENT ? 0 : -1;
	*ret_present = true;
	int rc = 0;
	if (!info.running && info.finished_ms > 0) {
		run->state = "exited";
		run->exit_code = info.exit_code;
		run->exited_ms = info.finished_ms;
		run->oom_killed = info.oom_killed;
		run->exit_reason = reason(ctx->engine, run, &info);
		rc = run_exited(ctx->redis, run, e);
	}
	container_info_release(&info);
	return rc;
}

/* The init of a container that the engine takes for a running one. */
static bool
init_has_ended(const struct run_ctx *ctx, const char *id)
{
	struct container_info info;
	struct err ignored = ERR_INIT;
	char name[RUN_NAME_SIZE];

	run_name(id, name);
	if (container_inspect(ctx->engine, name, &info, &ignored) != 0)
		return false;
	int64_t pid = info.pid;
	container_info_release(&info);
	if (pid <= 0)
		return false;
	/* Readable once it has ended, also where nobody has waited for it. */
	FD_AUTO fd = pidfd_open((pid_t)pid, 0);
	struct pollfd p = {fd, POLLIN, 0};
	return fd >= 0 ? poll(&p, 1, 0) == 1 : errno == ESRCH;
}

int
run_exit_await(const struct run_ctx *ctx, struct run *run, bool *ret_present,
    struct err *e)
{
	int64_t deadline = clock_mono_ms() + ENDED_MS;

	for (;;) {
		if (run_exit_observe(ctx, run, ret_present, e) != 0)
			return -1;
		if (!*ret_present || !str_eq(run->state, "running") ||
		    clock_left(deadline) == 0 || !init_has_ended(ctx, run->id))
			return 0;
		(void)poll(NULL, 0, LOOK_MS);
	}
}

int
run_exit_review(const struct run_ctx *ctx, struct run *run, bool *ret_changed,
    struct err *e)
{
	struct err ignored = ERR_INIT;
	bool restart = false;

	*ret_changed = false;
	if (run->oom_killed || str_eq(run->exit_reason, engine_restart) ||
	    *run->container == '\0' ||
	    run->read_ms - run->exited_ms > REVIEW_MS)
		return 0;
	(void)events_restart_ended(
	    ctx->engine, run->container, &restart, &ignored);
	if (!restart)
		return 0;
	run->exit_reason = engine_restart;
	*ret_changed = true;
	return run_exited(ctx->redis, run, e);
}

int
run_not_running(const struct run *run, struct err *e)
{
	if (!str_eq(run->state, "exited"))
		return err_set(e, ERR_RUN_NOT_RUNNING,
		    "Run %s is being destroyed.", run->id);
	return err_set(e, ERR_RUN_NOT_RUNNING,
	    "Run %s is not running: its container ended with exit code %lld "
	    "(%s). Its deadline stands; delete it or make another.",
	    run->id, (long long)run->exit_code,
	    *run->exit_reason ? run->exit_reason : "no reason known");
}

/* The run's end since it was read, by its record; 0 where there was none. */
static int
ended_since(const struct run_ctx *ctx, const struct run *run, struct err *e)
{
	struct arena a = ARENA_INIT;
	struct err absent = ERR_INIT;
	struct run now;
	int rc = 0;

	if (run_get(ctx->redis, run->id, true, &a, &now, &absent) != 0) {
		if (absent.kind == ERR_RUN_ABSENT) {
			*e = absent;
			rc = -1;
		}
	} else if (str_eq(now.state, "exited") ||
		   str_eq(now.state, "destroying")) {
		rc = run_not_running(&now, e);
	}
	arena_release(&a);
	return rc;
}

int
run_exit_explain(const struct run_ctx *ctx, struct run *run, struct err *e)
{
	struct err ignored = ERR_INIT;
	bool present;

	/* An exec that meets a teardown fails in the engine or in the guest, in
	 * many words of theirs. */
	if (e->kind != ERR_RUN_NOT_RUNNING && e->kind != ERR_ENGINE &&
	    e->kind != ERR_GUEST && e->kind != ERR_PROXY)
		return -1;
	if (ended_since(ctx, run, e) != 0 ||
	    run_exit_observe(ctx, run, &present, &ignored) != 0)
		return -1;
	if (!present)
		return err_set(e, ERR_RUN_NOT_RUNNING,
		    "Run %s has lost its container; the reaper removes it.",
		    run->id);
	if (str_eq(run->state, "exited"))
		return run_not_running(run, e);
	return -1;
}

bool
run_has_ended(const struct run_ctx *ctx, const char *id)
{
	struct container_info info;
	struct err e = ERR_INIT;
	char name[RUN_NAME_SIZE];

	run_name(id, name);
	if (container_inspect(ctx->engine, name, &info, &e) != 0)
		return e.kind == ERR_ABSENT;
	bool ended = !info.running;
	container_info_release(&info);
	return ended;
}

int
run_taken(const struct run_ctx *ctx, const struct run *run, struct err *e)
{
	int64_t until = clock_mono_ms() + TAKEN_MS;
	struct arena a = ARENA_INIT;
	struct err ignored = ERR_INIT;
	struct run now;

	while ((e->kind == ERR_GUEST || e->kind == ERR_ENGINE) &&
	       clock_left(until) > 0 &&
	       run_get(ctx->redis, run->id, true, &a, &now, &ignored) == 0) {
		if (now.lease_generation > run->lease_generation)
			(void)err_set(e, ERR_LEASE_SUPERSEDED,
			    "Run %s was given to %s meanwhile: this request "
			    "was superseded.",
			    run->id, now.lease_holder);
		else
			(void)poll(NULL, 0, TAKEN_LOOK_MS);
		arena_reset(&a);
	}
	arena_release(&a);
	return -1;
}

const char *
run_lost(const struct run_ctx *ctx, const struct run *was)
{
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT, killed = {.kind = ERR_GUEST};
	struct run run;
	bool present = true;
	const char *why = "the command was killed from outside, with all that "
			  "ran in the run";

	if (run_get(ctx->redis, was->id, true, &a, &run, &e) != 0)
		why = e.kind == ERR_RUN_ABSENT
			  ? "the run was destroyed"
			  : "the connection to the run was lost";
	else if (str_eq(run.state, "destroying"))
		why = "the run was destroyed";
	else if (run_exit_await(ctx, &run, &present, &e) == 0 &&
		 (!present || str_eq(run.state, "exited")))
		why = *run.stop_reason != '\0'
			  ? "the run was stopped: it held more of the disk "
			    "than SBX_RUN_DISK_MAX_GB"
		      : run.oom_killed ? "the run ended: out of memory"
				       : "the run ended";
	else if (run_taken(ctx, was, &killed) != 0 &&
		 killed.kind == ERR_LEASE_SUPERSEDED)
		why = "the run was given to somebody else";
	arena_release(&a);
	return why;
}
