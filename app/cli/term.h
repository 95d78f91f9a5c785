/*
 * The terminal that sbxctl runs on: raw while a command in a run has one too,
 * as it was when sbxctl ends, however that is.
 */
#ifndef SBX_CLI_TERM_H
#define SBX_CLI_TERM_H

#include <stdbool.h>

/* Standard input is one. */
bool term_is(void);

/* Its size, or 80 by 24. */
void term_size(int *ret_cols, int *ret_rows);

/* Pass every key on instead of acting on it, until term_restore, which is safe
 * to call twice, and called at exit(3). */
void term_raw(void);
void term_restore(void);

#endif
