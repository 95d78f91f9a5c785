/*
 * A relay between the stack and the program's own engine (dockerd.h), which
 * kills the engine at a request that was chosen: so a call fails in its midst,
 * or has worked and nobody is told.
 */
#ifndef SBX_E2E_GATE_H
#define SBX_E2E_GATE_H

#include <stdbool.h>

/* After dockerd_start. Returns a setting for stack_start. */
const char *gate_open(void);

enum gate_when {
	GATE_ASKED,    /* the engine has the request, and is at it */
	GATE_ANSWERED, /* its answer is there, and is not passed on */
};

/* At the nth request from now on that a pattern of fnmatch(3) fits: "POST
 * /commit?*", without the version. */
void gate_arm(const char *request, int nth, enum gate_when when);

/* It has killed the engine. */
bool gate_sprung(void);

/* The engine is started again, and can be reached. */
void gate_resume(void);

void gate_close(void);

#endif
