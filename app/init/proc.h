/*
 * What /proc says of a process of this pid namespace.
 */
#ifndef SBX_INIT_PROC_H
#define SBX_INIT_PROC_H

#include <stdbool.h>
#include <sys/types.h>

struct proc {
	pid_t parent;  /* 0 where that is in no pid namespace of ours */
	pid_t session; /* as the parent */
};

/* Of the text of /proc/PID/stat, in which the process itself chose its name.
 * Pure. False where it is none. */
bool proc_parse(const char *stat, struct proc *ret_p);

/* False where there is no such process. A zombie is one: its other threads may
 * live. */
bool proc_read(pid_t pid, struct proc *ret_p);

/* It was started with NAME=value in its environment, and has not overwritten
 * that. */
bool proc_has_setting(pid_t pid, const char *setting);

#endif
