/*
 * What a fuzz target asserts: a failure is a crash, which libFuzzer keeps the
 * input of.
 */
#ifndef SBX_FUZZ_CHECK_H
#define SBX_FUZZ_CHECK_H

#include <stdbool.h>
#include <stdlib.h>

static inline void
check(bool holds)
{
	if (!holds)
		abort();
}

#endif
