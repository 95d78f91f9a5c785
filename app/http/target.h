/*
 * The request target of an exchange, taken apart. Pure.
 *
 * The path is percent-decoded exactly once and then split, so an encoded slash
 * separates like a plain one; no `.`, `..`, empty segment or NUL gets through.
 */
#ifndef SBX_HTTP_TARGET_H
#define SBX_HTTP_TARGET_H

#include "http/exchange.h"

/* Fill path, seg, seg_count and query from target; x->arena keeps them.
 * ERR_PATH where the target is malformed. */
int target_parse(struct exchange *x, struct err *e);

/* The value of a parameter of a raw query, percent- and '+'-decoded, in the
 * arena; NULL where absent (the first counts). A bad escape or a NUL in it is
 * NULL with *ret_bad set. */
const char *target_param(
    struct arena *a, const char *query, const char *name, bool *ret_bad);

#endif
