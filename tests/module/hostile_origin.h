/*
 * The far end of a proxy: an origin on loopback that notes every byte it gets
 * and answers each whole request, and a DNS server that knows no name. In a
 * thread of the test's process.
 */
#ifndef SBX_TESTS_MODULE_HOSTILE_ORIGIN_H
#define SBX_TESTS_MODULE_HOSTILE_ORIGIN_H

#include "lib/buf.h"

/* Listens at 127.0.0.1 and 127.0.0.3, with one port. */
void origin_start(void);
void origin_stop(void);
int origin_port(void);
int origin_dns_port(void);

/* From here on its answer is says, but to a request for /end; NULL: 200, with
 * the two bytes "ok". Forgets what it saw. */
void origin_play(const char *says);

/* What it has seen, once it has looked at all that is there: the number of
 * whole requests. names: the names that were asked for, each in a line. */
int origin_seen(struct buf *bytes, struct buf *names);

#endif
