/*
 * The lock hash of a repository's tree (CONTRACT 7): which directory is its
 * root, and what its lockfiles say.
 */
#ifndef SBX_RUN_LOCK_HASH_H
#define SBX_RUN_LOCK_HASH_H

#include "crypto/digest.h"
#include "lib/err.h"

#define LOCK_DIR_SIZE 256	  /* a name, and a NUL */
#define LOCK_FILE_MAX (64u << 20) /* a larger lockfile counts as none */

struct lock_hash {
	char dir[LOCK_DIR_SIZE];    /* repoDir: "." or the name of its one
				     * sub-directory */
	char hash[DIGEST_HEX_SIZE]; /* lockHash */
};

/* Of the open directory. The tree may be hostile and alive: links are not
 * followed, what is no regular file is no lockfile. */
int lock_hash(int dir, struct lock_hash *ret_hash, struct err *e);

#endif
