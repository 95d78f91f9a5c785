/* The id of this stack: read, or made once. */
#include "run/instance.h"
#include "lib/fd.h"
#include "run/kept.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
make_instance(const char *path, struct err *e)
{
	char id[ULID_SIZE], line[ULID_SIZE + 1];

	if (ulid_new(id, e) != 0)
		return -1;
	(void)snprintf(line, sizeof(line), "%s\n", id);
	return kept_make(path, line, strlen(line), e);
}

int
instance_id(const struct config *config, char to[ULID_SIZE], struct err *e)
{
	char path[KEPT_PATH_SIZE];

	if (kept_path(config, "instance", path, e) != 0)
		return -1;
	if (access(path, F_OK) != 0 && make_instance(path, e) != 0)
		return -1;
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
