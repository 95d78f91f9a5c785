/*
 * What the files that read heads share: bytes, lists, faults. Pure; of no use
 * to others.
 */
#ifndef SBX_PROXY_HEAD_PART_H
#define SBX_PROXY_HEAD_PART_H

#include "head.h"

/* RFC 9110 5.6.2, a bit for each byte. */
extern const uint32_t head_token_bytes[8];

static inline bool
head_is_token_byte(char c)
{
	unsigned char byte = (unsigned char)c;

	return head_token_bytes[byte / 32] >> byte % 32 & 1;
}

/* Of a line without its CRLF: no control but the tab. */
static inline bool
head_is_text(char c)
{
	unsigned char byte = (unsigned char)c;

	return byte >= ' ' ? byte != 0x7f : byte == '\t';
}

bool head_is_token(const struct slice *s);

/* Take the next element of a comma-separated list (RFC 9110 5.6.1.2: empty ones
 * do not count) off its front; false at its end. */
bool head_next_of(struct slice *list, struct slice *ret_item);

/* 1 to 19 decimal digits and nothing else, up to INT64_MAX. */
bool head_number(const struct slice *s, uint64_t *ret_value);

/* Fill *f. Always returns -1, to end a function with. */
int head_refuse(struct head_fault *f, int status, const char *why);

/* Fill connect, host, port and path from method and target. */
int head_take_target(struct head *h, struct head_fault *f);

/* "host" or "host:port", nothing else; *port holds the default, 0 for none. */
int head_authority(const struct slice *text, struct allow_host *ret_host,
    uint16_t *port, struct head_fault *f);

/* Fill in what the fields of a message say of its connection and body, and mark
 * those that are local. */
int head_take_fields(struct head *h, struct head_fault *f);

#endif
