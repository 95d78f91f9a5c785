/*
 * Everything below this process: found through /proc by parentage, so that
 * neither a session of its own nor a double fork hides a process (this one is
 * a subreaper: orphans become its children).
 */
#ifndef SBX_INIT_TREE_H
#define SBX_INIT_TREE_H

/* Send sig once to each of them. */
void tree_signal(int sig);

/*
 * Stop all of them, then kill all. What forked meanwhile is left for the next
 * call: repeat, reaping in between, until waitpid(2) says ECHILD.
 */
void tree_kill(void);

#endif
