/* Whole files, parts of them, archives: down and up. */
#include "api/files_body.h"
#include "http/range.h"
#include "lib/clock.h"

#include <inttypes.h>
#include <stdio.h>

#define CHUNK (64 * 1024)
#define PIECE (1024 * 1024) /* of a file, until the run is looked at */
#define LOOK_MS 1000	    /* whether an upload that stopped is still wanted */
#define NS_PER_SEC 1000000000

void
files_etag(const struct wire_stat *st, char to[FILES_ETAG_SIZE])
{
	(void)snprintf(to, FILES_ETAG_SIZE, "\"%" PRIx64 "-%" PRIx64 "\"",
	    st->tag, st->size);
}

/* -- down ---------------------------------------------------------------- */

/* Which version of the file the answer is about. */
struct version {
	char etag[FILES_ETAG_SIZE], date[RANGE_DATE_SIZE];
	int64_t modified_sec;
	uint64_t size;
};

static struct version
version(const struct wire_stat *st)
{
	struct version v = {.size = st->size};

	/* Rounded down, also before 1970. */
	v.modified_sec =
	    st->mtime_ns / NS_PER_SEC - (st->mtime_ns % NS_PER_SEC < 0);
	files_etag(st, v.etag);
	range_date(v.modified_sec, v.date);
	return v;
}

static void
add_headers(struct exchange *x, const struct version *v)
{
	exchange_header(x, "ETag", v->etag);
	exchange_header(x, "Last-Modified", v->date);
	exchange_header(x, "Accept-Ranges", "bytes");
}

/* RFC 9110, 13.2.2. */
static bool
not_modified(const struct exchange *x, const struct version *v)
{
	if (*x->if_none_match != '\0')
		return range_none_match(x->if_none_match, v->etag);
	return range_not_modified(x->if_modified_since, v->modified_sec);
}

/* What comes of the run, as it comes, to its end. */
static int
pour(struct call *c, struct files *f, uint64_t *ret_bytes, struct err *e)
{
	uint64_t before = c->x->bytes;
	const char *bytes;
	size_t size;
	int more;

	while ((more = files_next(f, &bytes, &size, e)) > 0)
		if (exchange_write(c->x, bytes, size, e) != 0)
			return -1;
	/* The client is not to take what it has for all of it. */
	if (more < 0) {
		exchange_cut(c->x);
		return -1;
	}
	*ret_bytes = c->x->bytes - before;
	return 0;
}

/* The same out of the file itself. */
static int
pour_file(struct call *c, struct files *f, int fd, uint64_t offset,
    uint64_t size, struct err *e)
{
	int rc = 0;

	while (size > 0 && rc == 0) {
		uint64_t piece = size < PIECE ? size : PIECE;

		rc = files_check(f, e);
		if (rc == 0)
			rc = exchange_write_file(c->x, fd, offset, piece, e);
		offset += piece;
		size -= piece;
	}
	if (rc != 0)
		exchange_cut(c->x);
	return rc;
}

static int
pour_asked(struct call *c, struct files *f, uint64_t size, struct err *e)
{
	uint64_t sent;

	if (pour(c, f, &sent, e) != 0)
		return -1;
	if (sent == size)
		return 0;
	exchange_cut(c->x);
	return err_set(
	    e, ERR_GUEST, "the file became shorter while it was read");
}

/* Those bytes, once there is nothing more to say of them. */
static int
send_bytes(struct call *c, struct files *f, int status, uint64_t offset,
    uint64_t size, struct err *e)
{
	bool bare = size == 0 || c->x->head;
	int fd = files_opened(f);

	if (!bare && fd < 0 && files_read(f, offset, size, e) != 0)
		return -1;
	if (exchange_begin(c->x, status, "application/octet-stream", size, e) !=
	    0)
		return -1;
	if (bare)
		return 0;
	return fd >= 0 ? pour_file(c, f, fd, offset, size, e)
		       : pour_asked(c, f, size, e);
}

static int
send_part(struct call *c, struct files *f, const struct version *v,
    uint64_t offset, uint64_t size, struct err *e)
{
	char range[80];

	(void)snprintf(range, sizeof(range),
	    "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, offset, offset + size - 1,
	    v->size);
	exchange_header(c->x, "Content-Range", range);
	add_headers(c->x, v);
	return send_bytes(c, f, 206, offset, size, e);
}

static int
send_whole(
    struct call *c, struct files *f, const struct version *v, struct err *e)
{
	add_headers(c->x, v);
	return send_bytes(c, f, 200, 0, v->size, e);
}

static int
refuse_range(struct call *c, const struct version *v, struct err *e)
{
	char range[40];

	(void)snprintf(range, sizeof(range), "bytes */%" PRIu64, v->size);
	exchange_header(c->x, "Content-Range", range);
	return err_set(e, ERR_RANGE,
	    "The file has %" PRIu64 " bytes: none of them are in %.100s.",
	    v->size, c->x->range);
}

int
files_send_content(struct call *c, struct files *f, struct err *e)
{
	const struct exchange *x = c->x;
	enum range range = RANGE_WHOLE;
	uint64_t offset, size;
	struct wire_stat st;

	if (files_stat(f, &st, e) < 0)
		return -1;
	const struct version v = version(&st);
	if (not_modified(x, &v)) {
		add_headers(c->x, &v);
		return exchange_reply(c->x, 304, NULL, NULL, 0, e);
	}
	/* Of a HEAD there are no parts: RFC 9110, 14.2. */
	if (!x->head && range_if(x->if_range, v.etag))
		range = range_parse(x->range, v.size, &offset, &size);
	if (range == RANGE_BEYOND)
		return refuse_range(c, &v, e);
	if (range == RANGE_PART)
		return send_part(c, f, &v, offset, size, e);
	return send_whole(c, f, &v, e);
}

int
files_send_archive(struct call *c, struct files *f, struct err *e)
{
	uint64_t sent;

	if (exchange_stream(c->x, "application/x-tar", e) != 0)
		return -1;
	return c->x->head ? 0 : pour(c, f, &sent, e);
}

/* -- up ------------------------------------------------------------------ */

uint64_t
files_body_max(const struct call *c)
{
	return (uint64_t)c->ctx.config->max_upload_mb << 20;
}

static int
too_large(const struct call *c, struct err *e)
{
	return err_set(e, ERR_TOO_LARGE,
	    "The body is larger than %lld MiB, the most that this box takes "
	    "(SBX_MAX_UPLOAD_MB).",
	    (long long)c->ctx.config->max_upload_mb);
}

int
files_body_check(const struct call *c, struct err *e)
{
	int64_t size = c->x->content_length;

	return size > 0 && (uint64_t)size > files_body_max(c) ? too_large(c, e)
							      : 0;
}

/* As exchange_read. A client that has stopped sending learns at once that its
 * upload is over, and the run is not kept busy by it. */
static int64_t
read_more(struct call *c, struct files *f, char *to, size_t size, struct err *e)
{
	int64_t until =
	    clock_mono_ms() + c->ctx.config->client_stall_sec * 1000;

	while (!exchange_await(c->x, files_fd(f), LOOK_MS)) {
		if (files_check(f, e) != 0)
			return -1;
		if (inflight_lost(c->slot))
			return err_set(e, ERR_LEASE_SUPERSEDED,
			    "The run was given to somebody else meanwhile: "
			    "this upload is superseded.");
		if (clock_left(until) == 0)
			break;
	}
	return exchange_read(c->x, to, size, 1, e);
}

int
files_take(struct call *c, struct files *f, struct err *e)
{
	uint64_t left = files_body_max(c);
	char chunk[CHUNK];
	int64_t n;

	while ((n = read_more(c, f, chunk, sizeof(chunk), e)) > 0) {
		if ((uint64_t)n > left)
			return too_large(c, e);
		left -= (uint64_t)n;
		if (files_send(f, chunk, (size_t)n, e) != 0)
			return -1;
	}
	return n == 0 ? files_end(f, e) : -1;
}
