/*
 * What the host and a run's init say to each other (DESIGN 4).
 *
 * One connection carries one operation. A frame is a little-endian 32-bit
 * payload size, one byte of type, then the payload. The host sends WIRE_EXEC
 * first; the guest answers with output frames and WIRE_EXIT or WIRE_FAIL last.
 * Or it sends WIRE_FENCE, which WIRE_FENCED answers; or, from version 3 on,
 * what lib/wire_object.h (execs that run already) and lib/wire_file.h tell of.
 *
 * Pure: bytes in, frames out, the same frames however the input is cut. Both
 * sides are bounded by WIRE_MAX: a longer frame is an error, at its header.
 */
#ifndef SBX_LIB_WIRE_H
#define SBX_LIB_WIRE_H

#include "lib/buf.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION 4		    /* the newest that is spoken here */
#define WIRE_MAX (2u << 20)	    /* largest payload, in bytes */
#define WIRE_CHUNK (64u * 1024)	    /* largest output or stdin payload */
#define WIRE_WINDOW WIRE_CHUNK	    /* stdin bytes that may be on their way */
#define WIRE_WINDOW_KEPT (1u << 20) /* the same for a kept exec */
#define WIRE_TEXT 400		    /* largest text of a WIRE_FAIL, in bytes */
#define WIRE_HEAD 5
#define WIRE_ID_MAX 32 /* of an exec's id, in bytes */
#define WIRE_PEEK 7    /* the head of a WIRE_EXEC, its version and flags */

enum wire_type {
	/* host to guest */
	WIRE_EXEC = 1,	/* struct wire_exec, encoded */
	WIRE_STDIN,	/* bytes for the command's standard input */
	WIRE_STDIN_END, /* close it after what was sent */
	WIRE_KILL,	/* end the operation now: TERM, KILL 1.5 s later */
	WIRE_FENCE,	/* u64: the generation that was granted (DESIGN 2) */
	/* the same, from version 3 */
	WIRE_DETACH, /* the host leaves, the command goes on: WIRE_DONE */
	WIRE_LIST,   /* what runs, or ran and is kept: WIRE_INFO, WIRE_DONE */
	WIRE_ATTACH, /* struct wire_attach: WIRE_STARTED, then as an exec */
	WIRE_ACT,    /* struct wire_act: do that to an exec: WIRE_DONE */
	WIRE_FILE,   /* struct wire_file, the first of a connection */
	WIRE_READ,   /* struct wire_read: what to send of an opened file */
	/* both ways */
	WIRE_DATA = 32, /* bytes of a file or an archive */
	WIRE_DATA_END,	/* that was all */
	/* guest to host */
	WIRE_STARTED = 64, /* the command runs: nothing can be refused now */
	WIRE_STDOUT,
	WIRE_STDERR,
	WIRE_EXIT,   /* struct wire_exit, encoded; the last frame */
	WIRE_FAIL,   /* u8 enum wire_fail, then text; the last frame */
	WIRE_ROOM,   /* u32: so many more bytes of stdin may be sent */
	WIRE_FENCED, /* struct wire_fenced, encoded; the last frame */
	/* from version 3 */
	WIRE_DONE, /* it is done; the last frame but after WIRE_DETACH's */
	WIRE_INFO, /* struct wire_info: an exec */
	WIRE_GAP,  /* u64: the offset at which output goes on */
	WIRE_STAT, /* struct wire_stat: a file, or an entry of a directory */
};

/*
 * Flow of standard input: the host may have WIRE_WINDOW bytes of WIRE_STDIN
 * payload on their way; what the command took comes back as WIRE_ROOM. The
 * guest can so read everything that arrives into a bounded buffer, and a
 * WIRE_KILL is never stuck behind input that nobody reads. A kept exec's window
 * takes all of a request's text at once: its host may want to leave.
 */

/* Why an operation was refused before it started. */
enum wire_fail {
	WIRE_FAIL_INTERNAL = 1,
	WIRE_FAIL_VERSION, /* the guest does not speak this version */
	WIRE_FAIL_CWD,	   /* the working directory is not there */
	WIRE_FAIL_USER,	   /* no such user in the image */
	WIRE_FAIL_LIMIT,   /* fork refused: the run is at its pids limit */
	WIRE_FAIL_FENCED,  /* a later generation than the exec's was granted */
	/* from version 3: of execs */
	WIRE_FAIL_EXEC_ABSENT, /* no such exec, or it is forgotten */
	WIRE_FAIL_EXEC_ENDED,  /* it has ended, or its input is closed */
	WIRE_FAIL_EXEC_OUTPUT, /* it keeps no output */
	WIRE_FAIL_EXEC_TTY,    /* it has no terminal, or can have none */
	WIRE_FAIL_EXEC_MANY,   /* so many kept ones run already */
	/* of files */
	WIRE_FAIL_ABSENT,	 /* ENOENT */
	WIRE_FAIL_ESCAPES,	 /* the path leads out of the root */
	WIRE_FAIL_DENIED,	 /* EACCES, EPERM, EROFS: the user may not */
	WIRE_FAIL_DIRECTORY,	 /* it is one */
	WIRE_FAIL_NOT_DIRECTORY, /* something on the way is none */
	WIRE_FAIL_NOT_FILE,	 /* a fifo, socket or device */
	WIRE_FAIL_NOT_EMPTY,	 /* ENOTEMPTY */
	WIRE_FAIL_EXISTS,	 /* something else is there */
	WIRE_FAIL_SPACE,	 /* ENOSPC, EDQUOT, and EFBIG */
	WIRE_FAIL_LARGE,	 /* more than the request's limit */
	WIRE_FAIL_ARCHIVE,	 /* malformed, or an entry that is refused */
	WIRE_FAIL_NAME,		 /* ENAMETOOLONG, ELOOP, EINVAL of a name */
	WIRE_FAIL_FILE,		 /* it is none, and must be a directory */
	WIRE_FAIL_INSIDE,	 /* a directory that is to go into itself */
	/* from version 4 */
	WIRE_FAIL_CONDITION, /* a PUT's, of what is there, does not hold */
	WIRE_FAIL_LAST = WIRE_FAIL_CONDITION,
};

struct wire_exec {
	const char *const *argv; /* NULL-terminated */
	const char *script;	 /* in place of argv: run as `sh -c script` */
	const char *const
	    *env;	     /* NULL-terminated NAME=value, over the image's */
	const char *cwd;     /* absolute */
	const char *user;    /* user[:group], name or number; "" is root */
	uint32_t timeout_ms; /* 0 is none */
	bool open_stdin;     /* false: standard input is at end-of-file */
	/* That it was admitted under; 0 where no lease was ever granted. (In
	 * version 1 there was none, in version 2 never 0.) */
	uint64_t generation;
	/* From version 3 on. NULL is an exec of version 2, and the rest of this
	 * is not sent then. Else WIRE_ID_MAX bytes at most, not empty. */
	const char *id;
	bool keep;     /* its output and end stay readable: lib/wire_object.h */
	bool go_on;    /* a host that vanishes leaves it running */
	bool feedable; /* WIRE_ACT_INPUT may come: its input stays open */
	uint16_t cols, rows; /* of its terminal; 0 is none */
	/* From version 4 on, as which it is sent then: WIRE_DETACH will come.
	 * Should the command end before, it counts as detached. */
	bool leaving;
};

struct wire_exit {
	int32_t code;	/* 0..255, 128+n for a signal, -1: timed out, fenced */
	uint8_t signal; /* 0 where none */
	bool timed_out;
	bool oom_killed;
	bool not_found; /* could not be executed: code 126 or 127 */
	bool fenced;	/* ended by a WIRE_FENCE */
};

/* What came of a fence. */
struct wire_fenced {
	bool done;	     /* nothing of an older generation runs, or will */
	uint64_t generation; /* the highest that the guest knows */
};

/* The head of a frame whose payload the caller puts behind it, and the payload
 * size that a head tells (unchecked). */
void wire_head(char to[WIRE_HEAD], enum wire_type type, size_t size);
size_t wire_payload_size(const char head[WIRE_HEAD]);

/* Append frames to out. One that is over its limit sets out->over and is left
 * out whole. */
void wire_put(
    struct buf *out, enum wire_type type, const void *bytes, size_t size);
void wire_put_room(struct buf *out, uint32_t bytes);
void wire_put_exec(struct buf *out, const struct wire_exec *x);
void wire_put_exit(struct buf *out, const struct wire_exit *x);
void wire_put_fail(struct buf *out, enum wire_fail why, const char *text);
void wire_put_fence(struct buf *out, uint64_t generation);
void wire_put_fenced(struct buf *out, const struct wire_fenced *x);

/* Of the first WIRE_PEEK bytes of a WIRE_EXEC: it asks to be kept. */
bool wire_peek_keep(const char peek[WIRE_PEEK]);

/* The first whole frame of bytes. Returns 1 and fills the outputs (payload
 * points into bytes, used is what to drop afterwards), 0 where more bytes are
 * needed, -1 with ERR_GUEST where no frame can begin so. */
int wire_next(const char *bytes, size_t size, enum wire_type *ret_type,
    const char **ret_payload, size_t *ret_size, size_t *ret_used,
    struct err *e);

/* Decode payloads, or -1 with ERR_GUEST; ERR_UNSUPPORTED where an exec is of
 * another version. Strings point into payload, arrays into *store, which the
 * caller gives empty and releases when done with x. */
int wire_get_exec(const char *payload, size_t size, struct buf *store,
    struct wire_exec *ret_x, struct err *e);
int wire_get_exit(
    const char *payload, size_t size, struct wire_exit *ret_x, struct err *e);
int wire_get_room(
    const char *payload, size_t size, uint32_t *ret_bytes, struct err *e);
int wire_get_fence(
    const char *payload, size_t size, uint64_t *ret_generation, struct err *e);
int wire_get_fenced(
    const char *payload, size_t size, struct wire_fenced *ret_x, struct err *e);
/* text points into payload, without a NUL. */
int wire_get_fail(const char *payload, size_t size, enum wire_fail *ret_why,
    const char **ret_text, size_t *ret_size, struct err *e);

#endif
