/*
 * A pseudoterminal for a command.
 *
 * The supervisor keeps the master, the command gets the slave. Reading the
 * master fails with EIO once nobody has the slave open any more, after the last
 * byte was read: that is its end-of-file.
 */
#ifndef SBX_INIT_TTY_H
#define SBX_INIT_TTY_H

#include "lib/err.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * Both ends, close-on-exec, the master non-blocking; neither becomes the
 * controlling terminal of the caller. A workload that put something else in
 * place of /dev/ptmx gets an error, and nobody waits.
 */
int tty_open(uint16_t cols, uint16_t rows, int *ret_master, int *ret_slave,
    struct err *e);

/* In the child, which has called setsid(2) and is root still: give the slave to
 * the user, and make it the controlling terminal and descriptors 0, 1 and 2.
 * Returns 0, or -1 with errno. */
int tty_enter(int slave, uid_t uid);

/* A new size: SIGWINCH to the foreground, where it is one. 0, or -1 with
 * errno. */
int tty_resize(int master, uint16_t cols, uint16_t rows);

/* The process group in the terminal's foreground, or -1: none, or none in this
 * pid namespace. */
pid_t tty_foreground(int master);

#endif
