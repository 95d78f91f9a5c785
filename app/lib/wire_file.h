/*
 * Frames about files (lib/wire.h; from version 3 on). Pure.
 *
 * One connection, one operation, done as the user that it names:
 *
 *	GET	WIRE_STAT; then, on WIRE_READ, WIRE_DATA and WIRE_DATA_END
 *	PUT	WIRE_STARTED; then takes WIRE_DATA, WIRE_DATA_END: WIRE_DONE
 *	LIST	WIRE_STAT for each entry, in no order; WIRE_DONE
 *	STAT	WIRE_STAT of the path itself, a link not followed; WIRE_DONE
 *	MKDIR, MOVE, REMOVE	WIRE_DONE
 *	PACK	WIRE_STARTED, WIRE_DATA (a tar archive), WIRE_DATA_END
 *	UNPACK	as PUT, the data being an archive
 *
 * WIRE_FAIL may come in place of any of these, also in the middle. Data flows
 *at the speed of the slower side: there are no windows, since nothing has to
 *get past it. A connection that closes before its WIRE_DATA_END undoes a PUT.
 *
 * Where the connection is a unix socket all the way, the opened file comes
 *along with a GET's WIRE_STAT (SCM_RIGHTS): the host may read it itself, and
 *leaves without a WIRE_READ then. Whoever does not look for it never has it.
 */
#ifndef SBX_LIB_WIRE_FILE_H
#define SBX_LIB_WIRE_FILE_H

#include "lib/wire.h"

#define WIRE_PATH_MAX 4095 /* of a path or a link's target, in bytes */
#define WIRE_NAME_MAX 255  /* of an entry's name, in bytes */

enum wire_file_what {
	WIRE_FILE_GET = 1,
	WIRE_FILE_PUT,
	WIRE_FILE_LIST,
	WIRE_FILE_STAT,
	WIRE_FILE_MKDIR,
	WIRE_FILE_MOVE,
	WIRE_FILE_REMOVE,
	WIRE_FILE_PACK,
	WIRE_FILE_UNPACK,
};

/* What must be so when a PUT takes its place; from version 4 on. */
enum wire_condition {
	WIRE_ALWAYS,  /* sent as in version 3 */
	WIRE_ABSENT,  /* nothing is there */
	WIRE_PRESENT, /* something is */
	WIRE_SAME,    /* one of those files is, unchanged */
};

#define WIRE_SAME_MAX 8

struct wire_same {
	uint64_t tag, size; /* of a struct wire_stat */
};

struct wire_file {
	enum wire_file_what what;
	uint64_t generation; /* that it was admitted under; 0: a read */
	const char *user;    /* as in struct wire_exec */
	const char *root;    /* absolute; nothing outside of it is touched */
	const char *path;    /* below root; "" is root itself */
	const char *to;	     /* MOVE: below root; else "" */
	bool recursive;	     /* REMOVE */
	uint64_t limit; /* PUT, UNPACK: most bytes of file content; 0: none */
	enum wire_condition condition; /* PUT */
	uint8_t same_count;
	struct wire_same same[WIRE_SAME_MAX];
};

struct wire_read {
	uint64_t offset, size; /* size: at most so many bytes */
};

enum wire_file_type {
	WIRE_TYPE_FILE = 1,
	WIRE_TYPE_DIRECTORY,
	WIRE_TYPE_SYMLINK,
	WIRE_TYPE_FIFO,
	WIRE_TYPE_SOCKET,
	WIRE_TYPE_DEVICE,
};

struct wire_stat {
	enum wire_file_type type;
	uint32_t mode;	  /* permission bits, 07777 */
	uint64_t size;	  /* bytes, of a file; 0 of others */
	int64_t mtime_ns; /* CLOCK_REALTIME */
	/* The same file, unchanged, has the same: made of its device, inode and
	 * change time. */
	uint64_t tag;
	const char *name;   /* of an entry or the path's last part */
	const char *target; /* of a link; else "" */
};

void wire_put_file(struct buf *out, const struct wire_file *x);
void wire_put_read(struct buf *out, const struct wire_read *x);
void wire_put_stat(struct buf *out, const struct wire_stat *x);

/* As in lib/wire.h: -1 with ERR_GUEST, strings point into payload. */
int wire_get_file(
    const char *payload, size_t size, struct wire_file *ret_x, struct err *e);
int wire_get_read(
    const char *payload, size_t size, struct wire_read *ret_x, struct err *e);
int wire_get_stat(
    const char *payload, size_t size, struct wire_stat *ret_x, struct err *e);

#endif
