/*
 * Everything that a test of the real stack uses.
 *
 *	stack.h    start and stop it, and find its processes
 *	client.h   speak HTTP with it, whole or streamed
 *	sandbox.h  make a run, execute a command, in one line
 *	outside.h  look at Docker and Redis behind its back
 *	proc.h     look at /proc, the commands in the runs included
 *	wait.h     wait_until(condition, ms): no test sleeps
 */
#ifndef SBX_E2E_HARNESS_H
#define SBX_E2E_HARNESS_H

#include "../check.h"
#include "../wait.h"
#include "client.h"
#include "outside.h"
#include "proc.h"
#include "sandbox.h"
#include "stack.h"

#include "lib/clock.h"
#include "lib/str.h"

#endif
