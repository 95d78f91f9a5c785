/*
 * Runs as a table, for `ps` and `top`.
 */
#ifndef SBX_CLI_RUN_TABLE_H
#define SBX_CLI_RUN_TABLE_H

#include "cli/table.h"

#include <jansson.h>

/* All runs of an answer of GET /v1/runs. */
void run_table(struct table *ret_table, const json_t *answer);

/* An RFC 3339 time in seconds since the epoch, -1 where it is none. */
double run_table_time(const char *text);

#endif
