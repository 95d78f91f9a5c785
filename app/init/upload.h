/*
 * A file in the making, in the directory in which it will stand.
 *
 * Put in its place whole and at once, or not at all. Where the kernel and the
 * file system can, it has no name until then, so that nothing is left of it
 * whatever becomes of this process; else it is called UPLOAD_PREFIX and
 * something random.
 */
#ifndef SBX_INIT_UPLOAD_H
#define SBX_INIT_UPLOAD_H

#include <stdbool.h>
#include <sys/types.h>

#define UPLOAD_PREFIX ".sbx-upload-"
#define UPLOAD_NAME (sizeof(UPLOAD_PREFIX) + 16)

struct upload {
	int dir;		/* the caller's */
	int fd;			/* to write to; mode 0600 */
	char name[UPLOAD_NAME]; /* "": it has none */
};

/* All return 0, or -1 with errno. */
int upload_open(struct upload *ret_u, int dir);
int upload_write(struct upload *u, const char *bytes, size_t size);

/* Under that name, in place of what is there (unless it is a directory); where
 * not replace, EEXIST if anything is. */
int upload_place(struct upload *u, const char *name, bool replace);

/* Undoes what was not placed. */
void upload_release(struct upload *u);

/* The path of an open file, as long as /proc is what it should be. */
#define UPLOAD_OWN_PATH 40
void upload_own_path(int fd, char to[UPLOAD_OWN_PATH]);

/* A name for something that stands in a directory for a moment. */
void upload_random_name(const char *prefix, char to[UPLOAD_NAME]);

#endif
