/*
 * Names of the warm cache: repositories and paths (CONTRACT 7). Pure.
 */
#ifndef SBX_RUN_WARM_NAME_H
#define SBX_RUN_WARM_NAME_H

#include "lib/err.h"

/* Longest name of a repository, as it is in a key of Redis and, with its
 * slashes written '+', as a file's name. */
#define WARM_REPO_SIZE 221
#define WARM_PATH_SIZE 1024
#define WARM_DEFAULT_PATH "/work"

/* `owner/name` (two or more segments), lower-cased into to; ERR_INPUT quoting
 * it and saying the rule. */
int warm_repo_read(const char *text, char to[WARM_REPO_SIZE], struct err *e);

/* Where a warm volume is mounted: absolute, plain segments, one trailing slash
 * forgiven; not at, above or under what a system lives from. ERR_INPUT. */
int warm_path_read(const char *text, char to[WARM_PATH_SIZE], struct err *e);

/* The repository's directory below SBX_CACHE_ROOT/repos, and back. */
void warm_repo_file(const char *repo, char to[WARM_REPO_SIZE]);
int warm_repo_of_file(const char *file, char to[WARM_REPO_SIZE]);

#endif
