/* The server name in a TLS ClientHello. */
#include "hello.h"

#include <string.h>

#define RECORD_HEAD 5
#define RECORD_MOST 16384u /* RFC 8446 5.1 */
#define RECORD_HANDSHAKE 22
#define MESSAGE_HEAD 4
#define CLIENT_HELLO 1
#define EXTENSION_SERVER_NAME 0
#define NAME_HOST 0

/* -- records --------------------------------------------------------------- */

struct message {
	uint8_t bytes[HELLO_MAX];
	size_t size;
};

static size_t
message_size(const struct message *m)
{
	return MESSAGE_HEAD + ((size_t)m->bytes[1] << 16 |
				  (size_t)m->bytes[2] << 8 | m->bytes[3]);
}

/* What can be said of a handshake message before it is whole; HELLO_MORE where
 * nothing yet, HELLO_NO_NAME where it is whole. */
static enum hello
look_at_message(const struct message *m)
{
	if (m->size >= 1 && m->bytes[0] != CLIENT_HELLO)
		return HELLO_BAD;
	if (m->size < MESSAGE_HEAD)
		return HELLO_MORE;
	if (message_size(m) > HELLO_MAX - RECORD_HEAD)
		return HELLO_BAD;
	return m->size < message_size(m) ? HELLO_MORE : HELLO_NO_NAME;
}

/* A message may be cut into records anywhere (RFC 8446 5.1). */
static enum hello
collect(const uint8_t *at, size_t size, struct message *m)
{
	enum hello said = HELLO_MORE;

	m->size = 0;
	while (size > 0 && said == HELLO_MORE) {
		if (at[0] != RECORD_HANDSHAKE || (size > 1 && at[1] != 3))
			return m->size == 0 ? HELLO_NOT_TLS : HELLO_BAD;
		if (size < RECORD_HEAD)
			return HELLO_MORE;
		size_t part = (size_t)at[3] << 8 | at[4];
		if (part == 0 || part > RECORD_MOST)
			return HELLO_BAD;
		at += RECORD_HEAD;
		size -= RECORD_HEAD;
		if (part > size)
			part = size;
		memcpy(m->bytes + m->size, at, part);
		m->size += part;
		at += part;
		size -= part;
		said = look_at_message(m);
	}
	return said;
}

/* -- the message ----------------------------------------------------------- */

struct part {
	const uint8_t *at;
	size_t size;
};

/* Take that many bytes off the front; false where there are less. */
static bool
take(struct part *from, size_t size, struct part *ret)
{
	if (from->size < size)
		return false;
	*ret = (struct part){from->at, size};
	from->at += size;
	from->size -= size;
	return true;
}

/* Take a vector with a length of so many bytes before it (RFC 8446 3.4). */
static bool
take_vector(struct part *from, size_t width, struct part *ret)
{
	struct part length;
	size_t size = 0;

	if (!take(from, width, &length))
		return false;
	for (size_t i = 0; i < width; i++)
		size = size << 8 | length.at[i];
	return take(from, size, ret);
}

/* Exactly one host name: of several, readers would take different ones. */
static enum hello
read_names(struct part extension, char name[ALLOW_NAME_MAX + 1])
{
	struct part list, type, host;
	struct allow_host parsed;
	struct err e = ERR_INIT;

	if (!take_vector(&extension, 2, &list) || extension.size > 0 ||
	    !take(&list, 1, &type) || type.at[0] != NAME_HOST ||
	    !take_vector(&list, 2, &host) || list.size > 0 ||
	    host.size > ALLOW_NAME_MAX ||
	    allow_host_parse((const char *)host.at, host.size, &parsed, &e) !=
		0)
		return HELLO_BAD;
	memcpy(name, host.at, host.size);
	name[host.size] = '\0';
	return HELLO_NAME;
}

static enum hello
read_extensions(struct part left, char name[ALLOW_NAME_MAX + 1])
{
	struct part all, type, extension;
	enum hello said = HELLO_NO_NAME;

	if (left.size == 0) /* TLS 1.2 has hellos without (RFC 5246 7.4.1.2) */
		return HELLO_NO_NAME;
	if (!take_vector(&left, 2, &all) || left.size > 0)
		return HELLO_BAD;
	while (all.size > 0) {
		if (!take(&all, 2, &type) || !take_vector(&all, 2, &extension))
			return HELLO_BAD;
		if (type.at[0] != 0 || type.at[1] != EXTENSION_SERVER_NAME)
			continue;
		if (said != HELLO_NO_NAME)
			return HELLO_BAD;
		said = read_names(extension, name);
		if (said == HELLO_BAD)
			return HELLO_BAD;
	}
	return said;
}

enum hello
hello_read(const char *bytes, size_t size, char name[ALLOW_NAME_MAX + 1])
{
	struct message m;
	struct part left, skipped;
	enum hello said = collect(
	    (const uint8_t *)bytes, size < HELLO_MAX ? size : HELLO_MAX, &m);

	if (said == HELLO_MORE && size >= HELLO_MAX)
		return HELLO_BAD;
	if (said != HELLO_NO_NAME)
		return said;
	left = (struct part){
	    m.bytes + MESSAGE_HEAD, message_size(&m) - MESSAGE_HEAD};
	if (!take(&left, 2 + 32, &skipped) || /* version, random */
	    !take_vector(&left, 1, &skipped) ||
	    skipped.size > 32 || /* session */
	    !take_vector(&left, 2, &skipped) ||
	    skipped.size < 2 ||					  /* ciphers */
	    !take_vector(&left, 1, &skipped) || skipped.size < 1) /* methods */
		return HELLO_BAD;
	return read_extensions(left, name);
}
