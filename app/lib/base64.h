/*
 * Base64 (RFC 4648). Pure.
 */
#ifndef SBX_LIB_BASE64_H
#define SBX_LIB_BASE64_H

#include "lib/buf.h"

#include <stddef.h>

/* Append the bytes of text in the standard alphabet, padded or not; -1 where it
 * is none, or to went over. */
int base64_decode(const char *text, struct buf *to);

/* Append the text of bytes, padded. */
void base64_encode(const char *bytes, size_t size, struct buf *to);

/* The same in the alphabet for URLs and file names. */
void base64url_encode(const char *bytes, size_t size, struct buf *to);

#endif
