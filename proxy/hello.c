/* TLS hellos. */
#include "hello.h"

#include <string.h>

#define RECORD_HEAD 5
#define RECORD_MOST 16384u /* RFC 8446 5.1 */
#define RECORD_CIPHERS 20
#define RECORD_ALERT 21
#define RECORD_HANDSHAKE 22
#define RECORD_DATA 23
#define MESSAGE_HEAD 4
#define CLIENT_HELLO 1
#define SERVER_HELLO 2
#define EXTENSION_SERVER_NAME 0
#define NAME_HOST 0

/* -- records --------------------------------------------------------------- */

struct message {
	uint8_t bytes[HELLO_MAX];
	size_t size;
	size_t promised; /* with what is still to come of its last record */
};

static size_t
part_size(const uint8_t *record)
{
	return (size_t)record[3] << 8 | record[4];
}

static size_t
message_size(const struct message *m)
{
	return MESSAGE_HEAD + ((size_t)m->bytes[1] << 16 |
				  (size_t)m->bytes[2] << 8 | m->bytes[3]);
}

/* What can be said of a handshake message before it is whole; HELLO_MORE where
 * nothing yet, HELLO_NO_NAME where it is whole. Nothing shares a record with
 * it: what would be said before it is answered could be another hello. */
static enum hello
look_at_message(const struct message *m)
{
	if (m->size >= 1 && m->bytes[0] != CLIENT_HELLO)
		return HELLO_BAD;
	if (m->size < MESSAGE_HEAD)
		return HELLO_MORE;
	if (message_size(m) > HELLO_MAX - RECORD_HEAD ||
	    m->promised > message_size(m))
		return HELLO_BAD;
	return m->size < message_size(m) ? HELLO_MORE : HELLO_NO_NAME;
}

/* A message may be cut into records anywhere (RFC 8446 5.1). */
static enum hello
collect(const uint8_t *from, size_t size, struct message *m, size_t *ret_used)
{
	const uint8_t *at = from, *end = from + size;
	enum hello said = HELLO_MORE;

	m->size = m->promised = 0;
	while (at < end && said == HELLO_MORE) {
		size_t left = (size_t)(end - at);

		if (at[0] != RECORD_HANDSHAKE || (left > 1 && at[1] != 3))
			return m->size == 0 ? HELLO_NOT_TLS : HELLO_BAD;
		if (left < RECORD_HEAD)
			return HELLO_MORE;
		size_t part = part_size(at);
		if (part == 0 || part > RECORD_MOST)
			return HELLO_BAD;
		m->promised += part;
		at += RECORD_HEAD;
		left -= RECORD_HEAD;
		if (part > left)
			part = left;
		memcpy(m->bytes + m->size, at, part);
		m->size += part;
		at += part;
		said = look_at_message(m);
	}
	*ret_used = (size_t)(at - from);
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
hello_read(const char *bytes, size_t size, char name[ALLOW_NAME_MAX + 1],
    size_t *ret_used)
{
	struct message m;
	struct part left, skipped;
	enum hello said = collect((const uint8_t *)bytes,
	    size < HELLO_MAX ? size : HELLO_MAX, &m, ret_used);

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

/* -- between two hellos ---------------------------------------------------- */

/* A ServerHello up to here, with this in place of a random, is a
 * HelloRetryRequest (RFC 8446 4.1.3). */
static const uint8_t retry_random[] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61,
    0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33,
    0x9c};

#define RETRY_SIZE (MESSAGE_HEAD + 2 + sizeof(retry_random))

/* One byte of a server's first message is as in a HelloRetryRequest. */
static bool
is_of_retry(size_t at, uint8_t byte)
{
	if (at == 0)
		return byte == SERVER_HELLO;
	return at < MESSAGE_HEAD + 2 ||
	       byte == retry_random[at - MESSAGE_HEAD - 2];
}

/* As far as it is there, the head of a record that an answer begins with: an
 * alert that only warns may come before it. */
static bool
may_begin(const uint8_t *at, size_t size)
{
	bool alert = at[0] == RECORD_ALERT;
	size_t part = size < RECORD_HEAD ? 2 : part_size(at);

	return (alert || at[0] == RECORD_HANDSHAKE) &&
	       (size < 2 || at[1] == 3) && (alert ? part == 2 : part > 0);
}

enum hello_answer
hello_answer(const char *bytes, size_t size)
{
	const uint8_t *at = (const uint8_t *)bytes, *end = at + size;
	size_t seen = 0;

	while (at < end) {
		bool alert = at[0] == RECORD_ALERT;

		if (!may_begin(at, (size_t)(end - at)))
			return HELLO_ANSWER_OTHER;
		if (end - at < RECORD_HEAD)
			break;
		size_t part = part_size(at);
		at += RECORD_HEAD;
		for (; part > 0 && at < end; part--, at++) {
			if (alert)
				continue;
			if (!is_of_retry(seen, *at))
				return HELLO_ANSWER_OTHER;
			if (++seen == RETRY_SIZE)
				return HELLO_ANSWER_RETRY;
		}
	}
	return size < HELLO_MAX ? HELLO_ANSWER_MORE : HELLO_ANSWER_OTHER;
}

size_t
hello_other(const char *bytes, size_t size)
{
	const uint8_t *at = (const uint8_t *)bytes;
	size_t whole;

	if (size < RECORD_HEAD || at[1] != 3 ||
	    (at[0] != RECORD_CIPHERS && at[0] != RECORD_ALERT &&
		at[0] != RECORD_DATA))
		return 0;
	whole = RECORD_HEAD + part_size(at);
	return whole <= HELLO_OTHER_MAX ? whole : 0;
}
