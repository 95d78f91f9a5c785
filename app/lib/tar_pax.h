/*
 * What extended headers say, for the reader of lib/tar.h alone.
 */
#ifndef SBX_LIB_TAR_PAX_H
#define SBX_LIB_TAR_PAX_H

#include "lib/tar.h"

/* Of tar_reader.has. */
enum {
	HAS_NAME = 1,
	HAS_LINK = 2,
	HAS_SIZE = 4,
	HAS_MTIME = 8,
	HAS_UID = 16,
	HAS_GID = 32,
	HAS_HOLES = 64,
	HAS_HEADER = 128, /* an extended one, whatever it said */
};

/* ERR_INPUT with that sentence. Returns -1. */
int tar_malformed(struct err *e, const char *what);

/* The nearest that there is room for. */
uint32_t tar_to_id(int64_t value);
int64_t tar_to_ns(int64_t seconds, int64_t ns);

/* HAS_NAME or HAS_LINK. */
int tar_keep_text(struct tar_reader *r, unsigned what, const char *value,
    size_t size, struct err *e);

/* Take the pax records that r->block has whole. */
int tar_take_records(struct tar_reader *r, struct err *e);

#endif
