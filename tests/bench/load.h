/*
 * Many GETs to the stack over kept connections: how many a second, and how long
 * each took.
 */
#ifndef SBX_BENCH_LOAD_H
#define SBX_BENCH_LOAD_H

#include "measure.h"

#include <stdint.h>

#define LOAD_CONNECTIONS 8 /* at most */
#define LOAD_PATHS 4

struct load {
	const char *path[LOAD_PATHS]; /* in turn; NULL after the last */
	const char *other; /* one more client asks for this all the time, and
			    * does not count; may be NULL */
	int connections;
	int64_t for_ms;
	/* 0: the next request follows the answer. Else requests are due this
	 * far apart, and their time counts from when they were due, so that a
	 * slow answer is not kept out of the figures by what waits behind it.
	 */
	int64_t every_us;
};

struct load_result {
	struct samples ms;
	/* Of it, how late this program itself was to send what was due: what
	 * the machine's other work costs, whatever is measured. */
	struct samples late_ms;
	double per_second;
};

/* Every answer must be 200; else the test fails. */
struct load_result load_run(const struct load *load);
void load_release(struct load_result *r);

#endif
