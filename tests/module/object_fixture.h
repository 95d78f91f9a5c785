/*
 * Execs that outlive their stream (lib/wire_object.h), with a test in the place
 * of the host: a PID 1 for each test, which sees this box's files, and direct
 * connections to it, as struct init without a process (init_fixture.h).
 */
#ifndef SBX_TESTS_MODULE_OBJECT_FIXTURE_H
#define SBX_TESTS_MODULE_OBJECT_FIXTURE_H

#include "init_fixture.h"
#include "lib/wire_object.h"
#include "pid1_fixture.h"

#define OBJECT_TEST(f) \
	cmocka_unit_test_setup_teardown(f, objects_open, objects_close)
#define ENDLESS "while :; do sleep 1; done"

extern struct pid1 objects_run;

/* Of the group: a network of its own. Of each test: its PID 1. */
int objects_begin(void **state);
int objects_open(void **state);
int objects_close(void **state);
/* The same, of a run of so much memory. */
void objects_open_sized(unsigned memory_mib);

/* A connection, without a word; and its end. */
void object_call(struct init *in);
void object_hang_up(struct init *in);

/* A request; until it runs. id and keep are x's. */
void object_start(struct init *in, const struct wire_exec *x);
/* It is detached; and both at once. */
void object_detach(struct init *in);
void object_launch(const char *id, const char *script);

/* What comes next is the refusal of the request; its cause. */
enum wire_fail object_refusal(struct init *in);

/* 0: it was done; else why not. */
enum wire_fail object_do(const struct wire_act *x);
enum wire_fail object_end(const char *id);

/* Feed it: all of text, and maybe the end. */
enum wire_fail object_feed(
    const char *id, const char *text, size_t size, bool close);

/* Read it from there; init_finish reads the rest. */
void object_attach(struct init *in, const char *id, uint64_t offset);

/* How many are listed; that one's entry (strings in a static buffer). */
int objects_count(void);
bool object_find(const char *id, struct wire_info *ret_info);
bool object_has_ended(const char *id);

/* All that it said, from there on, and its end. */
void object_read(const char *id, uint64_t offset, struct outcome *ret_o);

#endif
