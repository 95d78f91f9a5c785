/* What a PUT's headers say of the file that must be there (RFC 9110, 13.1). */
#ifndef SBX_API_FILES_CONDITION_H
#define SBX_API_FILES_CONDITION_H

#include "http/exchange.h"
#include "lib/wire_file.h"

/*
 * Fill in the condition of a change from If-Match and If-None-Match: *. The run
 * sees to it. ERR_INPUT where they are malformed, or nothing that a change is
 * made by: the other conditions, any for another change than a PUT, and
 * Content-Range.
 */
int files_condition(
    const struct exchange *x, struct wire_file *change, struct err *e);

#endif
