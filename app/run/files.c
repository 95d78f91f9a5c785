/* Files of a run: through its init, or from the engine's archive. */
#include "run/files.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "run/archive.h"
#include "run/exit.h"
#include "run/reach.h"

#include <stdlib.h>

struct files {
	const struct run_ctx *ctx;
	struct run *run;
	struct wire_file request;
	const struct guest_patience *patience;
	struct guest_file *guest; /* this or that */
	struct archive *archive;
};

static int
open_guest(
    void *arg, struct engine *en, const struct guest_place *at, struct err *e)
{
	struct files *f = arg;

	f->guest = guest_file_open(en, at, &f->request, f->patience, e);
	return f->guest != NULL ? 0 : -1;
}

/* The run is recorded as running. */
static int
through_guest(struct files *f, struct err *e)
{
	int version = f->request.condition != WIRE_ALWAYS ? REACH_CONDITIONS
							  : REACH_OBJECTS;

	if (reach_modern(f->run, version, e) != 0)
		return -1;
	return reach_do(f->ctx, f->run, open_guest, f, e);
}

static int
from_archive(struct files *f, struct err *e)
{
	f->archive = archive_open(
	    f->ctx, f->run, f->request.what, f->request.path, f->patience, e);
	return f->archive != NULL ? 0 : -1;
}

static struct files *
new_files(const struct run_ctx *ctx, struct run *run,
    const struct wire_file *request, const struct guest_patience *patience)
{
	struct files *f = mem_zalloc(sizeof(*f));

	*f = (struct files){ctx, run, *request, patience, NULL, NULL};
	f->request.user = run->user;
	f->request.root = FILES_ROOT;
	return f;
}

/* f, or nothing where it could not be opened. */
static struct files *
opened(struct files *f, int rc)
{
	if (rc == 0)
		return f;
	files_free(f);
	return NULL;
}

struct files *
files_open(const struct run_ctx *ctx, struct run *run, enum wire_file_what what,
    const char *path, const struct guest_patience *patience, struct err *e)
{
	const struct wire_file read = {.what = what, .path = path, .to = ""};
	struct files *f = new_files(ctx, run, &read, patience);
	int rc = -1;

	if (str_eq(run->state, "running"))
		rc = through_guest(f, e);
	/* Or it was found out just now that it has. */
	if (f->guest == NULL && str_eq(run->state, "exited"))
		rc = from_archive(f, e);
	else if (f->guest == NULL && !str_eq(run->state, "running"))
		rc = run_not_running(run, e);
	return opened(f, rc);
}

struct files *
files_change(const struct run_ctx *ctx, struct run *run,
    const struct wire_file *change, const struct guest_patience *patience,
    struct err *e)
{
	struct files *f = new_files(ctx, run, change, patience);

	return opened(f, str_eq(run->state, "running")
			     ? through_guest(f, e)
			     : run_not_running(run, e));
}

void
files_free(struct files *f)
{
	if (f == NULL)
		return;
	guest_file_free(f->guest);
	archive_free(f->archive);
	free(f);
}

/* What the guest answered; where it vanished, why. */
static int
told(struct files *f, int rc, struct err *e)
{
	if (rc < 0 && e->kind == ERR_GUEST)
		return reach_explain(f->ctx, f->run, e);
	return rc;
}

int
files_stat(struct files *f, struct wire_stat *ret_stat, struct err *e)
{
	if (f->archive != NULL)
		return archive_stat(f->archive, ret_stat, e);
	return told(f, guest_file_stat(f->guest, ret_stat, e), e);
}

int
files_read(struct files *f, uint64_t offset, uint64_t size, struct err *e)
{
	if (f->archive != NULL)
		return archive_read(f->archive, offset, size, e);
	return told(f, guest_file_read(f->guest, offset, size, e), e);
}

int
files_opened(const struct files *f)
{
	return f->guest != NULL ? guest_file_opened(f->guest) : -1;
}

int
files_next(
    struct files *f, const char **ret_bytes, size_t *ret_size, struct err *e)
{
	if (f->archive != NULL)
		return archive_next(f->archive, ret_bytes, ret_size, e);
	return told(f, guest_file_next(f->guest, ret_bytes, ret_size, e), e);
}

int
files_send(struct files *f, const char *bytes, size_t size, struct err *e)
{
	return told(f, guest_file_send(f->guest, bytes, size, e), e);
}

int
files_end(struct files *f, struct err *e)
{
	return told(f, guest_file_end(f->guest, e), e);
}

int
files_fd(const struct files *f)
{
	return guest_file_fd(f->guest);
}

int
files_check(struct files *f, struct err *e)
{
	return told(f, guest_file_check(f->guest, e), e);
}

int
files_done(struct files *f, struct err *e)
{
	return told(f, guest_file_done(f->guest, e), e);
}
