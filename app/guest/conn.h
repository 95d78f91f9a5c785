/*
 * A connection with a run's init, over either transport. It carries one
 * operation: frames go into `out` or past it, and what comes back, in its only
 * order, is `in`.
 *
 * Every wait has a deadline. ERR_GUEST where the other side makes no sense, is
 * silent or has gone; what it said in words, if it did, is the reason then.
 */
#ifndef SBX_GUEST_CONN_H
#define SBX_GUEST_CONN_H

#include "guest/guest.h"
#include "guest/inbound.h"

#define CONN_NEVER INT64_MAX

struct conn {
	int fd;
	struct inbound in;
	struct buf out; /* whole frames; sent of them are on their way */
	size_t sent;
	bool closed; /* the other side ended the connection */
	int passed;  /* a GET: a descriptor that came along, whatever it is */
};

/* Over a connected descriptor, which now belongs to it. */
void conn_init(
    struct conn *c, int fd, enum guest_framing framing, enum inbound_kind kind);

/* Go there; also ERR_RUN_NOT_RUNNING and ERR_ENGINE*. On failure there is
 * nothing to release. */
int conn_open(struct conn *c, struct engine *en,
    const struct guest_place *place, enum inbound_kind kind, struct err *e);

void conn_release(struct conn *c);

/* Send of out what can be sent now. Where the other side takes nothing any more
 * out is dropped: that is found out by reading, which also has what it said. */
void conn_flush(struct conn *c);

enum conn_woken {
	CONN_TIME,  /* it is `until` */
	CONN_OTHER, /* other_fd became readable, or hung up */
	CONN_BYTES, /* something came, or the connection ended */
	CONN_AGAIN, /* out can be sent; or nothing is known */
};

/* Wait once, until CLOCK_MONOTONIC ms or CONN_NEVER: an enum conn_woken, or -1.
 * Only when inbound_next has no more events. */
int conn_wait(struct conn *c, int other_fd, int64_t until, struct err *e);

/* The same for who has patience: CONN_BYTES or CONN_AGAIN, or -1. */
int conn_await(struct conn *c, const struct guest_patience *patience,
    int64_t until, struct err *e);

/*
 * The next event, and meanwhile send out. -1 where the connection ended before
 * there was one, at `until`, or where patience is at its end.
 */
int conn_next(struct conn *c, const struct guest_patience *patience,
    int64_t until, struct inbound_event *ret_event, struct err *e);

/* Send one frame of at most WIRE_CHUNK whole, out being empty: 0. Or 1, the
 * frame cut, where the other side has something to say first: conn_next. */
int conn_put(struct conn *c, const struct guest_patience *patience,
    enum wire_type type, const char *bytes, size_t size, struct err *e);

/* Fill *e with why a connection that is closed has brought nothing. */
int conn_vanished(const struct conn *c, struct err *e);

#endif
