/*
 * Reading files of a run whose container has ended, out of the engine's archive
 * (run/files.h has the rules). Nothing runs there, so there are no races, but
 * every link, name and size in it is the workload's: links are followed here,
 * not by the engine, and never out of FILES_ROOT.
 */
#ifndef SBX_RUN_ARCHIVE_H
#define SBX_RUN_ARCHIVE_H

#include "run/files.h"

struct archive;

/* GET, LIST, STAT or PACK. */
struct archive *archive_open(const struct run_ctx *ctx, const struct run *run,
    enum wire_file_what what, const char *path,
    const struct guest_patience *patience, struct err *e);
void archive_free(struct archive *a); /* takes NULL */

/* As their namesakes of guest/file.h. */
int archive_stat(struct archive *a, struct wire_stat *ret_stat, struct err *e);
int archive_read(
    struct archive *a, uint64_t offset, uint64_t size, struct err *e);
int archive_next(
    struct archive *a, const char **ret_bytes, size_t *ret_size, struct err *e);

#endif
