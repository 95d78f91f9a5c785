/* Writing tar archives: ustar headers, and pax records for what does not fit
 * (pax, "ustar Interchange Format"). */
#include "lib/tar.h"

#include <stdio.h>
#include <string.h>

#define NAME_SIZE 100
#define PREFIX_SIZE 155
#define ID_MAX 07777777u
#define NUMBER_MAX 077777777777u
#define SECOND 1000000000

struct header {
	char name[NAME_SIZE], mode[8], uid[8], gid[8], size[12], mtime[12];
	char sum[8], type, link[NAME_SIZE], magic[6], version[2];
	char uname[32], gname[32], major[8], minor[8];
	char prefix[PREFIX_SIZE], rest[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK, "a header is one block");

static void
put_octal(char *to, size_t size, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%0*llo", (int)size - 1,
	    (unsigned long long)value);
	memcpy(to, text, size);
}

/* As much as there is room for: it need not end with a NUL. */
static void
put_text(char *to, size_t room, const char *text, size_t size)
{
	memcpy(to, text, size < room ? size : room);
}

static void
put_sum(struct header *h)
{
	const unsigned char *bytes = (const unsigned char *)h;
	unsigned sum = 0;

	memset(h->sum, ' ', sizeof(h->sum));
	for (size_t i = 0; i < sizeof(*h); i++)
		sum += bytes[i];
	put_octal(h->sum, sizeof(h->sum) - 1, sum);
}

static struct header
new_header(char type, uint64_t mode, uint64_t size)
{
	struct header h = {.type = type};

	memcpy(h.magic, "ustar", sizeof(h.magic));
	memcpy(h.version, "00", sizeof(h.version));
	put_octal(h.mode, sizeof(h.mode), mode);
	put_octal(h.size, sizeof(h.size), size);
	put_octal(h.uid, sizeof(h.uid), 0);
	put_octal(h.gid, sizeof(h.gid), 0);
	put_octal(h.mtime, sizeof(h.mtime), 0);
	put_octal(h.major, sizeof(h.major), 0);
	put_octal(h.minor, sizeof(h.minor), 0);
	return h;
}

/* "LENGTH KEY=VALUE\n", where the length counts its own digits. */
static void
put_record(struct buf *out, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, length = 0, digits = 1;

	for (size_t most = 10; length != rest + digits; most *= 10) {
		length = rest + digits;
		if (length >= most)
			digits++;
	}
	buf_addf(out, "%zu %s=%s\n", length, key, value);
}

/* In name, or at a '/' in prefix and name. False where it fits neither: then
 * name has its beginning, for who knows no pax. */
static bool
put_name(struct header *h, const char *name, size_t size)
{
	size_t at = size > NAME_SIZE ? size - NAME_SIZE - 1 : 0;

	if (size <= NAME_SIZE) {
		put_text(h->name, sizeof(h->name), name, size);
		return true;
	}
	while (at < size && (at == 0 || name[at] != '/'))
		at++;
	if (at > PREFIX_SIZE || at + 1 >= size) {
		put_text(h->name, sizeof(h->name), name, size);
		return false;
	}
	put_text(h->prefix, sizeof(h->prefix), name, at);
	put_text(h->name, sizeof(h->name), name + at + 1, size - at - 1);
	return true;
}

static void
put_link(struct header *h, struct buf *records, const char *link)
{
	size_t size = strlen(link);

	put_text(h->link, sizeof(h->link), link, size);
	if (size > sizeof(h->link))
		put_record(records, "linkpath", link);
}

static void
put_number(char *to, size_t size, uint64_t most, struct buf *records,
    const char *key, uint64_t value)
{
	char text[24];

	if (value <= most) {
		put_octal(to, size, value);
		return;
	}
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	put_record(records, key, text);
}

static void
put_time(struct header *h, struct buf *records, int64_t mtime_ns)
{
	bool negative = mtime_ns < 0;
	uint64_t size = negative ? -(uint64_t)mtime_ns : (uint64_t)mtime_ns;
	uint64_t seconds = size / SECOND, fraction = size % SECOND;
	char text[48];

	if (!negative && seconds <= NUMBER_MAX)
		put_octal(h->mtime, sizeof(h->mtime), seconds);
	if (!negative && seconds <= NUMBER_MAX && fraction == 0)
		return;
	(void)snprintf(text, sizeof(text),
	    fraction > 0 ? "%s%llu.%09llu" : "%s%llu", negative ? "-" : "",
	    (unsigned long long)seconds, (unsigned long long)fraction);
	put_record(records, "mtime", text);
}

static void
put_header(struct buf *out, struct header *h)
{
	put_sum(h);
	buf_add(out, h, sizeof(*h));
}

static void
put_records(struct buf *out, const struct buf *records)
{
	static const char name[] = "././@PaxHeader";
	struct header h = new_header('x', 0644, records->size);

	put_text(h.name, sizeof(h.name), name, sizeof(name) - 1);
	put_header(out, &h);
	buf_add(out, records->data, records->size);
	tar_put_padding(out, records->size);
}

void
tar_put(struct buf *out, const struct tar_entry *x)
{
	static const char types[] = {[TAR_FILE] = '0',
	    [TAR_HARDLINK] = '1',
	    [TAR_SYMLINK] = '2',
	    [TAR_DIRECTORY] = '5'};
	struct header h = new_header(types[x->type], x->mode & 07777, 0);
	BUF_AUTO records = BUF_INIT(TAR_PUT_MAX);
	char name[TAR_PATH_MAX + 2];

	(void)snprintf(name, sizeof(name), "%s%s", x->name,
	    x->type == TAR_DIRECTORY ? "/" : "");
	if (!put_name(&h, name, strlen(name)))
		put_record(&records, "path", name);
	put_link(&h, &records, x->link);
	put_number(
	    h.size, sizeof(h.size), NUMBER_MAX, &records, "size", x->size);
	put_number(h.uid, sizeof(h.uid), ID_MAX, &records, "uid", x->uid);
	put_number(h.gid, sizeof(h.gid), ID_MAX, &records, "gid", x->gid);
	put_time(&h, &records, x->mtime_ns);
	if (records.size > 0)
		put_records(out, &records);
	put_header(out, &h);
}

static void
put_zeros(struct buf *out, size_t size)
{
	static const char zeros[2 * TAR_BLOCK];

	buf_add(out, zeros, size);
}

void
tar_put_end(struct buf *out)
{
	put_zeros(out, 2 * (size_t)TAR_BLOCK);
}

void
tar_put_padding(struct buf *out, uint64_t size)
{
	put_zeros(out, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}
