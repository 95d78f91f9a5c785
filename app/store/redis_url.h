/*
 * SBX_REDIS_URL taken apart.
 *
 *	unix:///PATH
 *	redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]
 *
 * PATH, USER and PASSWORD are percent-decoded; an IPv6 address is written in
 * brackets. No TLS (hiredis 0.14 has none) and no query parameters. Pure. An
 * error text never quotes the url, which may hold a password.
 */
#ifndef SBX_STORE_REDIS_URL_H
#define SBX_STORE_REDIS_URL_H

#include "lib/err.h"

struct redis_url {
	char path[108]; /* of a unix socket; "" for TCP */
	char host[256], port[6];
	char user[256], password[512]; /* "" where none */
	char db[6];		       /* "" is the default, 0 */
};

/* ERR_INPUT where it is not one of the two forms. */
int redis_url_parse(const char *url, struct redis_url *ret_url, struct err *e);

#endif
