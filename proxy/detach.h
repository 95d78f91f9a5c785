/*
 * Going to the background, and telling whoever started it when it serves: the
 * process that was started waits, and ends with 0 as soon as the one in the
 * background is ready, else with 1 after a line on standard error. The one in
 * the background has its own session and nobody's terminal; standard error
 * stays.
 */
#ifndef SBX_PROXY_DETACH_H
#define SBX_PROXY_DETACH_H

#include "lib/err.h"

/*
 * Before anything is opened. Returns in the background only; a descriptor for
 * detach_ready, or -1 with the err filled. A line about what goes wrong before
 * that is the caller's to write.
 */
int detach(struct err *e);

/* It serves: the other process ends. Fit for after confine(). */
void detach_ready(int fd);

#endif
