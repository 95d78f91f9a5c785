/*
 * A Docker engine with a memory, behind fake engines (engine.h): images,
 * volumes, containers with their labels and states, execs that speak as
 * sbx-init does (guest.h). For tests that ask what is left.
 *
 * Any image is here, but those called absent*, which must be pulled first, and
 * snapshots, which must be made. What a container writes is in no image; one
 * that is staged for a snapshot (teploy.sandbox.staging) ends when it starts,
 * its copying done. Networks are known too: one that a running container is
 * in stays. Of
 * the calls on a fake that may fail the n-th does, once, in a chosen way:
 *
 *	model_fail(m, 3, MODEL_LOSE);
 *	... the third call from here on does its work and gives no answer ...
 *	model_heal(m);
 */
#ifndef SBX_TESTS_FAKE_MODEL_H
#define SBX_TESTS_FAKE_MODEL_H

#include "engine.h"

#include <stdint.h>

#define MODEL_CONTAINERS 32
#define MODEL_IMAGES 32
#define MODEL_VOLUMES 32

struct model;

struct model *model_new(void);
void model_free(struct model *m); /* after its fakes */

/* This fake's calls are the model's, and may fail where `fails`. */
void model_serve(struct model *m, struct fake *f, bool fails);

enum model_fault {
	MODEL_RESET,  /* nothing is done, the connection closed */
	MODEL_LOSE,   /* done, and the connection closed */
	MODEL_CUT,    /* done, and the connection closed amid the answer */
	MODEL_REFUSE, /* nothing is done, the answer a 500 */
	MODEL_LATE,   /* the connection closed, and done by model_heal */
	MODEL_DOWN,   /* nothing is done, from then on, until model_heal */
	MODEL_HOLD,   /* nothing happens until model_release; then as always */
	MODEL_FAULTS
};

void model_fail(struct model *m, size_t n, enum model_fault how);

/* The n-th call came, and is being held. */
bool model_holds(struct model *m);
void model_release(struct model *m);

/* No more faults; what is late is done. Returns the call that failed, as
 * "POST /containers/create?...", or NULL where it did not come to that; valid
 * until the next model_fail. */
const char *model_heal(struct model *m);

/* What there is. */
struct model_container {
	char name[64];
	bool running;
};

/* Names of images that were made ("" where untagged, unless others are made of
 * it) and of volumes, each followed by a blank. */
void model_objects(struct model *m, struct buf *images, struct buf *volumes);

size_t model_list(struct model *m, struct model_container to[MODEL_CONTAINERS]);
/* Networks; their names are those of the containers in them. */
size_t model_networks(struct model *m, char to[MODEL_CONTAINERS][64]);
size_t model_made(struct model *m);  /* containers ever, since model_clear */
size_t model_execs(struct model *m); /* that run */

/* The directory of a volume; false where there is none. */
bool model_volume(struct model *m, const char *name, char to[256]);

/* Everything is so much older. */
void model_age(struct model *m, int64_t ms);

/* A container's process ends with this code. */
void model_end(struct model *m, const char *name, int code);

/* Neither containers nor images, volumes and networks. */
void model_clear(struct model *m);

#endif
