/* Files of a run. */
#include "run/files.h"

struct files *
files_open(const struct run_ctx *ctx, struct run *run, enum wire_file_what what,
    const char *path, const struct guest_patience *patience, struct err *e)
{
	(void)ctx;
	(void)run;
	(void)what;
	(void)path;
	(void)patience;
	(void)err_set(e, ERR_UNSUPPORTED, "files");
	return NULL;
}

struct files *
files_change(const struct run_ctx *ctx, struct run *run,
    const struct wire_file *change, const struct guest_patience *patience,
    struct err *e)
{
	(void)ctx;
	(void)run;
	(void)change;
	(void)patience;
	(void)err_set(e, ERR_UNSUPPORTED, "files");
	return NULL;
}

void
files_free(struct files *f)
{
	(void)f;
}

int
files_stat(struct files *f, struct wire_stat *ret_stat, struct err *e)
{
	(void)f;
	(void)ret_stat;
	return err_set(e, ERR_UNSUPPORTED, "files");
}

int
files_read(struct files *f, uint64_t offset, uint64_t size, struct err *e)
{
	(void)f;
	(void)offset;
	(void)size;
	return err_set(e, ERR_UNSUPPORTED, "files");
}

int
files_next(
    struct files *f, const char **ret_bytes, size_t *ret_size, struct err *e)
{
	(void)f;
	(void)ret_bytes;
	(void)ret_size;
	return err_set(e, ERR_UNSUPPORTED, "files");
}

int
files_send(struct files *f, const char *bytes, size_t size, struct err *e)
{
	(void)f;
	(void)bytes;
	(void)size;
	return err_set(e, ERR_UNSUPPORTED, "files");
}

int
files_end(struct files *f, struct err *e)
{
	(void)f;
	return err_set(e, ERR_UNSUPPORTED, "files");
}

int
files_done(struct files *f, struct err *e)
{
	(void)f;
	return err_set(e, ERR_UNSUPPORTED, "files");
}
