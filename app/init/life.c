/* The life of a command. */
#include "init/life.h"
#include "init/oom.h"
#include "init/tree.h"
#include "lib/clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#define LAST_MS 2800	/* from TERM to the exit frame, whatever happens */
#define KILLING_MS 800	/* but so long from KILL, where we came late to that */
#define KILL_AGAIN_MS 5 /* between two rounds of killing */
#define LOOK_MS 1000	/* where no signal tells that an orphan has ended */

void
life_init(struct life *l)
{
	*l = (struct life){
	    .alone = true,
	    .deadline = LIFE_NEVER,
	    .ending_at = LIFE_NEVER,
	    .kill_at = LIFE_NEVER,
	    .late_at = LIFE_NEVER,
	    .oom_before = oom_count(),
	};
}

void
life_begin(struct life *l, pid_t pid, uint32_t timeout_ms)
{
	l->pid = pid;
	l->alone = false;
	if (timeout_ms > 0)
		l->deadline = clock_mono_ms() + timeout_ms;
	tree_command(pid);
}

bool
life_reap(struct life *l)
{
	bool news = false;
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != l->pid)
			continue;
		l->dead = news = true;
		l->status = status;
		l->died_at = clock_mono_ms();
	}
	if (pid < 0 && errno == ECHILD && !l->alone && tree_gone())
		l->alone = news = true;
	return news;
}

void
life_end(struct life *l, int64_t term_ms)
{
	int64_t now = clock_mono_ms();

	if (l->kill_at > now + term_ms)
		l->kill_at = now + term_ms;
	if (l->ending_at != LIFE_NEVER)
		return;
	l->ending_at = now;
	l->late_at = now + LAST_MS;
	tree_signal(SIGTERM);
}

bool
life_step(struct life *l)
{
	int64_t now = clock_mono_ms();

	if (now >= l->deadline && !l->dead && l->ending_at == LIFE_NEVER) {
		l->timed_out = true;
		life_end(l, LIFE_TERM_MS);
	}
	if (now < l->kill_at || l->alone)
		return false;
	tree_kill();
	if (!l->killing && l->late_at < now + KILLING_MS)
		l->late_at = now + KILLING_MS;
	l->killing = true;
	return true;
}

bool
life_is_late(const struct life *l)
{
	return clock_mono_ms() >= l->late_at;
}

static void
sooner(int64_t *next, int64_t at, int64_t now)
{
	if (at > now && at < *next)
		*next = at;
}

int
life_idle_ms(const struct life *l, bool told)
{
	int64_t now = clock_mono_ms(), next = LIFE_NEVER;

	if (!l->dead && l->ending_at == LIFE_NEVER)
		sooner(&next, l->deadline, now);
	if (l->dead && !told)
		sooner(&next, l->died_at + LIFE_GRACE_MS, now);
	if (l->ending_at != LIFE_NEVER && !told)
		sooner(&next, l->late_at, now);
	if (!l->alone && l->kill_at != LIFE_NEVER)
		sooner(&next,
		    l->kill_at > now ? l->kill_at : now + KILL_AGAIN_MS, now);
	if (!l->alone && l->dead && !tree_tells())
		sooner(&next, now + LOOK_MS, now);
	return next == LIFE_NEVER ? -1 : clock_left(next);
}

struct wire_exit
life_exit(const struct life *l, bool not_found)
{
	struct wire_exit exit = {
	    .code = -1, .timed_out = l->timed_out, .fenced = l->fenced};

	if (l->timed_out || l->fenced)
		return exit;
	/* Not even KILL ended it within LAST_MS: say what it would be. */
	int signal = l->dead ? WTERMSIG(l->status) : SIGKILL;
	if (l->dead && WIFEXITED(l->status))
		signal = 0;
	exit.signal = (uint8_t)signal;
	exit.code = signal ? 128 + signal : WEXITSTATUS(l->status);
	exit.not_found = not_found;
	/* A shell passes on the KILL of its last command as 137. */
	exit.oom_killed = exit.code == 128 + SIGKILL && l->oom_before >= 0 &&
			  oom_count() > l->oom_before;
	return exit;
}
