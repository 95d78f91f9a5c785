/*
 * Base64 with the standard alphabet and padding (RFC 4648, section 4). Pure.
 */
#ifndef SBX_LIB_BASE64_H
#define SBX_LIB_BASE64_H

#include "lib/buf.h"

/* Append the text of bytes. */
void base64_put(struct buf *out, const char *bytes, size_t size);

#endif
