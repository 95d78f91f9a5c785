/* Files of a run that has ended. */
#include "run/archive.h"

#include <stddef.h>

struct archive *
archive_open(const struct run_ctx *ctx, const struct run *run,
    enum wire_file_what what, const char *path,
    const struct guest_patience *patience, struct err *e)
{
	(void)ctx;
	(void)run;
	(void)what;
	(void)path;
	(void)patience;
	(void)err_set(e, ERR_UNSUPPORTED,
	    "files of a run that has ended cannot be read yet");
	return NULL;
}

void
archive_free(struct archive *a)
{
	(void)a;
}

int
archive_stat(struct archive *a, struct wire_stat *ret_stat, struct err *e)
{
	(void)a;
	(void)ret_stat;
	return err_set(e, ERR_UNSUPPORTED, "not here");
}

int
archive_read(struct archive *a, uint64_t offset, uint64_t size, struct err *e)
{
	(void)a;
	(void)offset;
	(void)size;
	return err_set(e, ERR_UNSUPPORTED, "not here");
}

int
archive_next(
    struct archive *a, const char **ret_bytes, size_t *ret_size, struct err *e)
{
	(void)a;
	(void)ret_bytes;
	(void)ret_size;
	return err_set(e, ERR_UNSUPPORTED, "not here");
}
