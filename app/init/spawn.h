/*
 * Starting the command: a child with pipes or a terminal, the user of the
 * image, and nothing of ours but that.
 */
#ifndef SBX_INIT_SPAWN_H
#define SBX_INIT_SPAWN_H

#include "lib/passwd.h"
#include "lib/wire.h"

#include <sys/types.h>

struct spawn {
	pid_t pid;
	int input;     /* feeds its standard input; -1 where it has none */
	int output[2]; /* its standard output and error; -1 once at the end */
	int tty;       /* the master of its terminal, or -1 */
	int report; /* end-of-file once it runs, else a struct spawn_report */
};

/* Why the child did not become the command. */
struct spawn_report {
	enum wire_fail
	    why;   /* 0: it could not be executed, and said so itself */
	int error; /* errno */
};

/* Our ends are non-blocking and close-on-exec. -1 with *ret_why. */
int spawn_start(struct spawn *ret_s, const struct wire_exec *x,
    const struct passwd_user *user, const char *const *env,
    enum wire_fail *ret_why, struct err *e);

#endif
