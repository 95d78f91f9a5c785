/* Whose the warm cache is: SBX_CACHE_ROOT/instance says it. */
#include "lib/fd.h"
#include "lib/str.h"
#include "run/cache.h"
#include "run/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID_MAX 64

/* Who has it: the caller frees that. NULL where that cannot be told. */
static char *
owner_of(const struct config *config, const char *path, const char *instance)
{
	struct err ignored = ERR_INIT;

	if (!cache_on(config) || cache_setup(config, &ignored) != 0 ||
	    (access(path, F_OK) != 0 &&
		kept_make(path, instance, strlen(instance), &ignored) != 0))
		return NULL;
	return fd_read_file(path, ID_MAX, NULL, &ignored);
}

int
cache_claim(const struct config *config, const char *instance, struct err *e)
{
	char path[CACHE_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s/instance", config->cache_root);
	char *owner = owner_of(config, path, instance);
	bool ours = owner == NULL || str_eq(owner, instance);
	free(owner);
	if (ours)
		return 0;
	return err_set(e, ERR_CONFLICT,
	    "the warm cache in %s is another stack's, which would lose its "
	    "runs' volumes: set SBX_CACHE_ROOT to a directory of this one's "
	    "own; or, where that stack is gone for good, remove %s",
	    config->cache_root, path);
}
