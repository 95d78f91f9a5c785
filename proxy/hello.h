/*
 * The server name in a TLS ClientHello (RFC 8446 4.1.2, RFC 6066 3). Pure; the
 * same however it is cut.
 *
 * What it cannot see: the inner name of an Encrypted Client Hello, and what is
 * said once the handshake is encrypted. A protocol in which the server speaks
 * first (SSH) sends no hello until it was spoken to.
 */
#ifndef SBX_PROXY_HELLO_H
#define SBX_PROXY_HELLO_H

#include "lib/allow.h"

#define HELLO_MAX (16u * 1024) /* looked at, in bytes, of records together */

enum hello {
	HELLO_MORE,    /* bytes are needed, HELLO_MAX at most */
	HELLO_NOT_TLS, /* no opinion */
	HELLO_NO_NAME, /* a whole ClientHello without a server name */
	HELLO_NAME,    /* name is filled, as it stands there */
	HELLO_BAD,     /* TLS, but malformed, too long (it could hide a name),
			* or with a name that allow_host_parse refuses */
};

enum hello hello_read(
    const char *bytes, size_t size, char name[ALLOW_NAME_MAX + 1]);

#endif
