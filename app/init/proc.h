/*
 * What /proc says of a process of this pid namespace.
 */
#ifndef SBX_INIT_PROC_H
#define SBX_INIT_PROC_H

#include <sys/types.h>

/* Its parent, of a zombie too: its other threads may live. 0 where that is in
 * no pid namespace of ours; -1 where there is no such process. */
pid_t proc_parent(pid_t pid);

#endif
