/*
 * What carries bytes to the origin: nothing (a direct connection), a bare
 * splice loop, ours, and Debian's tinyproxy and squid where they are installed.
 */
#ifndef SBX_BENCH_RELAY_H
#define SBX_BENCH_RELAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum relay_kind {
	RELAY_DIRECT,
	RELAY_LOOP,
	RELAY_OURS,
	RELAY_TINYPROXY,
	RELAY_SQUID,
	RELAY_KINDS
};

struct relay {
	enum relay_kind kind;
	bool there; /* else it is not installed, or does not start */
	char dir[64];
	pid_t pid;
	int port, origin_port;
};

extern const char *const relay_name[RELAY_KINDS];

/* Ours is started with a policy that admits origin.test, which leads to
 * 127.0.0.1, and 127.0.0.1, at the origin's port. */
struct relay relay_start(enum relay_kind kind, int origin_port);
void relay_stop(struct relay *r);

/* How long it takes from its start until it can be connected to, in ms. */
double relay_start_ms(enum relay_kind kind, int origin_port);

/* A connection to whom requests are said to; and one to the origin, by CONNECT
 * where that is how (not by the splice loop, which has but one way to go). */
int relay_connect(const struct relay *r);
int relay_tunnel(const struct relay *r);

/* The head of a GET, as this one wants it. */
void relay_request(const struct relay *r, bool keep, char *to, unsigned size);

/* Proportional set size, in KiB. */
double relay_pss(const struct relay *r);

#endif
