/*
 * Time. Decisions about runs use Redis' TIME, not these; these are for
 * deadlines within one process (monotonic) and for logs (wall).
 */
#ifndef SBX_LIB_CLOCK_H
#define SBX_LIB_CLOCK_H

#include <stdint.h>

#define CLOCK_TEXT_SIZE 32

int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
int64_t clock_wall_ms(void); /* since the epoch */

/* RFC 3339 UTC with milliseconds: 2026-01-31T09:00:00.123Z */
void clock_text(int64_t wall_ms, char to[CLOCK_TEXT_SIZE]);

/* Milliseconds left until a monotonic deadline, for poll(2): 0..INT_MAX. */
int clock_left(int64_t deadline_mono_ms);

#endif
