/*
 * Files of a container, as the archive calls of an engine tell of them (moby
 * 20.10 to 28): the handler of a fake engine (fake_serve), which answers what
 * else a reader of an exited run's files asks as well.
 */
#ifndef SBX_TESTS_FAKE_FILES_H
#define SBX_TESTS_FAKE_FILES_H

#include "engine.h"

#include <stdatomic.h>
#include <stdint.h>

struct fake_file {
	const char *path; /* absolute */
	/* f file, d directory, l link, p fifo, s socket, h hard link to the
	 * path in text, o a link that the engine cannot make out */
	char type;
	const char *text; /* content, or a link's target; NULL: zeros */
	uint64_t size;	  /* of zeros */
};

enum files_fault {
	FILES_WELL,
	FILES_CUT,    /* the connection breaks after fault_at bytes */
	FILES_SHORT,  /* the answer ends there, as if it were whole */
	FILES_STALL,  /* nothing comes after them */
	FILES_REFUSE, /* every archive is a 500 */
	FILES_OTHER,  /* archives are of something else */
};

struct fake_files {
	const struct fake_file *file; /* as a walk finds them: by name */
	size_t count;
	enum files_fault fault;
	size_t fault_at;
	atomic_bool gone; /* the container was removed */
	/* Archives asked for, those that are open, and paths asked for that
	 * have a link on the way: nobody may. */
	atomic_int archives, open, followed;
};

/* fake_handler; arg is the struct fake_files. */
struct fake_rule fake_files_answer(
    void *arg, const struct fake_request *r, struct buf *text);

#endif
