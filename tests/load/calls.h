/*
 * Short calls beside the load's streams: one at a time, every answer must be a
 * success.
 */
#ifndef SBX_LOAD_CALLS_H
#define SBX_LOAD_CALLS_H

#include "../bench/measure.h"

#include <stddef.h>

struct calls {
	const char *busy; /* a run that streams */
	char own[27];	  /* one that does not, for leases; made by the first */
	size_t turn;
	size_t made; /* calls */
	/* What took how long, in ms: calls that Docker has no part in, and
	 * creations and removals of runs. */
	struct samples brief, docker;
	size_t failed;
	char example[2048]; /* the first of those */
};

/* The next call, of all kinds in turn. */
void calls_next(struct calls *c);

/* Remove what was made; releases the samples. */
void calls_end(struct calls *c);

#endif
