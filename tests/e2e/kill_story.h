/*
 * A story of test_torture_kill: told by a thread of its own while something is
 * killed.
 */
#ifndef SBX_E2E_KILL_STORY_H
#define SBX_E2E_KILL_STORY_H

#include "client.h"
#include "lib/ulid.h"

#include <pthread.h>

/* One story of a round, told by a thread of its own. */
struct telling {
	pthread_t thread;
	void (*tell)(struct telling *t);
	int start_ms;
	char mark[32]; /* in a label, a key, or an argument of a command */
	char id[ULID_SIZE];
	long status; /* of the last answer */
	char out[64];
	json_int_t code;  /* of the exit event, -99 where none came */
	json_int_t grant; /* generation */
	char fault[300];  /* what was wrong at once, or "" */
};

/* Something was, in that answer; the first counts. */
void kill_wrong(struct telling *t, const char *what, const struct reply *r);

/* No answer, or one that says that something is down; a proper problem then. */
bool kill_down(struct telling *t, const struct reply *r);

#endif
