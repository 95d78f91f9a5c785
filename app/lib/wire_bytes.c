/* Numbers, texts and frames under construction. */
#include "lib/wire_bytes.h"

#include <string.h>

void
wire_add8(struct buf *out, uint8_t value)
{
	buf_addc(out, (char)value);
}

static void
add_number(struct buf *out, uint64_t value, int bytes)
{
	char at[8];

	for (int i = 0; i < bytes; i++)
		at[i] = (char)(unsigned char)(value >> (8 * i));
	buf_add(out, at, (size_t)bytes);
}

void
wire_add32(struct buf *out, uint32_t value)
{
	add_number(out, value, 4);
}

void
wire_add64(struct buf *out, uint64_t value)
{
	add_number(out, value, 8);
}

void
wire_add_text(struct buf *out, const char *s)
{
	buf_add(out, s, strlen(s) + 1);
}

static uint64_t
take_number(struct wire_in *in, int bytes)
{
	uint64_t value = 0;

	if (in->end - in->at < bytes) {
		in->bad = true;
		in->at = in->end;
		return 0;
	}
	for (int i = bytes - 1; i >= 0; i--)
		value = value << 8 | (unsigned char)in->at[i];
	in->at += bytes;
	return value;
}

uint8_t
wire_take8(struct wire_in *in)
{
	return (uint8_t)take_number(in, 1);
}

uint32_t
wire_take32(struct wire_in *in)
{
	return (uint32_t)take_number(in, 4);
}

uint64_t
wire_take64(struct wire_in *in)
{
	return take_number(in, 8);
}

const char *
wire_take_text(struct wire_in *in)
{
	const char *text = in->at;
	const char *nul = in->at < in->end
			      ? memchr(text, '\0', (size_t)(in->end - text))
			      : NULL;

	if (nul == NULL) {
		in->bad = true;
		in->at = in->end;
		return "";
	}
	in->at = nul + 1;
	return text;
}

const char *
wire_take_id(struct wire_in *in)
{
	const char *id = wire_take_text(in);

	in->bad = in->bad || *id == '\0' || strlen(id) > WIRE_ID_MAX;
	return id;
}

bool
wire_in_done(const struct wire_in *in)
{
	return !in->bad && in->at == in->end;
}
