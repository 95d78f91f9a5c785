/*
 * An image reference taken apart, by the grammar of Docker's distribution
 * library: [host[:port]/]path[:tag][@digest].
 *
 * Pure. Whether the image exists is the engine's business.
 */
#ifndef SBX_DOCKER_REFERENCE_H
#define SBX_DOCKER_REFERENCE_H

#include "lib/err.h"

#include <stdbool.h>

#define REFERENCE_NAME_MAX 255

struct reference {
	char name[REFERENCE_NAME_MAX + 1]; /* as given, no tag, no digest */
	char host[REFERENCE_NAME_MAX + 1]; /* "docker.io" where none is named */
	char version[160]; /* the digest, else the tag, else "latest" */
	bool is_id;	   /* an image's id: cannot be pulled; rest is "" */
};

/* ERR_INPUT where text is not a reference. */
int reference_parse(
    const char *text, struct reference *ret_reference, struct err *e);

#endif
