/* An operation on files in a run. */
#include "guest/file.h"
#include "guest/conn.h"
#include "guest/refusal.h"
#include "lib/mem.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define GATHER (WIRE_CHUNK / 2) /* smaller pieces are sent together */

struct guest_file {
	struct conn c;
	struct guest_patience patience;
	struct wire_file request;
	struct buf gathered; /* to be sent, less than a WIRE_CHUNK */
	uint64_t left;	     /* of what a GET was asked for */
	bool asked;	     /* a GET, by WIRE_READ */
};

static enum inbound_kind
kind(enum wire_file_what what)
{
	switch (what) {
	case WIRE_FILE_GET:
		return INBOUND_GET;
	case WIRE_FILE_PUT:
	case WIRE_FILE_UNPACK:
		return INBOUND_PUT;
	case WIRE_FILE_LIST:
	case WIRE_FILE_STAT:
		return INBOUND_STATS;
	case WIRE_FILE_PACK:
		return INBOUND_PACK;
	case WIRE_FILE_MKDIR:
	case WIRE_FILE_MOVE:
	case WIRE_FILE_REMOVE:
		break;
	}
	return INBOUND_DO;
}

/* The next event that is no refusal. */
static int
next(struct guest_file *f, struct inbound_event *ev, struct err *e)
{
	if (conn_next(&f->c, &f->patience, CONN_NEVER, ev, e) != 0)
		return -1;
	if (ev->type == WIRE_FAIL)
		return refusal_of_file(
		    ev->why, &f->request, ev->bytes, ev->size, e);
	return 0;
}

static int
nonsense(struct err *e)
{
	return err_set(e, ERR_GUEST, "the run's init made no sense");
}

struct guest_file *
guest_file_open(struct engine *en, const struct guest_place *place,
    const struct wire_file *request, const struct guest_patience *patience,
    struct err *e)
{
	static const struct buf empty = BUF_INIT(WIRE_CHUNK);
	enum inbound_kind k = kind(request->what);
	struct inbound_event ev;
	struct conn c;

	if (conn_open(&c, en, place, k, e) != 0)
		return NULL;
	struct guest_file *f = mem_zalloc(sizeof(*f));
	f->c = c;
	f->patience = *patience;
	f->request = *request;
	f->gathered = empty;
	wire_put_file(&f->c.out, request);
	if (f->c.out.over)
		(void)err_set(e, ERR_INPUT, "the path is too long");
	if (f->c.out.over ||
	    ((k == INBOUND_PUT || k == INBOUND_PACK) && next(f, &ev, e) != 0)) {
		guest_file_free(f);
		return NULL;
	}
	return f;
}

void
guest_file_free(struct guest_file *f)
{
	if (f == NULL)
		return;
	conn_release(&f->c);
	buf_release(&f->gathered);
	free(f);
}

/* -- what comes ------------------------------------------------------------ */

int
guest_file_stat(struct guest_file *f, struct wire_stat *ret_stat, struct err *e)
{
	struct inbound_event ev;

	if (next(f, &ev, e) != 0)
		return -1;
	if (ev.type == WIRE_DONE)
		return 0;
	if (ev.type != WIRE_STAT) /* a GET's data, unasked */
		return nonsense(e);
	*ret_stat = ev.stat;
	return 1;
}

int
guest_file_read(
    struct guest_file *f, uint64_t offset, uint64_t size, struct err *e)
{
	const struct wire_read read = {offset, size};

	if (f->asked || f->c.in.state != INBOUND_RUNNING)
		return err_set(e, ERR_INTERNAL, "a read at the wrong time");
	wire_put_read(&f->c.out, &read);
	f->asked = true;
	f->left = size;
	return 0;
}

/* Not those that ask somebody who may not answer (FUSE, NFS), nor those whose
 * files look at who reads them (proc). */
static bool
answers(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return false;
	switch ((uint32_t)fs.f_type) {
	case OVERLAYFS_SUPER_MAGIC:
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
		return true;
	default:
		return false;
	}
}

int
guest_file_opened(const struct guest_file *f)
{
	int fd = f->c.passed;
	struct stat st;

	if (fd < 0 || f->asked || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return -1;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & (O_ACCMODE | O_PATH)) != O_RDONLY)
		return -1;
	return answers(fd) ? fd : -1;
}

int
guest_file_next(struct guest_file *f, const char **ret_bytes, size_t *ret_size,
    struct err *e)
{
	bool get = f->request.what == WIRE_FILE_GET;
	struct inbound_event ev;

	if (next(f, &ev, e) != 0)
		return -1;
	if (ev.type == WIRE_DATA_END)
		return 0;
	if (ev.type != WIRE_DATA || (get && ev.size > f->left))
		return nonsense(e);
	if (get)
		f->left -= ev.size;
	*ret_bytes = ev.bytes;
	*ret_size = ev.size;
	return 1;
}

/* -- what goes ------------------------------------------------------------- */

/* The other side spoke while this one sends: why it was refused. */
static int
interrupted(struct guest_file *f, struct err *e)
{
	struct inbound_event ev;

	return next(f, &ev, e) != 0 ? -1 : nonsense(e);
}

static int
put(struct guest_file *f, enum wire_type type, const char *bytes, size_t size,
    struct err *e)
{
	if (f->c.out.size > 0) /* admitted what it has not read */
		return nonsense(e);
	int rc = conn_put(&f->c, &f->patience, type, bytes, size, e);
	return rc > 0 ? interrupted(f, e) : rc;
}

static int
put_gathered(struct guest_file *f, struct err *e)
{
	int rc = put(f, WIRE_DATA, f->gathered.data, f->gathered.size, e);

	buf_reset(&f->gathered);
	return rc;
}

int
guest_file_send(
    struct guest_file *f, const char *bytes, size_t size, struct err *e)
{
	int rc = 0;

	while (size > 0 && rc == 0) {
		size_t room = WIRE_CHUNK - f->gathered.size;
		size_t piece = size < room ? size : room;

		if (f->gathered.size == 0 && piece >= GATHER) {
			rc = put(f, WIRE_DATA, bytes, piece, e);
		} else {
			buf_add(&f->gathered, bytes, piece);
			if (f->gathered.size == WIRE_CHUNK)
				rc = put_gathered(f, e);
		}
		bytes += piece;
		size -= piece;
	}
	return rc;
}

int
guest_file_end(struct guest_file *f, struct err *e)
{
	if (f->gathered.size > 0 && put_gathered(f, e) != 0)
		return -1;
	if (put(f, WIRE_DATA_END, NULL, 0, e) != 0)
		return -1;
	return guest_file_done(f, e);
}

int
guest_file_fd(const struct guest_file *f)
{
	return f->c.fd;
}

int
guest_file_check(struct guest_file *f, struct err *e)
{
	struct pollfd p = {f->c.fd, POLLIN, 0};

	return poll(&p, 1, 0) > 0 ? interrupted(f, e) : 0;
}

int
guest_file_done(struct guest_file *f, struct err *e)
{
	struct inbound_event ev;

	if (next(f, &ev, e) != 0)
		return -1;
	return ev.type == WIRE_DONE ? 0 : nonsense(e);
}
