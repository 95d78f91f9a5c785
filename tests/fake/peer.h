/*
 * A run's init that says what it was told to say: the far end of guest/, on a
 * socket of this process.
 *
 * It takes one connection after the other, each played by a thread of its own:
 * hear the first frame, say the bytes in pieces of `step`, then do as `end`
 * says. What it heard is there once it was joined.
 */
#ifndef SBX_TESTS_FAKE_PEER_H
#define SBX_TESTS_FAKE_PEER_H

#include "guest/guest.h"
#include "lib/buf.h"
#include "lib/wire.h"

#include <pthread.h>
#include <stdatomic.h>

enum peer_end {
	PEER_CLOSE, /* hang up, once the other side sent `hear` bytes */
	PEER_STALL, /* say and hear nothing more, until it is joined */
	PEER_FLOOD, /* say the last `flood` bytes again and again */
};

struct peer {
	char dir[64];
	int listener;
	/* What to play; say is emptied by peer_join. */
	struct buf say;
	enum wire_type cue; /* from say's byte `pause` on, only once it heard
			     * such a frame; 0: none */
	size_t pause, step, hear, flood;
	enum peer_end end;
	struct buf heard; /* all of it, up to its limit */
	pthread_t thread;
	bool playing;
	atomic_bool over;
};

void peer_open(struct peer *p);
void peer_close(struct peer *p);

struct guest_place peer_place(const struct peer *p);

/* Play the next connection; one at a time. */
void peer_play(struct peer *p);
void peer_join(struct peer *p);

#endif
