/*
 * Short cuts for tests of snapshots; each fails the test where the API does not
 * answer as it should.
 */
#ifndef SBX_E2E_SNAPSHOTS_H
#define SBX_E2E_SNAPSHOTS_H

#include "client.h"
#include "lib/ulid.h"

#define SNAPSHOT_SIZE 64

/* sh -c cmd ends with 0, and says just that. */
void run_says(const char *id, const char *cmd, const char *want);

/* POST …/snapshot must be 201; the image. */
void snapshot_take(const char *id, char ret_image[SNAPSHOT_SIZE]);

/* DELETE of it: the reply. */
struct reply snapshot_delete(const char *image);

/* It must be 204. */
void snapshot_end(const char *image);

/* The engine's view of an image; fails the test where it has none. */
json_t *snapshot_inspect(const char *image);

/* How many images the engine has that this stack's snapshots made, those
 * without a name included. */
size_t snapshot_images(void);

#endif
