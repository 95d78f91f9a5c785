/*
 * What comes from a run's init, in the only order that makes sense: frames, as
 * they are on its socket, or in the multiplexed stream of a Docker exec.
 *
 * Pure: bytes in, events out, the same however the input is cut. Bounded: a
 * frame is at most WIRE_CHUNK, notes at most INBOUND_NOTES. Whatever is wrong
 * is ERR_GUEST.
 */
#ifndef SBX_GUEST_INBOUND_H
#define SBX_GUEST_INBOUND_H

#include "docker/demux.h"
#include "lib/buf.h"
#include "lib/wire.h"
#include "lib/wire_file.h"
#include "lib/wire_object.h"

#include <stdbool.h>

#define INBOUND_FEED (128u * 1024) /* at least so much fits at once */
#define INBOUND_NOTES 2000

/* What was asked for, and so what may come. */
enum inbound_kind {
	INBOUND_EXEC,
	INBOUND_DETACH, /* an exec to which WIRE_DETACH was sent */
	INBOUND_ATTACH,
	INBOUND_INPUT,
	INBOUND_LIST,
	INBOUND_FENCE,
	INBOUND_DO,    /* done or not: acts, MKDIR, MOVE, REMOVE */
	INBOUND_GET,   /* files */
	INBOUND_PUT,   /* and UNPACK */
	INBOUND_STATS, /* LIST and STAT */
	INBOUND_PACK,
	INBOUND_KINDS
};

enum inbound_state {
	INBOUND_FRESH,	 /* nothing came */
	INBOUND_RUNNING, /* the first frame came, and it was no refusal */
	INBOUND_OVER,	 /* the last frame came: the rest is dropped */
	INBOUND_REFUSED, /* no frames at all, but text: from Docker itself */
};

struct inbound {
	bool plain; /* frames alone, not in Docker's stream; set at first */
	enum inbound_kind kind;
	enum inbound_state state;
	struct demux demux;
	struct buf frames; /* received; the text where REFUSED */
	size_t at;	   /* of frames: what comes next */
	struct buf notes;  /* standard error */
	uint32_t window;   /* of standard input; set at first, with room */
	uint32_t room;	   /* bytes of standard input that may be sent */
};

#define INBOUND_INIT                                                    \
	{                                                               \
		false, INBOUND_EXEC, INBOUND_FRESH, DEMUX_INIT,         \
		    BUF_INIT(WIRE_HEAD + WIRE_CHUNK + INBOUND_FEED), 0, \
		    BUF_INIT(INBOUND_NOTES), WIRE_WINDOW, WIRE_WINDOW   \
	}

/* Not WIRE_ROOM, which is kept account of here. */
struct inbound_event {
	enum wire_type type;
	const char *bytes; /* of output, data or failure text */
	size_t size;
	union { /* what points anywhere, as bytes do, does until more comes */
		struct wire_exit exit;
		enum wire_fail why;
		uint64_t offset; /* of a gap */
		struct wire_info info;
		struct wire_stat stat;
		struct wire_fenced fenced;
	};
};

void inbound_release(struct inbound *in);

/* When inbound_next has no more events: where the next bytes go, at least
 * INBOUND_FEED; and that so many have come there. */
char *inbound_space(struct inbound *in, size_t *ret_size);
int inbound_came(struct inbound *in, size_t size, struct err *e);

/* The next event: 1, or 0 where there is none yet. */
int inbound_next(
    struct inbound *in, struct inbound_event *ret_event, struct err *e);

/* What was said in words, by the engine or on standard error. No NUL ends it.
 */
const char *inbound_words(const struct inbound *in, size_t *ret_size);

/* A running command has an event, or an error, to be had without a feed. */
bool inbound_pending(const struct inbound *in);

#endif
