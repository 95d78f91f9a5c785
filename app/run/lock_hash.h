/*
 * The lock hash of a repository's tree (CONTRACT 7): which directory is its
 * root, and what its lockfiles say.
 */
#ifndef SBX_RUN_LOCK_HASH_H
#define SBX_RUN_LOCK_HASH_H

#include "crypto/digest.h"
#include "lib/err.h"

#include <stdbool.h>

#define LOCK_DIR_SIZE 256	  /* a name, and a NUL */
#define LOCK_FILE_MAX (64u << 20) /* a larger lockfile counts as none */
/* A volume with more entries than this and no lockfile is its own root. */
#define LOCK_ENTRIES_MAX 100000

struct lock_hash {
	char dir[LOCK_DIR_SIZE];    /* repoDir: "." or the name of its one
				     * sub-directory */
	char hash[DIGEST_HEX_SIZE]; /* lockHash */
};

/* Of the open directory. The tree may be hostile and alive: links are not
 * followed, what is no regular file is no lockfile. ERR_INTERNAL only. */
int lock_hash(int dir, struct lock_hash *ret_hash, struct err *e);

/* Whether that may stand in dir. */
bool lock_dir_valid(const char *name);

#endif
