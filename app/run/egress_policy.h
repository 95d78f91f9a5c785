/*
 * What a run with network "allowlist" may reach, as entries and as the text
 * that its proxy reads (proxy/policy.h). Pure.
 *
 * That is the built-in list, SBX_EGRESS_ALLOW, and the run's own entries
 * (egressAllow): canonical (lib/allow.h), as the text of a JSON array, "" where
 * it has none.
 */
#ifndef SBX_RUN_EGRESS_POLICY_H
#define SBX_RUN_EGRESS_POLICY_H

#include "config.h"
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"

#define EGRESS_OWN_MAX 256	     /* entries of one run */
#define EGRESS_OWN_BYTES (16 * 1024) /* of their JSON text: it is a label */
#define EGRESS_TEXT_MAX (1u << 20)   /* of a policy, as the proxy takes it */

enum egress_origin { EGRESS_BUILTIN, EGRESS_BOX, EGRESS_RUN };

struct egress_entry {
	const char *text; /* canonical; lib/allow.h's allow_parse takes it */
	enum egress_origin origin;
};

/*
 * Check a caller's entries (a NULL-terminated list, NULL for none) and make the
 * text of a run's own ones: canonical, each once. ERR_INPUT with a sentence
 * that names egressAllow and quotes the entry.
 */
int egress_own(const char *const *entries, struct arena *a,
    const char **ret_own, struct err *e);

/* A run's own entries, NULL-terminated. What is no such text has none. */
const char *const *egress_own_list(const char *own, struct arena *a);

/* All entries in force for a run with these own ones, in the arena. */
size_t egress_entries(const struct config *config, const char *own,
    struct arena *a, const struct egress_entry **ret_list);

/* The policy of such a run as its proxy reads it. */
void egress_text(const struct config *config, const char *own, struct buf *out);

/* The own entries that such a text was made with, as egress_own writes them. */
const char *egress_text_own(const char *text, struct arena *a);

#endif
