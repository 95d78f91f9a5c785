/*
 * cmocka with the headers it wants before it, and the two assertions that every
 * test of a fallible call needs.
 */
#ifndef SBX_TESTS_CHECK_H
#define SBX_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/err.h"

/* The call succeeded; else its error is what the test says. */
#define check_ok(call, e)                                                    \
	do {                                                                 \
		if ((call) < 0)                                              \
			fail_msg(                                            \
			    "%s: kind %d: %s", #call, (e)->kind, (e)->text); \
	} while (0)

/* The call failed, and with that kind. */
#define check_fails(call, e, kind_)                                           \
	do {                                                                  \
		if ((call) >= 0)                                              \
			fail_msg("%s succeeded", #call);                      \
		if ((e)->kind != (kind_))                                     \
			fail_msg("%s: kind %d, not %s: %s", #call, (e)->kind, \
			    #kind_, (e)->text);                               \
	} while (0)

#endif
