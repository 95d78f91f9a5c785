/* Bytes kept in a file without a name. */
#include "run/archive_spool.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PART_FIRST ((uint64_t)64 << 20)
#define PART_MAX ((uint64_t)1 << 30)
#define PART_GROWTH 4
#define CHUNK (256u * 1024) /* given out at a time */

struct spool {
	const char *dir;
	spool_fill fill;
	void *arg;
	int fd;		    /* -1 before the first part */
	uint64_t at, end;   /* of what fill makes: from here, to there */
	uint64_t part;	    /* bytes to keep */
	uint64_t kept, had; /* bytes in the file; and given out of it */
	uint64_t drop;	    /* of what is being made: not wanted */
	bool whole;	    /* nothing comes after what is kept */
	char *chunk;
};

struct spool *
spool_new(
    const char *dir, spool_fill fill, void *arg, uint64_t offset, uint64_t size)
{
	struct spool *s = mem_zalloc(sizeof(*s));

	s->dir = dir;
	s->fill = fill;
	s->arg = arg;
	s->fd = -1;
	s->at = offset;
	s->end = size < UINT64_MAX - offset ? offset + size : UINT64_MAX;
	s->part = PART_FIRST;
	s->chunk = mem_alloc(CHUNK);
	return s;
}

void
spool_free(struct spool *s)
{
	if (s == NULL)
		return;
	fd_close(&s->fd);
	free(s->chunk);
	free(s);
}

uint64_t
spool_at(const struct spool *s)
{
	return s->at;
}

static int
open_nameless(const char *dir)
{
	char path[4096];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	/* The file system, or its kernel, cannot do that. */
	int n = snprintf(path, sizeof(path), "%s/.spool-XXXXXX", dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

int
spool_put(struct spool *s, const char *bytes, size_t size, struct err *e)
{
	size_t from = s->drop < size ? (size_t)s->drop : size;

	s->drop -= from;
	while (from < size && s->kept < s->part) {
		uint64_t room = s->part - s->kept;
		size_t some = size - from < room ? size - from : (size_t)room;
		ssize_t n = pwrite(s->fd, bytes + from, some, (off_t)s->kept);

		if (n < 0 && errno == EINTR)
			continue;
		/* A full disk makes for a smaller part. */
		if (n <= 0 && s->kept > 0)
			return 1;
		if (n <= 0)
			return err_sys(
			    e, ERR_INTERNAL, "cannot keep bytes in STATE_DIR");
		s->kept += (uint64_t)n;
		from += (size_t)n;
	}
	return s->kept == s->part ? 1 : 0;
}

static int
next_part(struct spool *s, struct err *e)
{
	uint64_t left = s->end - s->at;
	uint64_t planned = s->part;

	if (s->fd < 0 && (s->fd = open_nameless(s->dir)) < 0)
		return err_sys(
		    e, ERR_INTERNAL, "cannot keep bytes in STATE_DIR");
	if (ftruncate(s->fd, 0) != 0)
		return err_sys(
		    e, ERR_INTERNAL, "cannot keep bytes in STATE_DIR");
	s->kept = s->had = 0;
	s->drop = s->at;
	s->part = left < s->part ? left : s->part;
	int rc = s->fill(s->arg, s, e);
	if (rc < 0)
		return -1;
	s->whole = rc == 0 || s->kept == left;
	s->part = planned < PART_MAX ? planned * PART_GROWTH : PART_MAX;
	return 0;
}

int
spool_next(
    struct spool *s, const char **ret_bytes, size_t *ret_size, struct err *e)
{
	ssize_t n;

	if (s->had == s->kept) {
		if (s->whole || s->at == s->end)
			return 0;
		if (next_part(s, e) != 0)
			return -1;
		if (s->kept == 0)
			return 0;
	}
	uint64_t left = s->kept - s->had;
	do
		n = pread(s->fd, s->chunk, left < CHUNK ? (size_t)left : CHUNK,
		    (off_t)s->had);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return err_sys(
		    e, ERR_INTERNAL, "cannot read back from STATE_DIR");
	s->had += (uint64_t)n;
	s->at += (uint64_t)n;
	*ret_bytes = s->chunk;
	*ret_size = (size_t)n;
	return 1;
}
