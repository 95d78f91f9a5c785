/*
 * Waiting for what another process brings about. The bound is far beyond what
 * is expected: it ends a test that hangs, it measures nothing.
 */
#ifndef SBX_TESTS_WAIT_H
#define SBX_TESTS_WAIT_H

#include "check.h"
#include "lib/clock.h"

#include <poll.h>

#define wait_until(condition, most_ms)                                      \
	do {                                                                \
		int64_t wait_end_ = clock_mono_ms() + (most_ms);            \
		while (!(condition)) {                                      \
			if (clock_mono_ms() > wait_end_)                    \
				fail_msg("waited in vain: %s", #condition); \
			(void)poll(NULL, 0, 5);                             \
		}                                                           \
	} while (0)

#endif
