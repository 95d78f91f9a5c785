/*
 * What names were found to lead to, for as long as that holds. At most
 * CACHE_NAMES, of which the one goes first that was used longest ago. Pure:
 * time is the caller's, in ms of a clock that does not go back.
 *
 * Nothing in here was judged: whoever takes an address out of it asks the
 * policy, each time.
 */
#ifndef SBX_PROXY_CACHE_H
#define SBX_PROXY_CACHE_H

#include "found.h"

#include <stdbool.h>

#define CACHE_NAMES 256

struct cache;

struct cache *cache_new(void);
void cache_free(struct cache *c); /* takes NULL */

/* False: nothing is known of that name now. Names are lower case. */
bool cache_find(
    struct cache *c, const char *name, int64_t now, struct found *ret_found);

/* Holds until then, in place of what was known of that name. */
void cache_put(struct cache *c, const char *name, const struct found *found,
    int64_t until);

#endif
