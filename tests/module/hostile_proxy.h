/*
 * The built sbx-proxy with an origin (hostile_origin.h), and the policy and
 * names that hostile.h speaks of. Its end asserts that it has left nothing
 * open.
 */
#ifndef SBX_TESTS_MODULE_HOSTILE_PROXY_H
#define SBX_TESTS_MODULE_HOSTILE_PROXY_H

#include "lib/buf.h"

/* Of a group of tests. */
int hostile_start(void **state);
int hostile_stop(void **state);

/* A connection to it; -1 where there is none. */
int hostile_connect_proxy(void);

/* Those bytes with the ports in their places. */
void hostile_fill_in(struct buf *out, const char *bytes, size_t size);

#endif
