/* The run's count of out-of-memory kills. */
#include "init/oom.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t
oom_count(void)
{
	/* Docker mounts the run's own cgroup there, read-only: version 2, or
	 * the memory controller of version 1. */
	static const char *const files[] = {"/sys/fs/cgroup/memory.events",
	    "/sys/fs/cgroup/memory/memory.oom_control"};
	static const char key[] = "oom_kill ";
	char text[512];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		ssize_t n = read(fd, text, sizeof(text) - 1);
		(void)close(fd);
		text[n > 0 ? n : 0] = '\0';
		const char *at = strstr(text, key);
		if (at != NULL)
			return strtoll(at + strlen(key), NULL, 10);
	}
	return -1;
}
