/*
 * The load's client: one thread that holds many exec streams, each of a ticker,
 * over raw sockets, and judges every line as it arrives.
 */
#ifndef SBX_LOAD_STREAMS_H
#define SBX_LOAD_STREAMS_H

#include "../bench/measure.h"

#include <stddef.h>
#include <stdint.h>

struct streams_plan {
	char (*run)[27]; /* ids; streams are spread over them */
	size_t runs, streams;
	long lines, burst; /* of each: ticker.c */
};

struct streams_result {
	/* From when a command wrote a line until it was read here, in ms. */
	struct samples late, burst;
	size_t too_late;	/* of late, above STREAMS_LATE_MS */
	double worst, worst_at; /* of late; seconds since the start */
	size_t lost, cut;   /* lines that never came, streams without an end */
	size_t wrong;	    /* answers, lines or ends that make no sense */
	char example[2048]; /* the first of those */
};

#define STREAMS_LATE_MS 250

struct streams;

struct streams *streams_start(const struct streams_plan *plan);

/* So far, from any thread. */
size_t streams_began(const struct streams *s); /* have printed a line */
size_t streams_ended(const struct streams *s); /* well or not */

/* Wait until all have ended; frees it. The samples are the caller's. */
struct streams_result streams_finish(struct streams *s);

#endif
