/*
 * A command in a run, attached: its output to ours, our input to its, our
 * signals to it, its exit status ours.
 */
#ifndef SBX_CLI_SESSION_H
#define SBX_CLI_SESSION_H

#include "cli/cli.h"

struct session_plan {
	const char *run;  /* id */
	const char *exec; /* NULL: start one with body, else follow this */
	const char *body; /* of POST …/exec; asks for format base64 */

	const char *query; /* of exec's stream, or "" */
	bool tty;	   /* it has a terminal, and so have we */
	bool feed;	   /* standard input goes to it */
};

/*
 * Until the command ends: its exit code; CLI_TIMED_OUT; CLI_CUT where the
 * stream broke off, or never began (said on standard error). The first INT or
 * TERM kills the command and all that it started (128 + the signal); the second
 * does not wait for that. Of a command that is followed, they end the
 * following.
 */
int session_run(struct cli *c, const struct session_plan *plan);

#endif
