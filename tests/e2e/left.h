/*
 * What a stack leaves behind: looked for by stack_stop, each finding one line
 * in faults.
 */
#ifndef SBX_E2E_LEFT_H
#define SBX_E2E_LEFT_H

#include "lib/buf.h"

/* While it runs: containers, volumes, networks, images, run directories, Redis,
 * zombies.
 */
void left_before_stop(struct buf *faults);

/* Once serve is gone: processes, mounts. */
void left_after_stop(struct buf *faults);

/* Keep the logs, end and remove what is still there, remove the directories. */
void left_clean(void);

#endif
