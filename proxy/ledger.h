/*
 * What was decided and what it cost: counters for each host and port, and a log
 * of decisions as JSON lines in a ring.
 *
 * Bounded: LEDGER_HOSTS hosts, all others count as one ("other"), and of these
 * LEDGER_REFUSED at most that nothing was ever allowed for, so that made-up
 * names do not push out the real ones; a log of LEDGER_RING bytes that the
 * oldest lines fall out of; no more than LEDGER_RATE lines a second, then one
 * that says how many were left out.
 *
 * A line: {"n":7,"time":"2026-01-31T09:00:00.123Z","verdict":"allowed",
 * "method":"GET","host":"a.example","port":80,"address":"203.0.113.1",
 * "reason":"...","status":200,"up":0,"down":1024,"ms":12}; what is empty or
 * not known is not there. n counts lines from 1, and is a line's position. What
 * was left out: {"n":8,"time":"...","verdict":"omitted","count":31}.
 */
#ifndef SBX_PROXY_LEDGER_H
#define SBX_PROXY_LEDGER_H

#include "lib/allow.h"
#include "lib/buf.h"

#define LEDGER_HOSTS 256
#define LEDGER_REFUSED 192
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

/* So many connections of the run more, or fewer. */
void ledger_connections(struct ledger *l, int change);

/* {"hosts":[{"host","port"?,"allowed","denied","failed","up","down"}...],
 * "connections":now,"malformed"} as one line, without its line feed. The one
 * without a port is "other". failed: unreached, timed out, or malformed after
 * all; the top one is requests without a host. */
void ledger_counts(const struct ledger *l, struct buf *out);

/* Log lines from a position on (0, or one that never was: the oldest there is):
 * appends as many whole ones as fit into size bytes, returns the position
 * behind them. A position that has fallen out is moved up, and *ret_lost says
 * how many lines that was. */
uint64_t ledger_log(const struct ledger *l, uint64_t from, size_t size,
    struct buf *out, uint64_t *ret_lost);
uint64_t ledger_log_end(const struct ledger *l);

/* What was left out, told now where its second is over: the next entry would,
 * but there may be none for long. */
void ledger_settle(struct ledger *l);
/* Nothing more comes: what was left out is told now. */
void ledger_end(struct ledger *l);

/* Called after each line (one listener: the control socket). */
void ledger_listen(struct ledger *l, void (*told)(void *arg), void *arg);

#endif
