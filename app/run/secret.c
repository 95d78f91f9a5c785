/* This stack's secret: read, or made once. */
#include "run/secret.h"
#include "lib/fd.h"
#include "run/kept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

int
secret_read(const struct config *config, unsigned char to[DIGEST_KEY_SIZE],
    struct err *e)
{
	char path[KEPT_PATH_SIZE];
	size_t size = 0;

	if (kept_path(config, "secret", path, e) != 0)
		return -1;
	if (access(path, F_OK) != 0) {
		if (getrandom(to, DIGEST_KEY_SIZE, 0) != DIGEST_KEY_SIZE)
			return err_sys(e, ERR_INTERNAL, "no random bytes");
		if (kept_make(path, to, DIGEST_KEY_SIZE, e) != 0)
			return -1;
	}
	char *bytes = fd_read_file(path, DIGEST_KEY_SIZE, &size, e);
	if (bytes == NULL)
		return -1;
	if (size == DIGEST_KEY_SIZE)
		memcpy(to, bytes, size);
	free(bytes);
	if (size != DIGEST_KEY_SIZE)
		return err_set(e, ERR_INTERNAL,
		    "%s does not hold %d bytes: remove it, and a new one is "
		    "made",
		    path, DIGEST_KEY_SIZE);
	return 0;
}
