/*
 * The server name in a TLS ClientHello (RFC 8446 4.1.2, RFC 6066 3), and what
 * comes before a second one. Pure; the same however it is cut.
 *
 * What it cannot see: the inner name of an Encrypted Client Hello (it is the
 * outer one that is found), and what is said once the handshake is encrypted. A
 * protocol in which the server speaks first (SSH) sends no hello until it was
 * spoken to.
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
			* with something behind it in its record, or with a
			* name that allow_host_parse refuses */
};

/* *ret_used: the bytes of its records, of HELLO_NAME and HELLO_NO_NAME. */
enum hello hello_read(const char *bytes, size_t size,
    char name[ALLOW_NAME_MAX + 1], size_t *ret_used);

enum hello_answer {
	HELLO_ANSWER_MORE,  /* bytes are needed, HELLO_MAX at most */
	HELLO_ANSWER_RETRY, /* the client is to say another hello */
	HELLO_ANSWER_OTHER, /* it is not */
};

/* What a server says to a hello: whether it is a HelloRetryRequest (RFC 8446
 * 4.1.4). */
enum hello_answer hello_answer(const char *bytes, size_t size);

#define HELLO_OTHER_MAX (5u + 16384u + 256u)

/* What a client may send between its hellos, a record that is no handshake
 * (RFC 8446 4.2.10, D.4): its size, HELLO_OTHER_MAX at most, as soon as 5 bytes
 * are there; else 0. */
size_t hello_other(const char *bytes, size_t size);

#endif
