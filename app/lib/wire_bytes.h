/*
 * What the parts of the codec share: numbers, texts, and frames under
 * construction. Of lib/wire*.c alone.
 */
#ifndef SBX_LIB_WIRE_BYTES_H
#define SBX_LIB_WIRE_BYTES_H

#include "lib/wire.h"

/* Begin a frame; what is then added is its payload; finish it, which fills in
 * its head or, where it is out of bounds, takes it back. */
size_t wire_begin(struct buf *out);
void wire_finish(struct buf *out, size_t start, enum wire_type type);

void wire_add8(struct buf *out, uint8_t value);
void wire_add32(struct buf *out, uint32_t value);
void wire_add64(struct buf *out, uint64_t value);
void wire_add_text(struct buf *out, const char *s); /* with its NUL */

/* A payload that is taken apart from its front. Past its end everything is 0
 * or "", and bad is set. */
struct wire_in {
	const char *at, *end;
	bool bad;
};

uint8_t wire_take8(struct wire_in *in);
uint32_t wire_take32(struct wire_in *in);
uint64_t wire_take64(struct wire_in *in);
const char *wire_take_text(struct wire_in *in);

/* 1 to WIRE_ID_MAX bytes. */
const char *wire_take_id(struct wire_in *in);

void wire_add_exit(struct buf *out, const struct wire_exit *x);
void wire_take_exit(struct wire_in *in, struct wire_exit *ret_x);

/* All of it was taken, and nothing was missing. */
bool wire_in_done(const struct wire_in *in);

#endif
