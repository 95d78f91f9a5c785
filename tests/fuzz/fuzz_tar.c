/*
 * lib/tar: the same events however an archive is cut, and what is written is
 * read as it was. The first byte chooses the size of the pieces; an odd one has
 * the checksums of headers mended first, or few mutations would get past them.
 */
#include "check.h"
#include "lib/mem.h"
#include "lib/tar.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_same_entry(const struct tar_entry *a, const struct tar_entry *b)
{
	check(a->type == b->type && strcmp(a->name, b->name) == 0);
	check(strcmp(a->link, b->link) == 0);
	check(a->mode == b->mode && a->size == b->size);
	check(a->mtime_ns == b->mtime_ns);
	check(a->uid == b->uid && a->gid == b->gid);
}

/* An entry, written, is read again as it was. */
static void
check_round_trip(const struct tar_entry *x)
{
	BUF_AUTO out = BUF_INIT(TAR_PUT_MAX);
	struct tar_reader r;
	struct tar_entry again;
	struct err e = ERR_INIT;
	const char *content;
	size_t used, content_size;

	tar_put(&out, x);
	check(!out.over && out.size % TAR_BLOCK == 0);
	tar_reader_init(&r);
	check(tar_next(&r, out.data, out.size, &used, &again, &content,
		  &content_size, &e) == TAR_HEADER);
	check(used == out.size);
	check_same_entry(x, &again);
	check(tar_reader_idle(&r) == (x->size == 0));
	tar_reader_release(&r);
}

static void
log_entry(struct buf *log, const struct tar_entry *x)
{
	check(x->name[0] != '\0' && strlen(x->name) <= TAR_PATH_MAX);
	check(strlen(x->link) <= TAR_PATH_MAX && x->mode <= 07777);
	check(x->size <= INT64_MAX && (x->size == 0 || x->type == TAR_FILE));
	buf_addf(log, "%d %s %s %o %llu %lld %u %u\n", (int)x->type, x->name,
	    x->link, x->mode, (unsigned long long)x->size,
	    (long long)x->mtime_ns, x->uid, x->gid);
}

/* Everything that came out. Returns the last event. */
static int
take_apart(
    struct tar_reader *r, const char *bytes, size_t size, struct buf *log)
{
	struct tar_entry x;
	struct err e = ERR_INIT;
	const char *content;
	size_t used, content_size;
	int event = TAR_MORE;

	while (size > 0 && event >= 0) {
		event = tar_next(
		    r, bytes, size, &used, &x, &content, &content_size, &e);
		if (event < 0) {
			check(e.kind == ERR_INPUT);
			buf_addf(log, "%s\n", e.text);
			break;
		}
		check(used > 0 && used <= size);
		check((event != TAR_MORE && event != TAR_END) || used == size);
		if (event == TAR_HEADER) {
			log_entry(log, &x);
			if (x.type != TAR_OTHER)
				check_round_trip(&x);
		} else if (event == TAR_CONTENT) {
			check(content >= bytes && content_size > 0 &&
			      content + content_size <= bytes + used);
			buf_add(log, content, content_size);
		}
		bytes += used;
		size -= used;
	}
	return event;
}

static void
mend_sums(uint8_t *bytes, size_t size)
{
	for (; size >= TAR_BLOCK; bytes += TAR_BLOCK, size -= TAR_BLOCK) {
		unsigned sum = 8 * ' ';
		char text[8] = "";

		if (memcmp(bytes + 257, "ustar", 5) != 0)
			continue;
		for (size_t i = 0; i < TAR_BLOCK; i++)
			sum += i - 148 < 8 ? 0 : bytes[i];
		(void)snprintf(text, sizeof(text), "%06o", sum);
		memcpy(bytes + 148, text, sizeof(text));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	size_t step = 1 + 5 * (size_t)data[0];
	uint8_t *mended = mem_alloc(--size);
	const char *bytes = (const char *)mended;
	struct tar_reader whole, parts;
	BUF_AUTO one = BUF_INIT(1 << 20);
	BUF_AUTO two = BUF_INIT(1 << 20);
	int rc_one, rc_two = TAR_MORE;

	memcpy(mended, data + 1, size);
	if (data[0] & 1)
		mend_sums(mended, size);
	tar_reader_init(&whole);
	tar_reader_init(&parts);
	rc_one = take_apart(&whole, bytes, size, &one);
	for (size_t at = 0; at < size && rc_two >= 0; at += step)
		rc_two = take_apart(&parts, bytes + at,
		    size - at < step ? size - at : step, &two);
	check(!one.over && !two.over && one.size == two.size);
	check(memcmp(one.data, two.data, one.size) == 0);
	check((rc_one < 0) == (rc_two < 0));
	check((rc_one == TAR_END) == (rc_two == TAR_END));
	check(rc_one < 0 || tar_reader_idle(&whole) == tar_reader_idle(&parts));
	tar_reader_release(&whole);
	tar_reader_release(&parts);
	free(mended);
	return 0;
}
