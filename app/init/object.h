/*
 * What is known of an exec, in memory that PID 1 shares with its supervisor:
 * who it is, what it said (init/ring.h), and the mail that PID 1 has for it.
 *
 * The supervisor is the only writer, but for mail and where PID 1 ends what a
 * killed supervisor left open.
 */
#ifndef SBX_INIT_OBJECT_H
#define SBX_INIT_OBJECT_H

#include "init/ring.h"
#include "lib/wire_object.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum mail_what { MAIL_SIGNAL = 1, MAIL_RESIZE, MAIL_END };

struct mail {
	enum mail_what what;
	uint8_t signal;
	uint16_t cols, rows;
};

struct object {
	/* PID 1's alone */
	uint64_t serial;   /* never twice the same */
	struct ring *ring; /* NULL: not kept; the supervisor reads this */
	int feed;	   /* PID 1's end of the way to its input, or -1 */
	/* the supervisor's, complete before listed */
	char id[WIRE_ID_MAX + 1];
	char cmd[WIRE_CMD_MAX + 1];
	bool tty, feedable;
	int64_t started_ms;
	_Atomic bool listed;   /* it runs, or has run and is kept */
	_Atomic bool detached; /* it is in the background */
	_Atomic bool closed;   /* its input is: feeding it is in vain */
	_Atomic bool gone;     /* nothing of it is left */
	/* mail: one letter at a time */
	_Atomic uint64_t letter;
	_Atomic uint32_t posted, taken; /* as counted */
};

/* -- the supervisor's -- */

/* Tell what runs. PID 1 lists it from now on. */
void object_tell(struct object *x, const struct wire_exec *exec);

/* The command has ended so. Nobody but a ring tells of it any more. */
void object_over(struct object *x, const struct wire_exit *exit);

/* The letter that is there. Once it was dealt with: object_took. */
bool object_mail(const struct object *x, struct mail *ret_mail);
void object_took(struct object *x);

/* -- PID 1's -- */

/* An empty one. */
void object_clear(struct object *x, uint64_t serial);

/* It is of no use any more: closes and frees what PID 1 has of it. */
void object_release(struct object *x);

/* The supervisor is dead. False: so is all that it told. */
bool object_outlives(struct object *x);

/* Runs: can be signalled, fed and so on. */
bool object_runs(const struct object *x);

/* What there is to say of it; strings are borrowed. */
struct wire_info object_info(const struct object *x);

/* Leave a letter, unless there is one; *ret_count is then what taken reaches
 * when this one was taken. The caller wakes the supervisor. */
bool object_post(
    struct object *x, const struct mail *mail, uint32_t *ret_count);
bool object_was_taken(const struct object *x, uint32_t count);

#endif
