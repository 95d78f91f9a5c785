/* Small files that are made once. */
#include "run/kept.h"
#include "lib/buf.h"
#include "lib/fd.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
kept_path(const struct config *config, const char *name,
    char to[KEPT_PATH_SIZE], struct err *e)
{
	int n = snprintf(to, KEPT_PATH_SIZE, "%s/%s", config->state_dir, name);

	if (n < 0 || n >= KEPT_PATH_SIZE)
		return err_set(e, ERR_INPUT,
		    "SBX_STATE_DIR has %zu bytes: it must have 255 at most",
		    strlen(config->state_dir));
	if (mkdir(config->state_dir, 0700) != 0 && errno != EEXIST)
		return err_sys(
		    e, ERR_INTERNAL, "cannot make %s", config->state_dir);
	return 0;
}

/* link(2) puts the whole file in place or fails: two makers agree. */
int
kept_make(const char *path, const void *bytes, size_t size, struct err *e)
{
	BUF_AUTO mine = BUF_INIT(PATH_MAX + 16);

	buf_addf(&mine, "%s.%d", path, (int)gettid());
	if (fd_write_file(mine.data, 0600, bytes, size, e) != 0)
		return -1;
	int rc = link(mine.data, path);
	int number = errno;
	(void)unlink(mine.data);
	errno = number;
	if (rc != 0 && number != EEXIST)
		return err_sys(e, ERR_INTERNAL, "cannot make %s", path);
	return 0;
}
