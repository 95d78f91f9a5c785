/*
 * What is known of a name.
 */
#ifndef SBX_PROXY_FOUND_H
#define SBX_PROXY_FOUND_H

#include "lib/address.h"

#include <stddef.h>

#define RESOLVE_MOST 16 /* addresses of a name; more are ignored */

enum resolve_state {
	RESOLVE_FOUND,
	RESOLVE_NONE,	/* there is no such name, or it has no address */
	RESOLVE_FAILED, /* no server gave a proper answer */
	RESOLVE_TIMED_OUT,
};

struct found {
	enum resolve_state state;
	size_t count;
	struct address address[RESOLVE_MOST];
};

#endif
