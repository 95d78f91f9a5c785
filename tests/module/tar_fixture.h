/*
 * Archives in and out of a run (file_fixture.h), made here entry by entry or by
 * the box's own tar.
 */
#ifndef SBX_TESTS_MODULE_TAR_FIXTURE_H
#define SBX_TESTS_MODULE_TAR_FIXTURE_H

#include "file_fixture.h"
#include "lib/buf.h"
#include "lib/tar.h"

#define ARCHIVE_MAX (64u << 20)

/* Append an entry; content NULL is none. The other members of x have defaults:
 * a file, 0644, 1,700,000,000 s. */
void archive_add(
    struct buf *to, const struct tar_entry *x, const char *content);
void archive_file(struct buf *to, const char *name, const char *content);
void archive_link(
    struct buf *to, enum tar_type type, const char *name, const char *link);
/* Its header's last, with another type. */
void archive_set_type(struct buf *archive, size_t at, char type);

/* One operation: 0, or why not. user NULL is the run's. */
int archive_pack(const char *path, const char *user, struct buf *out);
int archive_unpack(const char *path, const struct buf *archive);
int archive_unpack_x(const struct wire_file *x, const struct buf *archive);

/* Every entry of it, read to its end: how many, or -1. */
int archive_count(const struct buf *archive);

/* `tar` with these arguments and a NULL, standard input and output as given
 * (NULL: none): its exit status. */
int archive_tar(
    const char *const *argv, const struct buf *input, struct buf *output);
/* The archive's entries are just so in that directory. */
void archive_is_at(const struct buf *archive, const char *directory);

#endif
