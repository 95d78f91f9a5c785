/*
 * Warm volumes with something in them, under torture: trees whose files all
 * carry one number, so that one that is torn or mixed shows.
 */
#ifndef SBX_TESTS_MODULE_TORTURE_TREES_H
#define SBX_TESTS_MODULE_TORTURE_TREES_H

#include "lib/ulid.h"

#include <stdbool.h>

#define TREE_REPO "acme/web"
#define TREE_RUN                                           \
	"{\"image\":\"busybox\",\"ttlSec\":3600,\"warm\":" \
	"{\"repo\":\"" TREE_REPO "\"}}"

/* Nothing fails here. A run of that repository, a new tree in its volume; its
 * stamp. */
int tree_run(char ret_id[ULID_SIZE]);

/* A template with a new tree, whose run is gone; its stamp. */
int tree_template(void);

/* The stamp of what is there: 0 where there is nothing, -1 where it is not
 * whole. */
int tree_of_run(const char *id);
int tree_of_template(void);

/* The template's directory: repos/<repo>/g-<ULID>; false where there is none.
 */
bool tree_generation(char to[400]);

#endif
