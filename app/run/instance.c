/* The id of this stack: read, or made once. */
#include "run/instance.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int
read_instance(
    const char *path, char to[ULID_SIZE], bool *ret_found, struct err *e)
{
	struct stat st;

	*ret_found = stat(path, &st) == 0;
	if (!*ret_found)
		return errno == ENOENT ? 0
				       : err_sys(e, ERR_INTERNAL,
					     "cannot look at %s", path);
	char *text = fd_read_file(path, 64, NULL, e);
	if (text == NULL)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	bool good = ulid_parse(text, to);
	free(text);
	if (!good)
		return err_set(e, ERR_INTERNAL,
		    "%s does not hold an instance id (26 characters of "
		    "Crockford base 32); the runs of this stack carry it in "
		    "their labels: restore it from one of them",
		    path);
	return 0;
}

/* link(2) puts the whole file in place or fails: two makers agree. */
static int
make_instance(const char *path, struct err *e)
{
	unsigned char random[10];
	char id[ULID_SIZE], line[ULID_SIZE + 1], mine[300];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, ERR_INTERNAL, "no random bytes");
	ulid_format(clock_wall_ms(), random, id);
	(void)snprintf(line, sizeof(line), "%s\n", id);
	(void)snprintf(mine, sizeof(mine), "%s.%d", path, (int)getpid());
	if (fd_write_file(mine, 0600, line, strlen(line), e) != 0)
		return -1;
	int rc = link(mine, path);
	int number = errno;
	(void)unlink(mine);
	errno = number;
	if (rc != 0 && number != EEXIST)
		return err_sys(e, ERR_INTERNAL, "cannot make %s", path);
	return 0;
}

int
instance_id(const struct config *config, char to[ULID_SIZE], struct err *e)
{
	char path[280];
	bool found = false;
	int n = snprintf(path, sizeof(path), "%s/instance", config->state_dir);

	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(e, ERR_INPUT,
		    "SBX_STATE_DIR has %zu bytes: it must have 255 at most",
		    strlen(config->state_dir));
	if (mkdir(config->state_dir, 0700) != 0 && errno != EEXIST)
		return err_sys(
		    e, ERR_INTERNAL, "cannot make %s", config->state_dir);
	if (read_instance(path, to, &found, e) != 0)
		return -1;
	if (found)
		return 0;
	if (make_instance(path, e) != 0 ||
	    read_instance(path, to, &found, e) != 0)
		return -1;
	if (!found)
		return err_set(e, ERR_INTERNAL, "%s vanished", path);
	return 0;
}
