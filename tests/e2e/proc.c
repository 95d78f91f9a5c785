/* What /proc says of processes. */
#include "proc.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A whole file of /proc/PID, NULs made blanks; -1 where it cannot be read. */
static ssize_t
slurp(pid_t pid, const char *file, char *to, size_t room)
{
	char path[64];
	size_t size = 0;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (
	    size < room - 1 && (n = read(fd, to + size, room - 1 - size)) > 0)
		size += (size_t)n;
	(void)close(fd);
	for (size_t i = 0; i < size; i++)
		if (to[i] == '\0')
			to[i] = ' ';
	to[size] = '\0';
	return (ssize_t)size;
}

/* One process; false where it went away. proc(5): the name is in parentheses
 * and may hold anything. */
static bool
look(pid_t pid, struct proc *ret_proc)
{
	char text[1024];
	struct proc p = {.pid = pid};
	int parent;

	if (slurp(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	char *name = strchr(text, '('), *end = strrchr(text, ')');
	if (name == NULL || end == NULL ||
	    sscanf(end + 1, " %c %d", &p.state, &parent) != 2)
		return false;
	*end = '\0';
	(void)snprintf(p.name, sizeof(p.name), "%.15s", name + 1);
	p.parent = parent;
	*ret_proc = p;
	return true;
}

size_t
proc_all(struct proc to[PROC_MOST])
{
	DIR *d = opendir("/proc");
	size_t count = 0;

	if (d == NULL)
		abort();
	for (struct dirent *at; (at = readdir(d)) != NULL;) {
		if (!isdigit((unsigned char)at->d_name[0]) ||
		    count == PROC_MOST)
			continue;
		pid_t pid = (pid_t)strtol(at->d_name, NULL, 10);
		if (look(pid, &to[count]))
			count++;
	}
	closedir(d);
	return count;
}

bool
proc_alive(pid_t pid)
{
	struct proc p;

	return look(pid, &p) && p.state != 'Z' && p.state != 'X';
}

bool
proc_has(pid_t pid, const char *file, const char *text)
{
	static char bytes[1 << 20];

	return slurp(pid, file, bytes, sizeof(bytes)) > 0 &&
	       strstr(bytes, text) != NULL;
}

/* Send a signal (0: none) to the live processes with that text, but us. */
static size_t
each(const char *text, int number)
{
	static struct proc all[PROC_MOST];
	size_t count = proc_all(all), found = 0;

	for (size_t i = 0; i < count; i++)
		if (all[i].pid != getpid() && all[i].state != 'Z' &&
		    proc_has(all[i].pid, "cmdline", text)) {
			(void)kill(all[i].pid, number);
			found++;
		}
	return found;
}

size_t
proc_count(const char *text)
{
	return each(text, 0);
}

void
proc_kill(const char *text)
{
	(void)each(text, SIGKILL);
}

bool
proc_descends(const struct proc *all, size_t count, pid_t pid, pid_t ancestor)
{
	/* A chain is never longer than there are processes. */
	for (size_t steps = 0; steps < count && pid > 1; steps++) {
		size_t i = 0;

		if (pid == ancestor)
			return true;
		while (i < count && all[i].pid != pid)
			i++;
		if (i == count)
			return false;
		pid = all[i].parent;
	}
	return false;
}

int64_t
proc_private_kb(pid_t pid)
{
	static char text[1 << 16];
	long long kb, sum = 0;

	if (slurp(pid, "smaps_rollup", text, sizeof(text)) <= 0)
		return -1;
	for (char *p = text; (p = strstr(p, "\nPrivate_")) != NULL;) {
		p = strchr(p, ':');
		if (p == NULL || sscanf(p + 1, "%lld", &kb) != 1)
			break;
		sum += kb;
	}
	return sum;
}
