/*
 * A peer (fake/peer.h) for a test program: one for all its tests, which are
 * cmocka_unit_test_teardown(f, peer_stop) in a group with peer_setup and
 * peer_teardown.
 */
#ifndef SBX_TESTS_MODULE_PEER_FIXTURE_H
#define SBX_TESTS_MODULE_PEER_FIXTURE_H

#include "../fake/peer.h"
#include "guest/file.h"

#define PEER_PATIENCE_MS 30000
#define PEER_ID "01J" /* of each exec here */

extern struct peer peer;
extern const struct guest_patience peer_patience;

int peer_setup(void **state);
int peer_teardown(void **state);
int peer_stop(void **state); /* a test that failed leaves it playing */

/* Let it say that; once the other was heard; nothing any more. */
void say(enum wire_type type, const char *text);
void say_after(enum wire_type cue, enum wire_type type);
void say_nothing(void);

/* The next frame that it heard, or 0. */
enum wire_type next_heard(size_t *ret_size);

/* Begin something there. */
struct guest *peer_exec(bool keep, const char *input, struct err *e);
struct guest_file *peer_file(enum wire_file_what what, struct err *e);

#endif
