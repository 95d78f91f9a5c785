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

#include <stdbool.h>

#define INBOUND_FEED (32u * 1024) /* most bytes of one inbound_feed */
#define INBOUND_NOTES 2000

enum inbound_state {
	INBOUND_FRESH,	 /* nothing came */
	INBOUND_RUNNING, /* WIRE_STARTED came */
	INBOUND_OVER,	 /* the last frame came: the rest is dropped */
	INBOUND_REFUSED, /* no frames at all, but text: from Docker itself */
};

struct inbound {
	bool plain; /* frames alone, not in Docker's stream; set at first */
	enum inbound_state state;
	struct demux demux;
	struct buf frames; /* received; the text where REFUSED */
	size_t at;	   /* of frames: what comes next */
	struct buf notes;  /* standard error */
	uint32_t room;	   /* bytes of standard input that may be sent */
};

#define INBOUND_INIT                                                    \
	{                                                               \
		false, INBOUND_FRESH, DEMUX_INIT,                       \
		    BUF_INIT(WIRE_HEAD + WIRE_CHUNK + INBOUND_FEED), 0, \
		    BUF_INIT(INBOUND_NOTES), WIRE_WINDOW                \
	}

struct inbound_event {
	enum wire_type type; /* STARTED, STDOUT, STDERR, EXIT or FAIL */
	const char *bytes; /* of output or failure text, until the next feed */
	size_t size;
	struct wire_exit exit;
	enum wire_fail why;
};

void inbound_release(struct inbound *in);

/* Take in up to INBOUND_FEED bytes, when inbound_next has no more events. */
int inbound_feed(
    struct inbound *in, const char *bytes, size_t size, struct err *e);

/* The next event: 1, or 0 where there is none yet. */
int inbound_next(
    struct inbound *in, struct inbound_event *ret_event, struct err *e);

/* What was said in words, by the engine or on standard error. No NUL ends it.
 */
const char *inbound_words(const struct inbound *in, size_t *ret_size);

/* A running command has an event, or an error, to be had without a feed. */
bool inbound_pending(const struct inbound *in);

#endif
