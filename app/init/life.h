/*
 * The life of a command: its processes, its deadline and its end, which takes
 * everything along that it started.
 */
#ifndef SBX_INIT_LIFE_H
#define SBX_INIT_LIFE_H

#include "lib/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LIFE_NEVER INT64_MAX
#define LIFE_GRACE_MS 100 /* for bytes of what outlives the command */
/* From TERM to KILL; the same on WIRE_KILL, or where the host left. */
#define LIFE_TERM_MS 2000
#define LIFE_TERM_KILL_MS 1500

struct life {
	pid_t pid;  /* of the command, a child */
	bool dead;  /* it is; its status: */
	bool alone; /* nothing is left of it and what it started */
	int status;
	bool timed_out, fenced;
	/* CLOCK_MONOTONIC, in ms, or LIFE_NEVER: */
	int64_t deadline;
	int64_t died_at;
	int64_t ending_at; /* TERM was sent */
	int64_t kill_at;   /* KILL follows */
	int64_t late_at;   /* the exit is told, though not all may be dead */
	bool killing;
	int64_t oom_before;
};

/* Before it is started. */
void life_init(struct life *l);
/* It was; timeout_ms 0: none. */
void life_begin(struct life *l, pid_t pid, uint32_t timeout_ms);

/* Take note of who died. True where dead or alone became true. */
bool life_reap(struct life *l);

/* Begin to end everything: TERM now, KILL after so many milliseconds. */
void life_end(struct life *l, int64_t term_ms);

/* Do what is due. True where that killed: reap. */
bool life_step(struct life *l);

/* It should long have ended: whatever happens, say so. */
bool life_is_late(const struct life *l);

/* How long nothing needs doing unless something happens, for poll(2). told: the
 * exit is, so that only the rest matters. */
int life_idle_ms(const struct life *l, bool told);

/* How it ended. not_found: it could not be executed. */
struct wire_exit life_exit(const struct life *l, bool not_found);

#endif
