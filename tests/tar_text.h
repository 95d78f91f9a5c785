/*
 * What an archive says, as text: a line for each entry, its content behind it,
 * and how it ends.
 */
#ifndef SBX_TESTS_TAR_TEXT_H
#define SBX_TESTS_TAR_TEXT_H

#include "check.h"
#include "lib/tar.h"

#include <string.h>

#define ARCHIVE_MAX (1u << 20)

static inline void
tar_text_entry(struct buf *to, const struct tar_entry *x)
{
	static const char types[] = "?fhldo";

	buf_addf(to, "%c %s%s%s %o %llu %lld %u:%u\n", types[x->type], x->name,
	    x->link[0] != '\0' ? ">" : "", x->link, x->mode,
	    (unsigned long long)x->size, (long long)x->mtime_ns, x->uid,
	    x->gid);
}

/* Events of a piece, after the one before. Returns the last. */
static inline int
tar_text_feed(struct tar_reader *r, int event, const char *bytes, size_t size,
    struct buf *to)
{
	while (size > 0 && event >= 0) {
		struct err e = ERR_INIT;
		struct tar_entry x;
		const char *content;
		size_t used, n;

		event = tar_next(r, bytes, size, &used, &x, &content, &n, &e);
		if (event == TAR_HEADER)
			tar_text_entry(to, &x);
		else if (event == TAR_CONTENT)
			buf_add(to, content, n);
		if (event < 0) {
			buf_addf(to, "ERR %s", e.text);
			break;
		}
		bytes += used;
		size -= used;
	}
	return event;
}

/* All of it in pieces cut at those places, and how it ends. */
static inline void
tar_text_cut(
    const struct buf *archive, size_t first, size_t second, struct buf *to)
{
	struct tar_reader r;
	const char *bytes = archive->data;

	buf_reset(to);
	tar_reader_init(&r);
	int event = tar_text_feed(&r, TAR_MORE, bytes, first, to);
	event = tar_text_feed(&r, event, bytes + first, second - first, to);
	event = tar_text_feed(
	    &r, event, bytes + second, archive->size - second, to);
	if (event >= 0)
		buf_adds(to, event == TAR_END	   ? "end"
			     : tar_reader_idle(&r) ? "idle"
						   : "cut");
	tar_reader_release(&r);
}

static inline void
tar_says(const struct buf *archive, const char *expected)
{
	BUF_AUTO text = BUF_INIT(ARCHIVE_MAX);

	tar_text_cut(archive, archive->size, archive->size, &text);
	assert_string_equal(text.data, expected);
}

#endif
