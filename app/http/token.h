/*
 * The bearer tokens of SBX_TOKEN_FILE, one a line.
 *
 * nginx checks the same tokens before us; this check holds also where nginx
 * was configured wrongly. The file is read again when its inode, size or time
 * of change differ, so a rotation needs no restart. A file that cannot be read
 * lets nobody in.
 */
#ifndef SBX_HTTP_TOKEN_H
#define SBX_HTTP_TOKEN_H

#include <stdbool.h>

struct token; /* a thread's */

struct token *token_new(const char *path);
void token_free(struct token *t); /* takes NULL */

/* The value of an Authorization header names one of the tokens: the scheme in
 * any case, spaces, then the token exactly. Takes the same time for every
 * token of one length. An empty token never passes. */
bool token_valid(struct token *t, const char *authorization);

/* The same for given lines. Pure. */
bool token_listed(const char *lines, const char *authorization);

#endif
