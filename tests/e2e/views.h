/*
 * The three views of which runs there are: the API's list, Docker's containers,
 * Redis' records.
 */
#ifndef SBX_E2E_VIEWS_H
#define SBX_E2E_VIEWS_H

#include <stdbool.h>

/* They name the same runs. Containers without a run's label count as different.
 */
bool views_agree(void);

/* They agree within ms, or the test fails, saying how they differ. */
void views_await(int ms);

/* A run as the API tells its state: "running", "exited", ..., "" for a 404. In
 * a static buffer. */
const char *views_state(const char *id);

#endif
