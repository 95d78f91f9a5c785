/* Files of a run that has ended. */
#include "run/archive.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "run/archive_find.h"
#include "run/archive_spool.h"

#include <stdlib.h>
#include <string.h>

/* One part of what is read: somebody else's reading is waited for, and whatever
 * was had before is read again. */
#define PART_MS 600000
#define IDLE_MS 60000
#define FRAMES_MAX (512u * 1024)
#define PACKED_MAX (TAR_PUT_MAX + 2 * TAR_BLOCK)

struct archive {
	struct archive_of of;
	char *path; /* of the request */
	int idle_ms;
	struct archive_file file;
	bool told;		   /* a GET's or STAT's stat */
	struct spool *spool;	   /* content, an archive, or a list's frames */
	uint64_t wanted;	   /* GET: where it ends */
	struct buf frames;	   /* a list's, received */
	size_t frames_used;	   /* of them */
	struct archive_file entry; /* of a list, looked at by itself */
};

/* -- what is told of a file ------------------------------------------------ */

/* FNV-1a. The engine does not tell which inode it is: but nothing changes any
 * more. */
static uint64_t
tag_of(const struct wire_stat *x)
{
	const uint64_t parts[] = {x->size, (uint64_t)x->mtime_ns};
	uint64_t tag = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (int shift = 0; shift < 64; shift += 8)
			tag = (tag ^ (parts[i] >> shift & 0xff)) *
			      UINT64_C(1099511628211);
	for (const char *c = x->name; *c != '\0'; c++)
		tag = (tag ^ (unsigned char)*c) * UINT64_C(1099511628211);
	return tag;
}

static void
describe(const struct archive_file *f, const char *name, struct wire_stat *ret)
{
	static const enum wire_file_type types[] = {
	    [CONTAINER_FILE] = WIRE_TYPE_FILE,
	    [CONTAINER_DIRECTORY] = WIRE_TYPE_DIRECTORY,
	    [CONTAINER_SYMLINK] = WIRE_TYPE_SYMLINK,
	    [CONTAINER_FIFO] = WIRE_TYPE_FIFO,
	    [CONTAINER_SOCKET] = WIRE_TYPE_SOCKET,
	    [CONTAINER_DEVICE] = WIRE_TYPE_DEVICE,
	};

	*ret = (struct wire_stat){.type = types[f->stat.type],
	    .mode = f->stat.mode,
	    .size = f->stat.type == CONTAINER_FILE ? f->stat.size : 0,
	    .mtime_ns = f->stat.mtime_ns,
	    .name = name,
	    .target = f->target.data};
	ret->tag = tag_of(ret);
}

static const char *
last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* -- making what is read --------------------------------------------------- */

struct making {
	struct archive *a;
	struct spool *to;
	bool begun;	  /* the first entry came: the path itself */
	uint64_t content; /* of the entry before, to be padded */
};

static int
no_sense(struct err *e)
{
	return err_set(
	    e, ERR_ENGINE, "Docker's archive is not of what it was asked for");
}

static int
make_content(struct making *m, int event, const struct tar_entry *entry,
    const char *bytes, size_t size, struct err *e)
{
	if (event == TAR_CONTENT)
		return spool_put(m->to, bytes, size, e);
	if (event == TAR_HEADER && (m->begun || entry->type != TAR_FILE ||
				       entry->size != m->a->file.stat.size))
		return no_sense(e);
	m->begun = true;
	return 0;
}

static int
make_packed(struct making *m, int event, const struct tar_entry *entry,
    const char *bytes, size_t size, struct err *e)
{
	BUF_AUTO out = BUF_INIT(PACKED_MAX);
	struct tar_entry packed = *entry;

	if (event == TAR_CONTENT)
		return spool_put(m->to, bytes, size, e);
	tar_put_padding(&out, m->content);
	m->content = 0;
	if (event == TAR_END) {
		tar_put_end(&out);
	} else {
		/* A file has the name by which it was asked for. */
		if (m->a->file.stat.type == CONTAINER_FILE)
			packed.name = last_name(m->a->path);
		if (packed.name[0] != '\0' && packed.type != TAR_OTHER)
			tar_put(&out, &packed);
		m->content = entry->size;
	}
	return spool_put(m->to, out.data, out.size, e);
}

/* A frame for each entry one level below. Of a hard link, and of what is
 * neither file nor link nor directory, the archive tells too little: the tag
 * says that it must be looked at. */
static int
make_list(struct making *m, int event, const struct tar_entry *entry,
    const char *bytes, size_t size, struct err *e)
{
	static const enum wire_file_type types[] = {
	    [TAR_FILE] = WIRE_TYPE_FILE,
	    [TAR_HARDLINK] = WIRE_TYPE_FILE,
	    [TAR_SYMLINK] = WIRE_TYPE_SYMLINK,
	    [TAR_DIRECTORY] = WIRE_TYPE_DIRECTORY,
	    [TAR_OTHER] = WIRE_TYPE_DEVICE,
	};
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + 64 + TAR_PATH_MAX * 2);

	(void)bytes;
	(void)size;
	if (event != TAR_HEADER)
		return 0;
	if (entry->name[0] == '\0' || strchr(entry->name, '/') != NULL)
		return 0;
	bool link = entry->type == TAR_SYMLINK;
	bool vague = entry->type == TAR_HARDLINK || entry->type == TAR_OTHER;
	const struct wire_stat x = {.type = types[entry->type],
	    .mode = entry->mode,
	    .size = entry->size,
	    .mtime_ns = entry->mtime_ns,
	    .tag = vague,
	    .name = entry->name,
	    .target = link ? entry->link : ""};
	wire_put_stat(&frame, &x);
	return spool_put(m->to, frame.data, frame.size, e);
}

static int
gone(struct err *e)
{
	return err_set(e, ERR_RUN_ABSENT, "The run is gone, and its files.");
}

/* One reading of the path's archive, into the spool. */
static int
make(void *arg, struct spool *to, struct err *e)
{
	static int (*const parts[])(struct making * m, int event,
	    const struct tar_entry *entry, const char *bytes, size_t size,
	    struct err *e) = {
	    [WIRE_FILE_GET] = make_content,
	    [WIRE_FILE_LIST] = make_list,
	    [WIRE_FILE_PACK] = make_packed,
	};
	struct archive *a = arg;
	struct making m = {.a = a, .to = to};
	const struct container_wait wait =
	    archive_wait(&a->of, PART_MS, a->idle_ms);
	struct container_archive *from = container_archive_open(
	    a->of.ctx->engine, a->of.container, a->file.path.data, &wait, e);
	struct tar_entry entry = {0};
	const char *bytes = "";
	size_t size = 0;
	int event, rc = 0;

	if (from == NULL && e->kind == ERR_ABSENT)
		return gone(e);
	if (from == NULL)
		return -1;
	do {
		event = container_archive_next(from, &entry, &bytes, &size, e);
		rc = event < 0 ? -1
			       : parts[a->of.request.what](
				     &m, event, &entry, bytes, size, e);
	} while (rc == 0 && event != TAR_END);
	container_archive_free(from);
	return rc;
}

/* -- the operations -------------------------------------------------------- */

/* What it is may be read that way. */
static int
judge(const struct archive *a, struct err *e)
{
	enum wire_file_what what = a->of.request.what;
	enum container_file type = a->file.stat.type;
	enum wire_fail why = WIRE_FAIL_NOT_FILE;

	if (what == WIRE_FILE_STAT)
		return 0;
	if (type == CONTAINER_DIRECTORY && what != WIRE_FILE_GET)
		return 0;
	if (type == CONTAINER_FILE && what != WIRE_FILE_LIST)
		return 0;
	if (what == WIRE_FILE_LIST)
		why = WIRE_FAIL_FILE;
	else if (type == CONTAINER_DIRECTORY)
		why = WIRE_FAIL_DIRECTORY;
	return archive_refused(&a->of, why, e);
}

static void
begin(struct archive *a, uint64_t offset, uint64_t size)
{
	a->spool =
	    spool_new(a->of.ctx->config->state_dir, make, a, offset, size);
}

/* Returns rc: who gave way to the end of the run says that. */
static int
told(const struct archive *a, int rc, struct err *e)
{
	if (rc < 0 && e->kind == ERR_GONE_AWAY && a->of.destroyed)
		return gone(e);
	return rc;
}

struct archive *
archive_open(const struct run_ctx *ctx, const struct run *run,
    enum wire_file_what what, const char *path,
    const struct guest_patience *patience, struct err *e)
{
	struct archive *a = mem_zalloc(sizeof(*a));

	a->path = mem_strdup(path);
	a->of.ctx = ctx;
	memcpy(a->of.run, run->id, sizeof(a->of.run));
	run_name(run->id, a->of.container);
	a->of.request = (struct wire_file){.what = what,
	    .user = "",
	    .root = FILES_ROOT,
	    .path = a->path,
	    .to = ""};
	a->of.other_fd = patience->other_fd;
	a->idle_ms =
	    patience->timeout_ms < IDLE_MS ? patience->timeout_ms : IDLE_MS;
	a->file = a->entry = (struct archive_file)ARCHIVE_FILE_INIT;
	a->frames = (struct buf)BUF_INIT(FRAMES_MAX);
	if (archive_find(&a->of, what != WIRE_FILE_STAT, &a->file, e) != 0 ||
	    judge(a, e) != 0) {
		(void)told(a, -1, e);
		archive_free(a);
		return NULL;
	}
	if (what == WIRE_FILE_LIST || what == WIRE_FILE_PACK)
		begin(a, 0, UINT64_MAX);
	return a;
}

void
archive_free(struct archive *a)
{
	if (a == NULL)
		return;
	spool_free(a->spool);
	archive_file_release(&a->file);
	archive_file_release(&a->entry);
	buf_release(&a->frames);
	free(a->path);
	free(a);
}

/* The next frame of a list: 1, or 0 after the last one. */
static int
next_frame(struct archive *a, struct wire_stat *ret_x, struct err *e)
{
	const char *bytes, *payload;
	enum wire_type type;
	size_t size, used;
	int rc;

	while ((rc = wire_next(a->frames.data + a->frames_used,
		    a->frames.size - a->frames_used, &type, &payload, &size,
		    &used, e)) == 0) {
		rc = spool_next(a->spool, &bytes, &size, e);
		if (rc <= 0)
			return rc;
		buf_drop(&a->frames, a->frames_used);
		a->frames_used = 0;
		buf_add(&a->frames, bytes, size);
	}
	if (rc < 0)
		return -1;
	a->frames_used += used;
	return wire_get_stat(payload, size, ret_x, e) == 0 ? 1 : -1;
}

static int
next_entry(struct archive *a, struct wire_stat *ret_stat, struct err *e)
{
	int rc = next_frame(a, ret_stat, e);

	if (rc <= 0)
		return rc;
	if (ret_stat->tag == 0) {
		ret_stat->tag = tag_of(ret_stat);
		return 1;
	}
	/* No archive is open now: the engine answers. */
	buf_reset(&a->entry.path);
	buf_addf(&a->entry.path, "%s/%s", a->file.path.data, ret_stat->name);
	if (archive_look(&a->of, &a->entry, e) != 0)
		return -1;
	describe(&a->entry, ret_stat->name, ret_stat);
	return 1;
}

int
archive_stat(struct archive *a, struct wire_stat *ret_stat, struct err *e)
{
	if (a->of.request.what == WIRE_FILE_LIST)
		return told(a, next_entry(a, ret_stat, e), e);
	if (a->told)
		return 0;
	a->told = true;
	describe(&a->file, last_name(a->path), ret_stat);
	return 1;
}

int
archive_read(struct archive *a, uint64_t offset, uint64_t size, struct err *e)
{
	uint64_t there =
	    a->file.stat.size > offset ? a->file.stat.size - offset : 0;

	(void)e;
	a->wanted = offset + (size < there ? size : there);
	begin(a, offset, a->wanted - offset);
	return 0;
}

int
archive_next(
    struct archive *a, const char **ret_bytes, size_t *ret_size, struct err *e)
{
	int rc = spool_next(a->spool, ret_bytes, ret_size, e);

	/* The size is told. */
	if (rc == 0 && spool_at(a->spool) < a->wanted)
		return no_sense(e);
	return told(a, rc, e);
}
