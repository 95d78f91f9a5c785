/* Operations on files in a run. */
#include "guest/file.h"

struct guest_file *
guest_file_open(struct engine *en, const struct guest_place *place,
    const struct wire_file *request, const struct guest_patience *patience,
    struct err *e)
{
	(void)en;
	(void)place;
	(void)request;
	(void)patience;
	(void)err_set(e, ERR_UNSUPPORTED, "files");
	return NULL;
}

void
guest_file_free(struct guest_file *f)
{
	(void)f;
}

int
guest_file_stat(struct guest_file *f, struct wire_stat *ret_stat, struct err *e)
{
	(void)f;
	(void)ret_stat;
	return err_set(e, ERR_UNSUPPORTED, "files");
}

int
guest_file_read(
    struct guest_file *f, uint64_t offset, uint64_t size, struct err *e)
{
	(void)f;
	(void)offset;
	(void)size;
	return err_set(e, ERR_UNSUPPORTED, "files");
}

int
guest_file_next(struct guest_file *f, const char **ret_bytes, size_t *ret_size,
    struct err *e)
{
	(void)f;
	(void)ret_bytes;
	(void)ret_size;
	return err_set(e, ERR_UNSUPPORTED, "files");
}

int
guest_file_send(
    struct guest_file *f, const char *bytes, size_t size, struct err *e)
{
	(void)f;
	(void)bytes;
	(void)size;
	return err_set(e, ERR_UNSUPPORTED, "files");
}

int
guest_file_end(struct guest_file *f, struct err *e)
{
	(void)f;
	return err_set(e, ERR_UNSUPPORTED, "files");
}

int
guest_file_done(struct guest_file *f, struct err *e)
{
	(void)f;
	return err_set(e, ERR_UNSUPPORTED, "files");
}
