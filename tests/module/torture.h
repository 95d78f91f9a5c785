/*
 * Torture: a story is told again and again, each time with another one of its
 * Redis or engine calls failing in another way, until it comes to its end
 * without reaching the call that would fail.
 *
 *	static const struct story story = {.name = "create", .tell = create};
 *	torture(&story);
 *
 * After each telling the fault is over, time passes, the reaper goes over
 * everything twice, and then there must be no container without a record, no
 * record without a container, no directory, mark or key that nobody answers
 * for (torture_world.h), and every answer must have been well-formed and in
 * time (torture_client.h). What was promised must be there: promise().
 */
#ifndef SBX_TESTS_MODULE_TORTURE_H
#define SBX_TESTS_MODULE_TORTURE_H

#include <stdbool.h>

struct story {
	const char *name;
	void (*prepare)(void); /* nothing fails; may be NULL */
	void (*tell)(void);    /* one of its calls does */
	/* The fault is over, no time has passed; may be NULL. */
	void (*after)(void);
	/* Time has passed and the reaper was here; may be NULL. */
	void (*end)(void);
	/* Redis also answers too late: takes seconds. */
	bool late;
	bool clientless; /* nobody who could leave */
};

/* All of it. Fails the test where anything was wrong. */
void torture(const struct story *s);

/* The fault of this telling was over at once, and told: whoever it befell could
 * undo what it had done. */
bool fault_was_brief(void);

/* Something is, in this telling. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A caller was told that this run exists, or that it does not: at the end of
 * this telling it runs, or is gone. The latest word counts. */
void promise(const char *id, bool exists);

#endif
