/*
 * What a load must show, told a line each, and what it measured.
 */
#ifndef SBX_LOAD_REPORT_H
#define SBX_LOAD_REPORT_H

#include "calls.h"
#include "streams.h"
#include "watch.h"

#include <stddef.h>

#define REPORT_PHASES 3 /* in which nothing is started or ended */

struct report {
	size_t streams, runs;
	long seconds;
	int workers, stream_threads; /* per pool, per worker */
	struct streams_result lines;
	const struct calls *calls;
	struct watch_sample idle, phase[REPORT_PHASES][2]; /* begin, end */
	int64_t most_kb[WATCHED];
	int64_t init_kb;     /* of one run's */
	double cpu[WATCHED]; /* cores, in the first phase */
};

/* Returns how many goals were missed. */
int report_goals(const struct report *r);

/* A row of the table of sizes. */
void report_sizes(const struct report *r);

#endif
