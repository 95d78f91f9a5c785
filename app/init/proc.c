/* What /proc says of a process. */
#include "init/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pid_t
proc_parent(pid_t pid)
{
	char path[32], stat[512];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, stat, sizeof(stat) - 1);
	(void)close(fd);
	if (n <= 0)
		return -1;
	stat[n] = '\0';
	/* "pid (comm) state ppid": comm may hold anything, also ") R 1". */
	const char *paren = strrchr(stat, ')');
	if (paren == NULL || strlen(paren) < 5)
		return -1;
	return (pid_t)strtol(paren + 4, NULL, 10);
}
