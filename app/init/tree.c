/* Finding and signalling everything that this process started. */
#include "init/tree.h"
#include "init/proc.h"
#include "lib/clock.h"
#include "lib/mem.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define GONE_LOOKS 4
#define GONE_MS 10    /* between two of them */
#define TREE_MAX 8192 /* at a time; the rest in a later call */

/* Of this process, where its orphans are not its own. */
static struct {
	char setting[64];
	pid_t command;
} tagged;

const char *
tree_begin(void)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0)
		return NULL;
	/* A pid alone may have been another's, whose children live on. */
	(void)snprintf(tagged.setting, sizeof(tagged.setting),
	    "SBX_EXEC=%d.%lld", (int)getpid(), (long long)clock_mono_us());
	return tagged.setting;
}

void
tree_command(pid_t pid)
{
	tagged.command = pid;
}

bool
tree_tells(void)
{
	return tagged.setting[0] == '\0';
}

struct tree {
	bool (*spared)(const void *arg, pid_t child); /* NULL: none is */
	const void *arg;
	size_t count;
	pid_t pid[TREE_MAX]; /* ascending */
};

/* Where pid is, or where it would go. */
static size_t
place(const struct tree *t, pid_t pid)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->pid[mid] < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool
has(const struct tree *t, pid_t pid)
{
	size_t at = place(t, pid);

	return at < t->count && t->pid[at] == pid;
}

static void
add(struct tree *t, pid_t pid)
{
	size_t at = place(t, pid);

	memmove(
	    t->pid + at + 1, t->pid + at, (t->count - at) * sizeof(t->pid[0]));
	t->pid[at] = pid;
	t->count++;
}

static bool
belongs(const struct tree *t, pid_t pid)
{
	struct proc p;

	if (!proc_read(pid, &p))
		return false;
	if (p.parent == getpid())
		return t->spared == NULL || !t->spared(t->arg, pid);
	if (has(t, p.parent))
		return true;
	return !tree_tells() && pid != getpid() &&
	       (p.session == tagged.command ||
		   proc_has_setting(pid, tagged.setting));
}

/* Add, and signal, what is below us and not in t yet. Returns how many. */
static size_t
pass(struct tree *t, DIR *proc, int sig)
{
	size_t before = t->count;
	struct dirent *entry;

	rewinddir(proc);
	/* In order of pids, so mostly parents first: a second pass finds the
	 * others, and then that there are none. */
	while (t->count < TREE_MAX && (entry = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || has(t, pid) || !belongs(t, pid))
			continue;
		add(t, pid);
		(void)kill(pid, sig);
	}
	return t->count - before;
}

static struct tree *
nobody(void)
{
	struct tree *t = mem_alloc(sizeof(*t));

	t->spared = NULL;
	t->arg = NULL;
	t->count = 0;
	return t;
}

static struct tree *
signalled(struct tree *t, int sig, int passes)
{
	DIR *proc = opendir("/proc");

	if (proc == NULL)
		return t;
	while (passes > 0 && pass(t, proc, sig) > 0)
		passes--;
	(void)closedir(proc);
	return t;
}

bool
tree_gone(void)
{
	bool gone = true;

	if (tree_tells())
		return true;
	/* One that is just forked, or between two programs, may be seen by
	 * neither of its marks: one look tells nothing. */
	for (int look = 0; look < GONE_LOOKS && gone; look++) {
		if (look > 0)
			(void)poll(NULL, 0, GONE_MS);
		struct tree *t = signalled(nobody(), 0, 1);
		gone = t->count == 0;
		free(t);
	}
	return gone;
}

void
tree_signal(int sig)
{
	/* Whatever is missed, because it forks on and on, is killed later. */
	free(signalled(nobody(), sig, 2));
}

/* Frees t. */
static size_t
kill_them(struct tree *t)
{
	/* A stopped process forks no more, so this comes to an end before. */
	size_t count = signalled(t, SIGSTOP, 64)->count;

	for (size_t i = 0; i < count; i++)
		(void)kill(t->pid[i], SIGKILL);
	free(t);
	return count;
}

void
tree_kill(void)
{
	(void)kill_them(nobody());
}

size_t
tree_kill_but(bool (*spared)(const void *arg, pid_t child), const void *arg)
{
	struct tree *t = nobody();

	t->spared = spared;
	t->arg = arg;
	return kill_them(t);
}
