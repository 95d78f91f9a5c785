/*
 * Tar archives, a header at a time: POSIX.1-2001 pax interchange (and, when
 * reading, v7, ustar and GNU tar's long names and numbers), pax(1) of POSIX,
 * tar(5). Pure.
 *
 * A writer appends headers (and pax records where a name, link, number or time
 * does not fit ustar) to a buffer; the caller puts the content and its padding
 * behind. The same entry gives the same bytes. A reader is fed bytes cut
 * anywhere and gives headers, content and the end; names are given as they
 * stand, judged by nobody here but for NUL and emptiness.
 */
#ifndef SBX_LIB_TAR_H
#define SBX_LIB_TAR_H

#include "lib/buf.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK 512u
#define TAR_PATH_MAX 4095	     /* of a name or link target, in bytes */
#define TAR_PUT_MAX 12288	     /* the most that tar_put appends */
#define TAR_RECORDS_MAX (64u * 1024) /* of one extended header, in bytes */

enum tar_type {
	TAR_FILE = 1,
	TAR_HARDLINK, /* to `link`, a name in the archive */
	TAR_SYMLINK,
	TAR_DIRECTORY,
	TAR_OTHER, /* device, fifo, sparse file, volume label: no content */
};

struct tar_entry {
	enum tar_type type;
	const char *name; /* without a trailing '/' */
	const char *link; /* of links; else "" */
	uint32_t mode;	  /* 07777 */
	uint64_t size;	  /* of a file's content, 0 else; at most INT64_MAX */
	int64_t mtime_ns; /* where that has no room for it: the nearest */
	uint32_t uid, gid;
};

/* Append the header of one entry (not of TAR_OTHER; size is 0 of all but
 * files); or the two blocks that end an archive; or the padding that follows so
 * many bytes of content. */
void tar_put(struct buf *out, const struct tar_entry *x);
void tar_put_end(struct buf *out);
void tar_put_padding(struct buf *out, uint64_t size);

enum tar_event {
	TAR_MORE,    /* bytes are needed */
	TAR_HEADER,  /* entry is filled; its strings live until its end */
	TAR_CONTENT, /* bytes, size: of the entry before */
	TAR_END,     /* the end blocks came: what follows is dropped */
};

struct tar_reader {
	struct buf block;      /* a header, or an extended one, in the making */
	struct buf name, link; /* of the entry before, or the one to come */
	uint64_t left;	       /* of content, or of the extended header */
	uint64_t skip;	       /* bytes to drop after it */
	int state, zeros;      /* tar.c's */
	unsigned has;	       /* tar.c's: which fields of said, name, link */
	struct tar_entry said; /* what extended headers override */
};

void tar_reader_init(struct tar_reader *r);
void tar_reader_release(struct tar_reader *r);

/*
 * Take bytes from the front: *ret_used of them were. Returns an event; TAR_MORE
 * where all were used. -1 with ERR_INPUT and a sentence for the caller where
 * this is no archive. An archive that ends without end blocks is whole where
 * tar_reader_idle says so.
 */
int tar_next(struct tar_reader *r, const char *bytes, size_t size,
    size_t *ret_used, struct tar_entry *ret_entry, const char **ret_content,
    size_t *ret_content_size, struct err *e);

/* Between two entries. */
bool tar_reader_idle(const struct tar_reader *r);

#endif
