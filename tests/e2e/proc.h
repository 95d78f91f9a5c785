/*
 * Looking at processes of this machine, those in containers included: what
 * /proc says of them at this moment.
 */
#ifndef SBX_E2E_PROC_H
#define SBX_E2E_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_MOST 4096

struct proc {
	pid_t pid, parent;
	char state;    /* as in proc(5): R S D Z T X ... */
	char name[16]; /* comm */
};

/* Every process; at most PROC_MOST of them. Returns how many. */
size_t proc_all(struct proc to[PROC_MOST]);

/* It exists and is no zombie. */
bool proc_alive(pid_t pid);

/* The text occurs in /proc/PID/<file>, NULs there read as blanks. */
bool proc_has(pid_t pid, const char *file, const char *text);

/* How many live processes have the text in their arguments, this one aside. */
size_t proc_count(const char *text);

/* SIGKILL to them. */
void proc_kill(const char *text);

/* pid descends from ancestor, by the parents of this moment in all[]. */
bool proc_descends(
    const struct proc *all, size_t count, pid_t pid, pid_t ancestor);

/* Private dirty and clean memory of a process, in KiB. */
int64_t proc_private_kb(pid_t pid);

#endif
