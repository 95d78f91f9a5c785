/* Finding and signalling everything below this process. */
#include "init/tree.h"
#include "init/proc.h"
#include "lib/mem.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TREE_MAX 8192 /* at a time; the rest in a later call */

struct tree {
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

/* Add, and signal, what is below us and not in t yet. Returns how many. */
static size_t
pass(struct tree *t, DIR *proc, int sig)
{
	const pid_t self = getpid();
	size_t before = t->count;
	struct dirent *entry;

	rewinddir(proc);
	/* In order of pids, so mostly parents first: a second pass finds the
	 * others, and then that there are none. */
	while (t->count < TREE_MAX && (entry = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || has(t, pid))
			continue;
		pid_t parent = proc_parent(pid);
		if (parent != self && !has(t, parent))
			continue;
		add(t, pid);
		(void)kill(pid, sig);
	}
	return t->count - before;
}

static struct tree *
signalled(int sig, int passes)
{
	struct tree *t = mem_alloc(sizeof(*t));
	DIR *proc = opendir("/proc");

	t->count = 0;
	if (proc == NULL)
		return t;
	while (passes > 0 && pass(t, proc, sig) > 0)
		passes--;
	(void)closedir(proc);
	return t;
}

void
tree_signal(int sig)
{
	/* Whatever is missed, because it forks on and on, is killed later. */
	free(signalled(sig, 2));
}

void
tree_kill(void)
{
	/* A stopped process forks no more, so this comes to an end before. */
	struct tree *t = signalled(SIGSTOP, 64);

	for (size_t i = 0; i < t->count; i++)
		(void)kill(t->pid[i], SIGKILL);
	free(t);
}
