/*
 * The memory of model.h and the calls that work on it: no lock, no fault, no
 * connection.
 */
#ifndef SBX_TESTS_FAKE_MODEL_STATE_H
#define SBX_TESTS_FAKE_MODEL_STATE_H

#include "engine.h"
#include "model.h"

#include <jansson.h>

#define CONTAINER_VOLUMES 2

struct container {
	char name[64]; /* "": the slot is free */
	char id[65], image[128];
	json_t *labels;
	char volume[CONTAINER_VOLUMES][96]; /* names of those it has */
	const char *status; /* created, running, paused, exited */
	int code;
	int64_t created_ms, finished_ms;
	unsigned resets; /* SIGUSR1 to its PID 1: what ran is dead */
	char network[64];
};

struct network {
	char name[64]; /* "": the slot is free */
	char subnet[32];
	json_t *labels;
};

struct image {
	char id[80];		   /* "": the slot is free */
	char parent[80], tag[128]; /* "" where none */
	json_t *labels;
	int64_t created_ms;
};

struct volume {
	char name[96];	 /* "": the slot is free */
	char place[256]; /* a directory of the host */
	bool own;	 /* that was made for it */
	json_t *labels;
};

struct model_state {
	struct container container[MODEL_CONTAINERS];
	struct image image[MODEL_IMAGES]; /* that were made */
	struct volume volume[MODEL_VOLUMES];
	char place[64]; /* of volumes */
	struct network network[MODEL_CONTAINERS];
	size_t made, execs;
	bool pulled; /* what is called absent* */
};

/* By name or id; NULL where there is none. */
struct container *state_find(struct model_state *s, const char *name);
bool state_runs(const struct container *c);
void state_end(struct container *c, int code);
/* Without a name, and there for another image or a container. */
bool state_is_part(const struct model_state *s, const struct image *image);
struct network *state_network(struct model_state *s, const char *name);
/* The age of a volume that no container has is that of the run in its label:
 * all become old ones. */
void state_age_volumes(struct model_state *s);
void state_forget_volume(struct volume *v);
void state_forget_network(struct network *n);
void state_clear(struct model_state *s); /* execs stay until they end */

/* A network's age is that of the run in its label: all become old ones. */
void state_age_networks(struct model_state *s);

/*
 * Do a call; the body of its answer goes to text. Returns the status; 101 where
 * an exec is to begin in *ret_exec, which is NULL otherwise.
 */
int state_call(struct model_state *s, const struct fake_request *r,
    struct buf *text, const struct container **ret_exec);

#endif
