/*
 * Idempotency keys: sbx:idem:<key>, "making <digest> <token>" for as long as
 * its creator refreshes it, then "run <digest> <ID>" for 24 h. The digest is a
 * keyed hash of the request's body: no secret is stored.
 */
#ifndef SBX_STORE_IDEM_H
#define SBX_STORE_IDEM_H

#include "store/run.h"

/* How long a creator's death blocks its key: sooner over than its record, since
 * a creator that was merely stopped, and comes back to a key that is another's,
 * has its run refused by run_started. */
#define IDEM_MARK_MS 15000

/* What run_started makes of a key; key "" is none. */
struct idem {
	const char *key, *digest;
	char token[ULID_SIZE]; /* of this creator */
};

enum idem_state {
	IDEM_MINE,  /* make the run; ask again to keep the key */
	IDEM_WAIT,  /* another makes it: ask again */
	IDEM_OTHER, /* the key was used with another body */
	IDEM_RUN,   /* it is made: ret_id */
};

int idem_begin(struct redis *r, const struct idem *i,
    enum idem_state *ret_state, char ret_id[ULID_SIZE], struct err *e);

/* The making failed. */
int idem_free(struct redis *r, const struct idem *i, struct err *e);

#endif
