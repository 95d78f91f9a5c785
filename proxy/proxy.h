/*
 * A proxy as it runs: what its connections share.
 */
#ifndef SBX_PROXY_PROXY_H
#define SBX_PROXY_PROXY_H

#include "dial.h"
#include "head.h"
#include "ledger.h"
#include "loop.h"
#include "pipe.h"
#include "policy.h"
#include "resolve.h"

#define PROXY_SCRATCH (64u * 1024)

struct limits {
#define LIMIT(field, option, standard, least, most, text) int64_t field;
#include "limits.def"
#undef LIMIT
};

extern const struct limits limits_standard;

struct client;

struct proxy {
	struct loop *loop;
	struct policy *policy;
	struct ledger *ledger;
	struct resolver *resolver;
	struct limits limits;
	struct pipes pipes;
	struct dials dials;
	struct address own; /* where it can be reached from where it dials */
	uint16_t own_port;  /* 0: nowhere */

	struct watch listener;
	struct timer retry;	/* set: accepting waits for it */
	struct client *clients; /* all of them */
	int64_t count;
	bool ending;

	/* For whoever is called by the loop, while it is. */
	char *scratch; /* PROXY_SCRATCH */
	struct head head;
};

/* Serves what comes to a listening, non-blocking socket once it has a policy.
 * All that is given stays the caller's, and outlives it. */
struct proxy *proxy_new(struct loop *loop, int listener,
    struct resolver *resolver, struct ledger *ledger,
    const struct limits *limits);
/* Ends every connection. */
void proxy_free(struct proxy *p);

/* That holds from here on, and is the proxy's; what it does not admit ends. */
void proxy_set_policy(struct proxy *p, struct policy *policy);
/* Where it listens, if that is in the network that it dials from: never dialled
 * (policy_own). */
void proxy_own(struct proxy *p, const struct address *a, uint16_t port);

/* A connection is over: there is room again. */
void proxy_has_room(struct proxy *p);

#endif
