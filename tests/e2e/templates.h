/*
 * Short cuts for tests of the warm cache; each fails the test where the API
 * does not answer as it should.
 */
#ifndef SBX_E2E_TEMPLATES_H
#define SBX_E2E_TEMPLATES_H

#include "client.h"
#include "lib/ulid.h"

/* A run with a warm volume; path NULL: the default. The 201. */
struct reply template_run(const char *image, const char *repo, const char *path,
    char ret_id[ULID_SIZE]);

/* The same, and no more asked. */
void template_new(const char *image, const char *repo, const char *path,
    char ret_id[ULID_SIZE]);

/* POST …/warm-commit, to another repository where that is not NULL; must be
 * 201. */
struct reply template_commit(const char *id, const char *repo);
void template_made(const char *id, const char *repo);

/* GET or DELETE of it; must be 204. */
struct reply template_do(const char *method, const char *repo);
void template_drop(const char *repo);

/* A command in that directory must exit with 0: what it says, to be freed; and
 * must say that. */
char *template_sh(const char *id, const char *dir, const char *cmd);
void template_says(
    const char *id, const char *dir, const char *cmd, const char *expected);

/* How many entries there are in the cache of the form "repos/a+b/g-*". */
size_t template_files(const char *form);

/* Blocks on the disk of one below "repos/". */
int64_t template_blocks(const char *form);

/* A member that is a text. */
const char *text_at(const struct reply *r, const char *path);

#endif
