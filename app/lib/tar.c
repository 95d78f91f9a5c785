/* Reading tar archives: headers and bytes. lib/tar_pax.c reads what extended
 * headers say, lib/tar_put.c writes. */
#include "lib/tar.h"
#include "lib/tar_pax.h"

#include <string.h>

enum state {
	IN_HEADER, /* or between two entries */
	IN_RECORDS,
	IN_LONG_NAME,
	IN_LONG_LINK,
	IN_SPARSE_MAP, /* blocks of it, behind a header of type 'S' */
	IN_CONTENT,
	IN_NOTHING, /* behind the end */
};

/* Where a header has what, and how long (pax, "ustar Interchange Format"). */
enum {
	NAME_AT = 0,
	NAME_SIZE = 100,
	MODE_AT = 100,
	UID_AT = 108,
	GID_AT = 116,
	ID_SIZE = 8,
	SIZE_AT = 124,
	MTIME_AT = 136,
	NUMBER_SIZE = 12,
	SUM_AT = 148,
	SUM_SIZE = 8,
	TYPE_AT = 156,
	LINK_AT = 157,
	LINK_SIZE = 100,
	MAGIC_AT = 257,
	PREFIX_AT = 345,
	PREFIX_SIZE = 155,
	/* GNU tar's sparse files: more blocks of the map follow. */
	MORE_MAP_AT = 482,
	MORE_MAP_IN_MAP_AT = 504,
};

void
tar_reader_init(struct tar_reader *r)
{
	*r = (struct tar_reader){
	    .block = BUF_INIT(TAR_RECORDS_MAX),
	    .name = BUF_INIT(TAR_PATH_MAX + 1), /* with a '/' */
	    .link = BUF_INIT(TAR_PATH_MAX),
	};
}

void
tar_reader_release(struct tar_reader *r)
{
	buf_release(&r->block);
	buf_release(&r->name);
	buf_release(&r->link);
}

bool
tar_reader_idle(const struct tar_reader *r)
{
	return r->state == IN_NOTHING ||
	       (r->state == IN_HEADER && r->skip == 0 && r->block.size == 0 &&
		   r->has == 0);
}

static uint64_t
padding(uint64_t size)
{
	return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

/* -- numbers --------------------------------------------------------------- */

/* GNU tar's and star's base-256: big-endian two's complement, the top bit of
 * which only says so. One that is out of range becomes the nearest. */
static int64_t
read_base256(const unsigned char *field, size_t size)
{
	int64_t value = (field[0] & 0x7f) - ((field[0] & 0x40) ? 128 : 0);

	for (size_t i = 1; i < size; i++) {
		if (value > INT64_MAX / 256)
			return INT64_MAX;
		if (value < INT64_MIN / 256)
			return INT64_MIN;
		value = value * 256 + field[i];
	}
	return value;
}

/* Octal digits, after blanks, ended by a blank, a NUL or the field. A field
 * that was left out is 0. */
static int
read_number(const char *field, size_t size, int64_t *ret_value)
{
	int64_t value = 0;
	size_t i = 0;

	if (field[0] & 0x80) {
		*ret_value = read_base256((const unsigned char *)field, size);
		return 0;
	}
	while (i < size && (field[i] == ' ' || field[i] == '\0'))
		i++;
	for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
		value = value * 8 + (field[i] - '0');
	if (i < size && field[i] != ' ' && field[i] != '\0')
		return -1;
	*ret_value = value;
	return 0;
}

/* -- extended headers ------------------------------------------------------ */

/* An extended header has come whole. */
static int
take_extension(struct tar_reader *r, struct err *e)
{
	const struct buf *b = &r->block;
	int rc;

	if (r->state == IN_RECORDS)
		rc = tar_take_records(r, e);
	else /* GNU tar counts the NUL that ends it */
		rc = tar_keep_text(r,
		    r->state == IN_LONG_NAME ? HAS_NAME : HAS_LINK, b->data,
		    strnlen(b->data, b->size), e);
	buf_reset(&r->block);
	r->state = IN_HEADER;
	return rc;
}

static int
begin_extension(struct tar_reader *r, int state, uint64_t size, struct err *e)
{
	if (size > TAR_RECORDS_MAX)
		return tar_malformed(
		    e, "an extended header of more than 64 KiB");
	buf_reset(&r->block);
	r->skip = padding(size);
	r->left = size;
	r->state = state;
	r->has |= HAS_HEADER;
	return size > 0 ? 0 : take_extension(r, e);
}

/* -- headers --------------------------------------------------------------- */

static bool
is_zeros(const char *block)
{
	return block[0] == '\0' && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

/* Some old writers summed signed chars. */
static bool
has_its_sum(const char *block)
{
	int64_t said, plain = 0, with_sign = 0;

	for (size_t i = 0; i < TAR_BLOCK; i++) {
		char c = i - SUM_AT < SUM_SIZE ? ' ' : block[i];

		plain += (unsigned char)c;
		with_sign += (signed char)c;
	}
	return read_number(block + SUM_AT, SUM_SIZE, &said) == 0 &&
	       (said == plain || said == with_sign);
}

static void
take_names(struct tar_reader *r, const char *block)
{
	if (!(r->has & HAS_NAME)) {
		buf_reset(&r->name);
		/* What GNU's own magic, "ustar  ", has there are times. */
		if (memcmp(block + MAGIC_AT, "ustar", 6) == 0 &&
		    block[PREFIX_AT] != '\0') {
			buf_add(&r->name, block + PREFIX_AT,
			    strnlen(block + PREFIX_AT, PREFIX_SIZE));
			buf_addc(&r->name, '/');
		}
		buf_add(&r->name, block + NAME_AT,
		    strnlen(block + NAME_AT, NAME_SIZE));
	}
	if (!(r->has & HAS_LINK)) {
		buf_reset(&r->link);
		buf_add(&r->link, block + LINK_AT,
		    strnlen(block + LINK_AT, LINK_SIZE));
	}
}

/* Before pax, a '/' at the end was what made a directory. */
static bool
take_slashes(struct buf *name)
{
	size_t size = name->size;

	while (size > 1 && name->data[size - 1] == '/')
		size--;
	bool any = size < name->size;
	name->size = size;
	name->data[size] = '\0';
	return any;
}

/* ret_content: so many bytes follow, whatever a header says of its size. */
static enum tar_type
take_type(const struct tar_reader *r, char type, bool slash, bool *ret_content)
{
	*ret_content = false;
	switch (type) {
	case '1':
		return TAR_HARDLINK;
	case '2':
		return TAR_SYMLINK;
	case '3':
	case '4':
	case '6':
		return TAR_OTHER;
	case '5':
		return TAR_DIRECTORY;
	case '\0':
	case '0':
	case '7':
		*ret_content = true;
		if (r->has & HAS_HOLES)
			return TAR_OTHER;
		return slash ? TAR_DIRECTORY : TAR_FILE;
	default:
		*ret_content = true;
		return TAR_OTHER;
	}
}

struct numbers {
	int64_t mode, uid, gid, size, mtime;
};

static int
take_numbers(const char *block, struct numbers *ret_n, struct err *e)
{
	if (read_number(block + MODE_AT, ID_SIZE, &ret_n->mode) != 0 ||
	    read_number(block + UID_AT, ID_SIZE, &ret_n->uid) != 0 ||
	    read_number(block + GID_AT, ID_SIZE, &ret_n->gid) != 0 ||
	    read_number(block + SIZE_AT, NUMBER_SIZE, &ret_n->size) != 0 ||
	    read_number(block + MTIME_AT, NUMBER_SIZE, &ret_n->mtime) != 0)
		return tar_malformed(e, "a number in a header is none");
	if (ret_n->size < 0 || ret_n->size == INT64_MAX)
		return tar_malformed(e, "a size that no file has");
	return 0;
}

static int
take_entry(struct tar_reader *r, const char *block, const struct numbers *n,
    struct tar_entry *ret_x, struct err *e)
{
	const struct tar_entry *said = &r->said;
	bool content;

	take_names(r, block);
	bool slash = take_slashes(&r->name);
	enum tar_type type = take_type(r, block[TYPE_AT], slash, &content);
	uint64_t size = r->has & HAS_SIZE ? said->size : (uint64_t)n->size;

	if (r->name.size == 0)
		return tar_malformed(e, "an entry without a name");
	if (r->name.size > TAR_PATH_MAX)
		return tar_malformed(e, "a path is longer than 4095 bytes");
	r->left = content && type == TAR_FILE ? size : 0;
	r->skip = content ? size - r->left + padding(size) : 0;
	r->state = r->left > 0 ? IN_CONTENT : IN_HEADER;
	if (block[TYPE_AT] == 'S' && block[MORE_MAP_AT] != '\0')
		r->state = IN_SPARSE_MAP;
	bool linked = type == TAR_HARDLINK || type == TAR_SYMLINK;
	*ret_x = (struct tar_entry){
	    .type = type,
	    .name = r->name.data,
	    .link = linked ? r->link.data : "",
	    .mode = (uint32_t)n->mode & 07777,
	    .size = r->left,
	    .mtime_ns =
		r->has & HAS_MTIME ? said->mtime_ns : tar_to_ns(n->mtime, 0),
	    .uid = r->has & HAS_UID ? said->uid : tar_to_id(n->uid),
	    .gid = r->has & HAS_GID ? said->gid : tar_to_id(n->gid),
	};
	r->has = 0;
	return 0;
}

/* A block has come whole. Returns an event, TAR_MORE for none. */
static int
take_block(struct tar_reader *r, struct tar_entry *ret_x, struct err *e)
{
	const char *block = r->block.data;
	struct numbers n = {0};

	if (r->state == IN_SPARSE_MAP) {
		if (block[MORE_MAP_IN_MAP_AT] == '\0')
			r->state = IN_HEADER;
		return TAR_MORE;
	}
	if (is_zeros(block)) {
		if (r->has != 0)
			return tar_malformed(e, "it ends before an entry");
		r->state = ++r->zeros == 2 ? IN_NOTHING : IN_HEADER;
		return TAR_MORE;
	}
	r->zeros = 0;
	if (!has_its_sum(block))
		return tar_malformed(e,
		    "a header's checksum is wrong (it has to "
		    "be a tar archive, not compressed)");
	if (take_numbers(block, &n, e) != 0)
		return -1;
	switch (block[TYPE_AT]) {
	case 'g': /* of all entries that follow: nothing that we need */
		if (n.size > TAR_RECORDS_MAX)
			return tar_malformed(e, "a global header over 64 KiB");
		r->skip = (uint64_t)n.size + padding((uint64_t)n.size);
		return TAR_MORE;
	case 'x':
		return begin_extension(r, IN_RECORDS, (uint64_t)n.size, e);
	case 'L':
		return begin_extension(r, IN_LONG_NAME, (uint64_t)n.size, e);
	case 'K':
		return begin_extension(r, IN_LONG_LINK, (uint64_t)n.size, e);
	default:
		return take_entry(r, block, &n, ret_x, e) == 0 ? TAR_HEADER
							       : -1;
	}
}

/* -- bytes ----------------------------------------------------------------- */

/* Take up to want of bytes into the block. True once it has all of them. */
static bool
collect(struct tar_reader *r, size_t want, const char *bytes, size_t size,
    size_t *used)
{
	size_t n = want - r->block.size;

	if (n > size - *used)
		n = size - *used;
	buf_add(&r->block, bytes + *used, n);
	*used += n;
	return r->block.size == want;
}

static void
drop(uint64_t *left, size_t size, size_t *used)
{
	size_t n = *left < size - *used ? (size_t)*left : size - *used;

	*left -= n;
	*used += n;
}

/* Go on until there is an event, or nothing more to go on with. */
static int
step(struct tar_reader *r, const char *bytes, size_t size, size_t *used,
    struct tar_entry *ret_x, struct err *e)
{
	if (r->state == IN_RECORDS || r->state == IN_LONG_NAME ||
	    r->state == IN_LONG_LINK) {
		if (!collect(r, (size_t)r->left, bytes, size, used))
			return TAR_MORE;
		return take_extension(r, e) == 0 ? TAR_MORE : -1;
	}
	if (r->state == IN_HEADER && r->skip > 0) {
		drop(&r->skip, size, used);
		return TAR_MORE;
	}
	if (!collect(r, TAR_BLOCK, bytes, size, used))
		return TAR_MORE;
	int event = take_block(r, ret_x, e);
	buf_reset(&r->block);
	return event;
}

int
tar_next(struct tar_reader *r, const char *bytes, size_t size, size_t *ret_used,
    struct tar_entry *ret_entry, const char **ret_content,
    size_t *ret_content_size, struct err *e)
{
	size_t used = 0;
	int event = TAR_MORE;

	while (event == TAR_MORE && used < size && r->state != IN_NOTHING &&
	       r->state != IN_CONTENT)
		event = step(r, bytes, size, &used, ret_entry, e);
	if (event == TAR_MORE && r->state == IN_CONTENT && used < size) {
		*ret_content = bytes + used;
		drop(&r->left, size, &used);
		*ret_content_size = (size_t)(bytes + used - *ret_content);
		r->state = r->left > 0 ? IN_CONTENT : IN_HEADER;
		event = TAR_CONTENT;
	}
	if (event == TAR_MORE && r->state == IN_NOTHING) {
		used = size;
		event = TAR_END;
	}
	if (event >= 0)
		*ret_used = used;
	return event;
}
