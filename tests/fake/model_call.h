/*
 * The engine's calls, by what they are about: rows of the table in
 * model_state.c.
 */
#ifndef SBX_TESTS_FAKE_MODEL_CALL_H
#define SBX_TESTS_FAKE_MODEL_CALL_H

#include "model_state.h"

/* What a call is about: the segment of its path after the first, its container
 * where it names one. */
struct subject {
	char name[160];
	struct container *container;
};

/* The body of the answer goes to text; returns its status. */
typedef int model_call(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text);

/* {"message": why} */
int refuse(struct buf *text, int status, const char *why);

/* An object with such labels is what the filter of r asks for. */
bool is_listed(const json_t *labels, const struct fake_request *r);

/* model_image.c */
model_call call_image, call_pull, call_commit, call_tag, call_images,
    call_untag;
struct image *state_image(struct model_state *s, const char *name);

/* model_volume.c */
model_call call_volume_create, call_volume, call_volumes, call_volume_remove;

/* model_network.c */
model_call call_network_create, call_network_list, call_network_remove;

#endif
