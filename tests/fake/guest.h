/*
 * A run's init as an exec speaks it, without a container: wire frames in
 * Docker's multiplexed stream. Its commands are
 *
 *	exit N		ends with N
 *	say TEXT	prints TEXT and ends with 0
 *	wait		goes on until it is killed or detached
 *
 * The last one begun is listed for ever, and can be followed (it has said hi
 * and ended) and acted on; so can any other id.
 */
#ifndef SBX_TESTS_FAKE_GUEST_H
#define SBX_TESTS_FAKE_GUEST_H

#include <stdbool.h>

struct fake_guest {
	bool (*over)(void *arg); /* the container ended, or was reset */
	void *arg;
	bool cut; /* hang up in the middle of the second frame */
};

/* One exec on a hijacked connection, until it ends or its caller leaves. */
void fake_guest(int fd, const struct fake_guest *g);

#endif
