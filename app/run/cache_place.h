/*
 * Opening what is below SBX_CACHE_ROOT, for run/cache alone. Names that do not
 * have their form are a fault of the caller: nothing of that name is touched.
 */
#ifndef SBX_RUN_CACHE_PLACE_H
#define SBX_RUN_CACHE_PLACE_H

#include "config.h"
#include "lib/ulid.h"
#include "run/warm_name.h"

#define CACHE_NAME_SIZE (ULID_SIZE + 4)

/* An open directory of the root: "repos", "runs", "trash". -1: ERR_ABSENT, or
 * ERR_INTERNAL. */
int cache_open(const struct config *config, const char *name, struct err *e);

/* The repository's; made where make says so. */
int cache_open_repo(
    const struct config *config, const char *repo, bool make, struct err *e);

/* "g-" or "new-", and gen; false where that is no ULID. */
bool cache_gen_name(
    const char *prefix, const char *gen, char to[CACHE_NAME_SIZE]);

/* err_sys, as ERR_FILE_SPACE where errno says that the disk is full. */
int cache_fail(struct err *e, const char *what);

/* Move name in dir to the trash; *ret_name is its name there. Absent is
 * success, and that empty. */
int cache_trash_move(const struct config *config, int dir, const char *name,
    char ret_name[ULID_SIZE], struct err *e);

#endif
