/*
 * Why a command did not start, or something was not done, as an error for the
 * caller. Pure; what comes in is text that the run may have written, so where
 * the request says as much, it is its words that are used.
 */
#ifndef SBX_GUEST_REFUSAL_H
#define SBX_GUEST_REFUSAL_H

#include "lib/err.h"
#include "lib/wire.h"
#include "lib/wire_file.h"

#include <stddef.h>

/* From a WIRE_FAIL. Returns -1. */
int refusal_of_guest(
    enum wire_fail why, const char *text, size_t size, struct err *e);

/* The same of what was asked about an exec; id "": of one that was to start. */
int refusal_of_object(enum wire_fail why, const char *id, const char *text,
    size_t size, struct err *e);

/* The same of an operation on files. */
int refusal_of_file(enum wire_fail why, const struct wire_file *request,
    const char *text, size_t size, struct err *e);

/* From what the engine put on the stream in place of frames, which may be
 * nothing. Returns -1. */
int refusal_of_engine(const char *text, size_t size, struct err *e);

#endif
