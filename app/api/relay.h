/*
 * What a command puts out, on its way to the client of a call: in the stream of
 * the exec itself (api/exec.c), or to somebody who follows it (api/execs.c).
 */
#ifndef SBX_API_RELAY_H
#define SBX_API_RELAY_H

#include "api/call.h"
#include "api/exec_stream.h"
#include "guest/guest.h"

struct relay {
	struct call *call;
	const struct run *run;
	struct guest
	    *guest; /* the caller's, who may put another in its place */
	struct inflight_slot *slot; /* NULL: nothing is in flight for it */
	struct exec_stream stream;
	struct buf out;
	int64_t sent; /* monotonic ms of the last bytes to the client */
	bool broken;  /* what the guest said last made no sense */
};

enum relay_end {
	RELAY_EXIT,  /* the exit frame was the last */
	RELAY_LEFT,  /* the client left */
	RELAY_LOST,  /* nothing more comes of the guest, and no exit did */
	RELAY_TAKEN, /* the run was given to somebody else */
};

/* Begin the answer: its headers and first bytes. -1 where that failed; the
 * client may be gone in any case. */
int relay_begin(struct relay *r, struct call *c, const struct run *run,
    struct guest *guest, enum exec_format format, struct err *e);

/* Until one of these. Once the command has ended, and before its client can
 * know, it is not in flight any more. */
enum relay_end relay_run(struct relay *r);

/* The exit frame of a command whose end nobody told; why NULL: whatever became
 * of its run. */
void relay_lost(struct relay *r, const char *why);

void relay_release(struct relay *r);

#endif
