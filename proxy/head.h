/*
 * Heads of HTTP/1 messages, as a proxy must read them: RFC 9110 and 9112, and
 * whatever two readers could take differently is refused. Pure.
 *
 * Refused: bare CR or LF, NUL and other controls, blanks before a colon, folded
 * fields, a first field line that begins with a blank, empty or bad names, more
 * than one Host, none in HTTP/1.1, a Host that is none, both Content-Length and
 * Transfer-Encoding, Transfer-Encoding in HTTP/1.0 or other than "chunked"
 * once, Content-Length that is signed, listed, repeated, not decimal or over
 * INT64_MAX, versions but 1.0 and 1.1, a Connection that is no list of tokens.
 *
 * The target of a request is the authority form (CONNECT, with a port) or the
 * absolute form (http only), without userinfo and fragment. The Host field is
 * not compared with it but replaced (RFC 9112 3.2.2).
 *
 * The same however it is cut: what is decided of some bytes is decided of them
 * and whatever follows.
 */
#ifndef SBX_PROXY_HEAD_H
#define SBX_PROXY_HEAD_H

#include "lib/allow.h"
#include "lib/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_MAX (32u * 1024) /* of a head, in bytes, with its empty line */
#define HEAD_LINE_MAX 8192u   /* of the request line */
#define HEAD_FIELDS 128
#define HEAD_OPTIONS 32 /* of Connection */

struct slice {
	const char *at;
	size_t size;
};

struct head_field {
	struct slice name, value; /* the value without blanks around it */
	bool local; /* not sent on as it is: hop-by-hop, or written anew */
	unsigned char kind; /* head_fields.c's */
};

enum head_body {
	BODY_NONE,    /* no byte */
	BODY_LENGTH,  /* length bytes, at least one */
	BODY_CHUNKED, /* chunk.h */
	BODY_CLOSE,   /* until the connection ends; answers only */
};

struct head {
	struct slice method, target; /* of a request */
	int status;		     /* of an answer */
	struct slice reason;
	int minor;    /* of HTTP/1.minor: 0 or 1 */
	size_t count; /* of field, below */
	enum head_body body;
	bool sized;	 /* a Content-Length goes on; of HEAD, without a body */
	uint64_t length; /* its value */
	bool keep;	 /* the connection may go on after it; never with 1.0 */
	bool upgrade;	 /* a request's: it asks to leave HTTP/1; not for h2c,
			  * not with a body. An answer's: it is a 101. */
	bool expect;	 /* 100-continue, in 1.1 with a body */
	int64_t forwards; /* Max-Forwards of OPTIONS to send on; else -1 */
	/* a request's: where it wants to go */
	bool connect;
	struct allow_host host;
	uint16_t port;
	struct slice path; /* of an absolute target, with query; may lack its
			    * "/". "*" of OPTIONS without one. */
	struct head_field field[HEAD_FIELDS];
};

/* Why a head is refused. */
struct head_fault {
	int status;    /* 400, 414, 417, 431, 501, 505 for a request; 502 */
	char why[256]; /* a sentence, printable ASCII */
};

/*
 * Returns 1 and *ret_used, 0 where more bytes are needed (at most HEAD_MAX), -1
 * with *ret_fault. Slices point into bytes. Empty lines before a request line
 * are skipped (RFC 9112 2.2), two at most.
 */
int head_request(const char *bytes, size_t size, struct head *ret_h,
    size_t *ret_used, struct head_fault *ret_fault);

/*
 * to: the method of the request that it answers; asked_upgrade: its `upgrade`.
 * A 1xx is a head of its own, without a body (and not for a client of HTTP/1.0:
 * RFC 9110 15.2); 101 where the request did not ask is a fault.
 */
int head_answer(const char *bytes, size_t size, const struct slice *to,
    bool asked_upgrade, struct head *ret_h, size_t *ret_used,
    struct head_fault *ret_fault);

/*
 * The head to send on, as HTTP/1.1. A request's has origin form, Host made from
 * the target, no hop-by-hop field (RFC 9110 7.6.1; Connection never takes away
 * Host, framing or what the proxy sets), no Proxy-Authorization, a Via, and
 * "Connection: close" unless keep or upgrade. An answer's likewise.
 *
 * Framing is written from body and length: for a client of HTTP/1.0, which
 * knows no chunks, set an answer's BODY_CHUNKED to BODY_CLOSE and send what
 * chunk_plain makes of the body.
 */
void head_put_request(struct buf *out, const struct head *h, bool keep);
void head_put_answer(struct buf *out, const struct head *h, bool keep);

/* A field's value; NULL where absent. */
const struct slice *head_find(const struct head *h, const char *name);

/* ASCII case ignored. */
bool slice_is(const struct slice *s, const char *text);

#endif
