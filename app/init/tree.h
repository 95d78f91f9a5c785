/*
 * Everything that this process started: found through /proc by parentage, so
 * that neither a session of its own nor a double fork hides a process (this one
 * is a subreaper: orphans become its children).
 *
 * A kernel without subreapers (gVisor) gives orphans to PID 1. There a process
 * counts that has the tree's setting in its environment, or is in the command's
 * session, as well as what is below such a one. What leaves all of that at once
 * (env -i setsid, of a parent that ends) is not found.
 */
#ifndef SBX_INIT_TREE_H
#define SBX_INIT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Before anything is started. Returns the setting, NAME=value, that the
 * command's environment must have, or NULL: none. */
const char *tree_begin(void);

/* The command, which leads a session: it was forked. */
void tree_command(pid_t pid);

/* SIGCHLD tells of the end of each of them. Else look now and then. */
bool tree_tells(void);

/* Where waitpid(2) says ECHILD: nothing is left. */
bool tree_gone(void);

/* Send sig once to each of them. */
void tree_signal(int sig);

/*
 * Stop all of them, then kill all. What forked meanwhile is left for the next
 * call: repeat, reaping in between, until nothing is left.
 */
void tree_kill(void);

/* The same to all but the children that are spared, and what is below those.
 * Returns how many there were. */
size_t tree_kill_but(
    bool (*spared)(const void *arg, pid_t child), const void *arg);

#endif
