/* What /proc says of a process. */
#include "init/proc.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
open_file(pid_t pid, const char *name)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool
proc_parse(const char *stat, struct proc *ret_p)
{
	/* "pid (comm) state ppid pgrp session": comm may hold anything, also
	 * ") R 1". */
	const char *paren = strrchr(stat, ')');
	if (paren == NULL || strlen(paren) < 5)
		return false;
	char *at;
	long parent = strtol(paren + 4, &at, 10);
	(void)strtol(at, &at, 10);
	*ret_p = (struct proc){(pid_t)parent, (pid_t)strtol(at, NULL, 10)};
	return true;
}

bool
proc_read(pid_t pid, struct proc *ret_p)
{
	char stat[512];
	FD_AUTO fd = open_file(pid, "stat");
	ssize_t n = fd >= 0 ? read(fd, stat, sizeof(stat) - 1) : 0;

	if (n <= 0)
		return false;
	stat[n] = '\0';
	return proc_parse(stat, ret_p);
}

bool
proc_has_setting(pid_t pid, const char *setting)
{
	size_t size = strlen(setting) + 1, kept = 1;
	FD_AUTO fd = open_file(pid, "environ");
	char text[16384] = ""; /* as if a NUL were before the first */
	ssize_t n;

	while (fd >= 0 && size + 1 < sizeof(text) / 2 &&
	       (n = read(fd, text + kept, sizeof(text) - kept)) > 0) {
		size_t end = kept + (size_t)n;

		for (const char *at = text; at != NULL;) {
			at = memmem(
			    at, end - (size_t)(at - text), setting, size);
			if (at != NULL && at > text && at[-1] == '\0')
				return true;
			at = at != NULL ? at + 1 : NULL;
		}
		kept = end < size ? end : size;
		memmove(text, text + end - kept, kept);
	}
	return false;
}
