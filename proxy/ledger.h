/*
 * What was decided and what it cost: counters for each host, and a log of
 * decisions as JSON lines in a ring. Bounded: LEDGER_HOSTS hosts, all others
 * count as "other"; a log of LEDGER_RING bytes that lines fall out of; no more
 * than LEDGER_RATE lines a second, then one that says how many were left out.
 */
#ifndef SBX_PROXY_LEDGER_H
#define SBX_PROXY_LEDGER_H

#include "lib/allow.h"
#include "lib/buf.h"

#define LEDGER_HOSTS 256
#define LEDGER_RING (1u << 20)
#define LEDGER_RATE 200

struct ledger;

enum ledger_verdict {
	LEDGER_ALLOWED,
	LEDGER_DENIED,	  /* 403 */
	LEDGER_UNREACHED, /* 502: unresolvable, refused */
	LEDGER_TIMED_OUT, /* 504 */
	LEDGER_MALFORMED, /* 400 and its like */
};

/* One request or tunnel, when it is over; a denied one when it is refused. */
struct ledger_entry {
	enum ledger_verdict verdict;
	const char *method; /* "CONNECT", "GET" ...; "" where unknown */
	const char *host;   /* as allow_host_format writes it; "" unknown */
	uint16_t port;
	const char *address; /* that was dialled; "" where none */
	const char *reason;  /* of what was not allowed; "" else */
	int status;	     /* that the run got; 0: none */
	uint64_t up, down;   /* bytes of content, both ways */
	int64_t ms;	     /* from its head to its end */
};

struct ledger *ledger_new(void);
void ledger_free(struct ledger *l);
void ledger_add(struct ledger *l, const struct ledger_entry *x);

/* {"hosts":[{"host","port"?,"allowed","denied","failed","up","down"}...],
 * "connections":now} as one line. */
void ledger_counts(const struct ledger *l, struct buf *out);

/* Log lines from a position on (0: the oldest there is): appends up to size
 * bytes of whole lines, returns the position behind them. A position that has
 * fallen out is moved up, and *ret_lost says how many lines that was. */
uint64_t ledger_log(const struct ledger *l, uint64_t from, size_t size,
    struct buf *out, uint64_t *ret_lost);
uint64_t ledger_log_end(const struct ledger *l);

/* Called after each line (one listener: the control socket). */
void ledger_listen(struct ledger *l, void (*told)(void *arg), void *arg);

#endif
