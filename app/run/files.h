/*
 * Files below /work of a run: through its init while it runs, from the engine's
 * archive once it has exited (run/archive.h). Same rules, same errors.
 *
 * A path is below /work, decoded, without leading or trailing '/', without
 * empty, "." and ".." segments; "" is /work itself.
 *
 * Failures: those of guest/file.h; ERR_RUN_NOT_RUNNING for a change of an
 * exited run; ERR_UNSUPPORTED where the run was started by a version that
 * served no files.
 */
#ifndef SBX_RUN_FILES_H
#define SBX_RUN_FILES_H

#include "guest/file.h"
#include "lib/arena.h"
#include "run/context.h"
#include "store/run.h"

#define FILES_ROOT "/work"

/* One operation under way. What it was opened with must outlive it. */
struct files;

/* A read (GET, LIST, STAT, PACK) of a run in state running or exited. */
struct files *files_open(const struct run_ctx *ctx, struct run *run,
    enum wire_file_what what, const char *path,
    const struct guest_patience *patience, struct err *e);

/* A change (PUT, MKDIR, MOVE, REMOVE, UNPACK), all filled in but root and user,
 * which are the run's. */
struct files *files_change(const struct run_ctx *ctx, struct run *run,
    const struct wire_file *change, const struct guest_patience *patience,
    struct err *e);

void files_free(struct files *f); /* ends it, done or not; takes NULL */

/* As their namesakes of guest/file.h. */
int files_stat(struct files *f, struct wire_stat *ret_stat, struct err *e);
int files_read(struct files *f, uint64_t offset, uint64_t size, struct err *e);
int files_next(
    struct files *f, const char **ret_bytes, size_t *ret_size, struct err *e);
int files_send(struct files *f, const char *bytes, size_t size, struct err *e);
int files_end(struct files *f, struct err *e);
int files_opened(const struct files *f);
int files_fd(const struct files *f); /* of a change */
int files_check(struct files *f, struct err *e);
int files_done(struct files *f, struct err *e);

#endif
