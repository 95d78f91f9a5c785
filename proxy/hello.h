/*
 * The server name in a TLS ClientHello (RFC 8446 4.1.2, RFC 6066 3). Pure; the
 * same however it is cut.
 */
#ifndef SBX_PROXY_HELLO_H
#define SBX_PROXY_HELLO_H

#include "lib/allow.h"

#define HELLO_MAX (16u * 1024) /* looked at, in bytes, of records together */

enum hello {
	HELLO_MORE,    /* bytes are needed */
	HELLO_NOT_TLS, /* it is no TLS, or none that can be read: no opinion */
	HELLO_NO_NAME, /* a whole ClientHello without a server name */
	HELLO_NAME,    /* name is filled, as it stands there */
	HELLO_BAD,     /* TLS, but malformed, or a name that is none */
};

enum hello hello_read(
    const char *bytes, size_t size, char name[ALLOW_NAME_MAX + 1]);

#endif
