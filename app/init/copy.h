/*
 * Making one directory what another one is: in the staging container of a
 * snapshot, where the volume is mounted and the image's own content at its
 * path is to be replaced by it.
 */
#ifndef SBX_INIT_COPY_H
#define SBX_INIT_COPY_H

/* What was in to goes; where there is no such directory it is made, parents
 * along. Returns the exit status: 0, or 1 with a line on standard error;
 * ENOSPC where the disk is full. */
int copy_run(const char *from, const char *to);

#endif
