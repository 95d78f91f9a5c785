/*
 * Stories of test_torture_kill that copy a run: a warm-commit, a snapshot.
 */
#ifndef SBX_E2E_KILL_COPIES_H
#define SBX_E2E_KILL_COPIES_H

#include "kill_story.h"

extern char kill_kept[ULID_SIZE];     /* a run with a warm volume of kill/web */
extern char kill_resident[ULID_SIZE]; /* a run that execs go to */

void kill_commit(struct telling *t);
void kill_snapshot(struct telling *t);

/* The template is whole: its files a and b are of one round, and of this one
 * where that was said. */
void kill_check_commit(const struct telling *t, int round);

/* What was said to be taken is there; all are deleted. */
void kill_check_snapshot(const struct telling *t);

/* Images of the instance: also what commits left without a name, until it is a
 * minute old. */
size_t kill_images(void);

#endif
