/*
 * Exec objects of one run, in tests: start them, look at them, act on them.
 */
#ifndef SBX_E2E_OBJECTS_H
#define SBX_E2E_OBJECTS_H

#include "client.h"
#include "lib/ulid.h"

#include <jansson.h>
#include <stdbool.h>

/* The run that all of these are about. */
extern char object_run[ULID_SIZE];

/* POST exec with that body (released) and detach must be 202; its id. */
void object_start(json_t *body, char ret_id[ULID_SIZE]);

/* The same of sh -c cmd. */
void object_sh(const char *cmd, char ret_id[ULID_SIZE]);

/* "/v1/runs/RUN/execs/ID/what" in a static buffer; what may be "" or begin with
 * '?'. */
const char *object_url(const char *id, const char *what);

/* GET of it. */
struct reply object_get(const char *id);

/* A member of it, by path, once the GET is 200. */
int64_t object_int(const char *id, const char *path);
bool object_is(const char *id, const char *state);

/* POST of that to it; the status. */
long object_post(const char *id, const char *what, const char *body);

/* The stream from an offset on ("?offset=3"). */
struct stream *object_follow(const char *id, const char *query);

/* All of it, to the exit. */
struct executed object_read(const char *id, const char *query);

/* A file of this name appears in /work of the run: what waits for it goes on.
 */
void object_let(const char *name);

/* For commands: waits until object_let. */
#define UNTIL(name) "until [ -e " name " ]; do sleep 0.02; done; "

#endif
