/* Names and paths of a run. */
#include "run/place.h"
#include "lib/str.h"

#include <stdio.h>

void
run_name(const char *id, char to[RUN_NAME_SIZE])
{
	(void)snprintf(to, RUN_NAME_SIZE, RUN_PREFIX "%s", id);
	str_lower(to);
}

void
run_volume(const char *id, const char *what, char to[RUN_VOLUME_SIZE])
{
	(void)snprintf(to, RUN_VOLUME_SIZE, RUN_PREFIX "%s-%s", id, what);
	str_lower(to);
}

void
run_path(const struct config *config, const char *id, const char *file,
    char to[RUN_PATH_SIZE])
{
	/* RUN_DIR has 70 bytes at most (config.def), so this fits. */
	(void)snprintf(to, RUN_PATH_SIZE, "%s/runs/%s%s%s", config->run_dir, id,
	    file ? "/" : "", file ? file : "");
}
