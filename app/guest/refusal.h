/*
 * Why a command did not start, as an error for the caller. Pure; what comes in
 * is text that the run may have written.
 */
#ifndef SBX_GUEST_REFUSAL_H
#define SBX_GUEST_REFUSAL_H

#include "lib/err.h"
#include "lib/wire.h"

#include <stddef.h>

/* From a WIRE_FAIL. Returns -1. */
int refusal_of_guest(
    enum wire_fail why, const char *text, size_t size, struct err *e);

/* From what the engine put on the stream in place of frames, which may be
 * nothing. Returns -1. */
int refusal_of_engine(const char *text, size_t size, struct err *e);

#endif
