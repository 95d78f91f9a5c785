/*
 * ULIDs: 48 bits of milliseconds, 80 of randomness, as 26 characters of
 * Crockford's base 32 (https://github.com/ulid/spec). Upper case is the form
 * that callers see; ids are matched in any case.
 */
#ifndef SBX_LIB_ULID_H
#define SBX_LIB_ULID_H

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define ULID_SIZE 27 /* 26 characters and a NUL */

/* Of that millisecond and 10 random bytes. */
void ulid_format(
    int64_t wall_ms, const unsigned char random[10], char to[ULID_SIZE]);

/* A new one, of the wall clock and the kernel's random bytes. */
int ulid_new(char to[ULID_SIZE], struct err *e);

/* The canonical upper-case form of s, or false where s is not a ULID. */
bool ulid_parse(const char *s, char to[ULID_SIZE]);

/* The millisecond in a canonical ULID. */
int64_t ulid_time(const char *ulid);

#endif
