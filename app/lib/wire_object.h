/*
 * Frames about execs that run already, and about kept ones that have ended
 * (lib/wire.h; from version 3 on). Pure.
 *
 * A kept exec's output goes into a ring of its own; an offset counts bytes of
 * both streams together, from 0 at its start. WIRE_ATTACH is answered by
 * WIRE_STARTED, WIRE_GAP where bytes from its offset on were dropped, the
 * output that there is and that comes, and WIRE_EXIT. A reader that does not
 * read holds up nobody.
 */
#ifndef SBX_LIB_WIRE_OBJECT_H
#define SBX_LIB_WIRE_OBJECT_H

#include "lib/wire.h"

#define WIRE_CMD_MAX 1024 /* of a command, as it is told: the rest is cut */

struct wire_attach {
	const char *id;
	uint64_t offset;
};

enum wire_act_what {
	WIRE_ACT_INPUT = 1, /* WIRE_STARTED; WIRE_STDIN with WIRE_ROOM for what
			     * was taken; after WIRE_STDIN_END WIRE_DONE */
	WIRE_ACT_SIGNAL,    /* to its process group, or its terminal's */
	WIRE_ACT_RESIZE,    /* its terminal */
	WIRE_ACT_END, /* TERM, KILL: WIRE_DONE once nothing of it is left */
};

struct wire_act {
	enum wire_act_what what;
	const char *id;
	uint64_t generation; /* that this was admitted under */
	bool close;	     /* INPUT: end-of-file after it */
	uint8_t signal;	     /* SIGNAL: its number on Linux */
	uint16_t cols, rows; /* RESIZE */
};

/* An exec, as WIRE_LIST tells it. */
struct wire_info {
	const char *id;
	const char *cmd; /* the script, or argv with blanks between */
	bool kept, tty, feedable;
	bool detached; /* nobody's stream is its own any more */
	bool ended;    /* exit and ended_ms count */
	struct wire_exit exit;
	int64_t started_ms, ended_ms; /* CLOCK_REALTIME */
	uint64_t first,
	    end; /* offsets: the oldest byte kept, and past the last */
};

void wire_put_attach(struct buf *out, const struct wire_attach *x);
void wire_put_act(struct buf *out, const struct wire_act *x);
void wire_put_info(struct buf *out, const struct wire_info *x);
void wire_put_gap(struct buf *out, uint64_t offset);

/* As in lib/wire.h: -1 with ERR_GUEST, strings point into payload. */
int wire_get_attach(
    const char *payload, size_t size, struct wire_attach *ret_x, struct err *e);
int wire_get_act(
    const char *payload, size_t size, struct wire_act *ret_x, struct err *e);
int wire_get_info(
    const char *payload, size_t size, struct wire_info *ret_x, struct err *e);
int wire_get_gap(
    const char *payload, size_t size, uint64_t *ret_offset, struct err *e);

#endif
