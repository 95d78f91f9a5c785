/* What a request about files asks for: its path and its query. */
#ifndef SBX_API_FILES_INPUT_H
#define SBX_API_FILES_INPUT_H

#include "api/call.h"
#include "lib/wire_file.h"

struct files_input {
	char id[ULID_SIZE]; /* the run's */
	enum wire_file_what what;
	const char *path; /* below /work, "" is /work itself */
	const char *to;	  /* of a move, likewise; else "" */
	bool recursive;
};

/* ERR_INPUT, ERR_PATH, ERR_RUN_ABSENT. Which operation it is follows from the
 * method of the route and the flags of the query. */
int files_input(struct call *c, struct files_input *ret_in, struct err *e);

/* A path below /work fits the kernel's limits; ERR_PATH. */
int files_path_check(const char *path, struct err *e);

#endif
