/* Following a chunked body. */
#include "chunk.h"
#include "head_part.h"

#include <string.h>
#include <strings.h>

#define SIZE_MOST INT32_MAX
#define DIGITS_MOST 16 /* some servers pad with zeros */

enum state {
	AT_SIZE, /* a digit of it, or what ends it */
	AT_EXTENSION,
	AT_SIZE_LF,
	AT_DATA,
	AT_DATA_CR,
	AT_DATA_LF,
	AT_TRAILER, /* the beginning of a line behind the last chunk */
	AT_NAME,
	AT_VALUE,
	AT_VALUE_LF,
	AT_LAST_LF,
	AT_END,
	AT_FAULT,
};

/* What a trailer must not say: it would come after it was needed, and one
 * reader would heed it where another does not. */
static const char *const forbidden[] = {
    "Authorization",
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Range",
    "Content-Type",
    "Cookie",
    "Expect",
    "Host",
    "Keep-Alive",
    "Max-Forwards",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Proxy-Connection",
    "Set-Cookie",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
};

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static enum state
size_byte(struct chunk *c, char byte)
{
	int digit = hex_value(byte);

	if (digit >= 0) {
		c->left = c->left * 16 + (unsigned)digit;
		return c->left > SIZE_MOST || ++c->line > DIGITS_MOST ? AT_FAULT
								      : AT_SIZE;
	}
	if (c->line == 0)
		return AT_FAULT;
	if (byte == ';')
		return AT_EXTENSION;
	return byte == '\r' ? AT_SIZE_LF : AT_FAULT;
}

static enum state
extension_byte(struct chunk *c, char byte)
{
	if (byte == '\r')
		return AT_SIZE_LF;
	return head_is_text(byte) && ++c->extra <= CHUNK_EXTRA ? AT_EXTENSION
							       : AT_FAULT;
}

static bool
is_forbidden(const struct chunk *c)
{
	if (c->line >= sizeof(c->name))
		return false;
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		if (strcasecmp(c->name, forbidden[i]) == 0)
			return true;
	return false;
}

static enum state
name_byte(struct chunk *c, char byte)
{
	if (byte == ':')
		return c->line > 0 && !is_forbidden(c) ? AT_VALUE : AT_FAULT;
	if (!head_is_token_byte(byte) || ++c->extra > CHUNK_EXTRA)
		return AT_FAULT;
	if (c->line < sizeof(c->name) - 1) {
		c->name[c->line] = byte;
		c->name[c->line + 1] = '\0';
	}
	c->line++;
	return AT_NAME;
}

static enum state
trailer_byte(struct chunk *c, char byte)
{
	if (byte == '\r')
		return AT_LAST_LF;
	c->line = 0;
	return name_byte(c, byte);
}

static enum state
value_byte(struct chunk *c, char byte)
{
	if (byte == '\r')
		return AT_VALUE_LF;
	return head_is_text(byte) && ++c->extra <= CHUNK_EXTRA ? AT_VALUE
							       : AT_FAULT;
}

static enum state
next_size(struct chunk *c)
{
	c->line = 0;
	return AT_SIZE;
}

/* All but data, a byte at a time. */
static enum state
take_byte(struct chunk *c, char byte)
{
	bool lf = byte == '\n';

	switch ((enum state)c->state) {
	case AT_SIZE:
		return size_byte(c, byte);
	case AT_EXTENSION:
		return extension_byte(c, byte);
	case AT_SIZE_LF:
		if (!lf)
			return AT_FAULT;
		return c->left > 0 ? AT_DATA : AT_TRAILER;
	case AT_DATA_CR:
		return byte == '\r' ? AT_DATA_LF : AT_FAULT;
	case AT_DATA_LF:
		return lf ? next_size(c) : AT_FAULT;
	case AT_TRAILER:
		return trailer_byte(c, byte);
	case AT_NAME:
		return name_byte(c, byte);
	case AT_VALUE:
		return value_byte(c, byte);
	case AT_VALUE_LF:
		return lf ? AT_TRAILER : AT_FAULT;
	case AT_LAST_LF:
		return lf ? AT_END : AT_FAULT;
	case AT_DATA:
	case AT_END:
	case AT_FAULT:
		break;
	}
	return AT_FAULT;
}

static size_t
take_data(struct chunk *c, const char *bytes, size_t size, struct buf *plain)
{
	if (size > c->left)
		size = (size_t)c->left;
	if (plain != NULL)
		buf_add(plain, bytes, size);
	c->left -= size;
	c->content += size;
	if (c->left == 0)
		c->state = AT_DATA_CR;
	return size;
}

long
chunk_plain(struct chunk *c, const char *bytes, size_t size, struct buf *plain,
    bool *ret_done)
{
	size_t at = 0;

	while (at < size && c->state != AT_END && c->state != AT_FAULT)
		if (c->state == AT_DATA)
			at += take_data(c, bytes + at, size - at, plain);
		else
			c->state = (int)take_byte(c, bytes[at++]);
	*ret_done = c->state == AT_END;
	return c->state == AT_FAULT ? -1 : (long)at;
}

long
chunk_feed(struct chunk *c, const char *bytes, size_t size, bool *ret_done)
{
	return chunk_plain(c, bytes, size, NULL, ret_done);
}
