/*
 * The loop of a command's supervisor, around poll(2).
 *
 * Nothing in it blocks on the host: frames wait in a bounded buffer, the
 * command's pipes are not read while that is full (so a slow reader slows the
 * command), and deadlines and kills go on meanwhile.
 */
#ifndef SBX_INIT_SUPERVISE_H
#define SBX_INIT_SUPERVISE_H

#include "init/host.h"
#include "init/life.h"
#include "init/object.h"
#include "init/ops.h"
#include "init/output.h"
#include "init/spawn.h"

struct exec {
	const struct ops *ops;
	struct op *op;
	struct object *object; /* NULL: of wire version 2, nobody knows it */
	struct ring *ring;     /* NULL: it is not kept */
	struct wire_exec x;    /* in these two, until it runs: */
	struct buf frame, store;
	struct host host;
	struct output out;
	struct spawn child;
	struct life life;
	int signals;	 /* signalfd of SIGCHLD, and of PID 1's SIGUSR1 */
	int feed;	 /* more input comes from there, or -1 */
	bool running;	 /* WIRE_STARTED is out */
	bool not_found;	 /* it could not be executed */
	bool concluded;	 /* the last frame is in out */
	bool background; /* the host has left it to itself */
	size_t owed[2];	 /* bytes in the pipes that must precede the exit */
};

/* From the command's start until nothing of it is left. */
void supervise(struct exec *s);

#endif
