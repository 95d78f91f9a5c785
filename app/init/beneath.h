/*
 * Finding what a path below a root names, and never anything outside of it.
 *
 * Component by component, each by its directory's descriptor and without
 * following links; links are resolved here: relative ones within the root,
 * absolute ones where they lead below it (as the run sees it). So it does not
 * matter who swaps what meanwhile, and nothing depends on openat2(2).
 */
#ifndef SBX_INIT_BENEATH_H
#define SBX_INIT_BENEATH_H

#include "lib/err.h"
#include "lib/wire_file.h"

#include <stdbool.h>

#define BENEATH_LINKS 40 /* followed for one path, as in Linux */
#define BENEATH_AGAIN                                          \
	16 /* walks, where somebody removes what was just made \
	    */

struct beneath_root {
	int fd;		  /* O_PATH, a directory */
	const char *path; /* absolute, as links in the run name it */
};

/* A name in a directory; nobody promises that it is there, or still there: use
 * it with the *at calls and O_NOFOLLOW. */
struct beneath {
	int dir; /* O_PATH; the caller's to close */
	/* "." for the root itself, and for a directory that a link names
	 * without saying what it is called ("..", "sub/."). */
	char name[WIRE_NAME_MAX + 1];
};

enum beneath_how {
	BENEATH_FOLLOW = 1, /* a link in the last place is followed */
	/* Directories on the way are made, 0755. What is found may be removed
	 * all the same, which ENOENT tells: find it BENEATH_AGAIN times. */
	BENEATH_MAKE = 2,
};

/* -1 with *ret_why, and a sentence that names path: WIRE_FAIL_ABSENT (on the
 * way; the last name need not be there), ESCAPES, NOT_DIRECTORY, DENIED, NAME,
 * SPACE, INTERNAL. */
int beneath_find(const struct beneath_root *root, const char *path, int how,
    struct beneath *ret_b, enum wire_fail *ret_why, struct err *e);

/* The same with BENEATH_FOLLOW, and *ret_fd (O_PATH) is what is there, which is
 * no link: WIRE_FAIL_ABSENT where there is nothing. */
int beneath_open(const struct beneath_root *root, const char *path,
    struct beneath *ret_b, int *ret_fd, enum wire_fail *ret_why, struct err *e);

/* What errno means, as a failure about path. Returns -1. */
int beneath_errno(
    const char *path, int error, enum wire_fail *ret_why, struct err *e);

#endif
