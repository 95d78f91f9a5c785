/* What the pax records of an extended header say (pax, "pax Extended Header").
 */
#include "lib/tar_pax.h"
#include "lib/str.h"

#include <string.h>

#define SECOND 1000000000

int
tar_malformed(struct err *e, const char *what)
{
	return err_set(e, ERR_INPUT, "The archive is malformed: %s.", what);
}

uint32_t
tar_to_id(int64_t value)
{
	return value < 0 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

int64_t
tar_to_ns(int64_t seconds, int64_t ns)
{
	int64_t value;

	if (__builtin_mul_overflow(seconds, SECOND, &value) ||
	    __builtin_add_overflow(value, ns, &value))
		return seconds < 0 ? INT64_MIN : INT64_MAX;
	return value;
}

/* A time of a pax record: [-]seconds[.fraction]; what is finer than a
 * nanosecond is cut off. */
static int
read_time(const char *text, int64_t *ret_ns)
{
	bool negative = *text == '-';
	int64_t seconds = 0, ns = 0, unit = SECOND / 10;

	text += negative;
	if (*text < '0' || *text > '9')
		return -1;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(seconds, 10, &seconds) ||
		    __builtin_add_overflow(seconds, *text - '0', &seconds))
			seconds = INT64_MAX;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++) {
			ns += unit * (*text - '0');
			unit /= 10;
		}
	*ret_ns = negative ? tar_to_ns(-seconds, -ns) : tar_to_ns(seconds, ns);
	return *text == '\0' ? 0 : -1;
}

int
tar_keep_text(struct tar_reader *r, unsigned what, const char *value,
    size_t size, struct err *e)
{
	struct buf *to = what == HAS_NAME ? &r->name : &r->link;

	if (size > to->max)
		return tar_malformed(e, "a path is longer than 4095 bytes");
	buf_reset(to);
	buf_add(to, value, size);
	r->has |= what;
	return 0;
}

static int
keep_number(struct tar_reader *r, unsigned what, const char *value)
{
	int64_t number = 0;

	if (what == HAS_MTIME) {
		if (read_time(value, &r->said.mtime_ns) != 0)
			return -1;
	} else if (str_to_int(value, 0, INT64_MAX, &number) != 0) {
		return -1;
	}
	if (what == HAS_SIZE)
		r->said.size = (uint64_t)number;
	else if (what == HAS_UID)
		r->said.uid = tar_to_id(number);
	else if (what == HAS_GID)
		r->said.gid = tar_to_id(number);
	r->has |= what;
	return 0;
}

static int
keep_record(struct tar_reader *r, unsigned what, const char *value, size_t size,
    struct err *e)
{
	char text[64] = "";

	if (memchr(value, '\0', size) != NULL)
		return tar_malformed(e, "a NUL in an extended header");
	if (size == 0) { /* takes back what was said */
		r->has &= ~what;
		return 0;
	}
	if (what == HAS_NAME || what == HAS_LINK)
		return tar_keep_text(r, what, value, size, e);
	if (size < sizeof(text))
		memcpy(text, value, size);
	if (keep_number(r, what, text) != 0)
		return tar_malformed(
		    e, "a number in an extended header is none");
	return 0;
}

static bool
is_key(const char *key, size_t size, const char *wanted)
{
	return size == strlen(wanted) && memcmp(key, wanted, size) == 0;
}

static int
take_record(struct tar_reader *r, const char *key, size_t key_size,
    const char *value, size_t size, struct err *e)
{
	static const struct {
		const char *key;
		unsigned what;
	} known[] = {{"path", HAS_NAME}, {"linkpath", HAS_LINK},
	    {"size", HAS_SIZE}, {"mtime", HAS_MTIME}, {"uid", HAS_UID},
	    {"gid", HAS_GID}};
	static const char holes[] = "GNU.sparse.";

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (is_key(key, key_size, known[i].key))
			return keep_record(r, known[i].what, value, size, e);
	if (key_size >= sizeof(holes) - 1 &&
	    memcmp(key, holes, sizeof(holes) - 1) == 0)
		r->has |= HAS_HOLES;
	return 0;
}

/* "LENGTH KEY=VALUE\n": the length is that of the whole, itself included. */
int
tar_take_records(struct tar_reader *r, struct err *e)
{
	const char *at = r->block.data, *end = at + r->block.size;

	while (at < end) {
		const char *key = at;
		size_t length = 0, left = (size_t)(end - at);

		while (
		    key < end && *key >= '0' && *key <= '9' && length <= left)
			length = length * 10 + (size_t)(*key++ - '0');
		if (*at == '0' || key == at || key == end || *key++ != ' ' ||
		    length > left || length < (size_t)(key - at) + 1 ||
		    at[length - 1] != '\n')
			return tar_malformed(e, "an extended header's length");

		const char *last = at + length - 1;
		const char *equals = memchr(key, '=', (size_t)(last - key));
		if (equals == NULL || equals == key)
			return tar_malformed(
			    e, "an extended header without a key");
		if (take_record(r, key, (size_t)(equals - key), equals + 1,
			(size_t)(last - equals - 1), e) != 0)
			return -1;
		at = last + 1;
	}
	return 0;
}
