/*
 * Operations on files of the run of file_fixture.h, frame by frame, with a test
 * in the place of the host.
 */
#ifndef SBX_TESTS_MODULE_FILE_CALL_H
#define SBX_TESTS_MODULE_FILE_CALL_H

#include "lib/wire_file.h"

/* -- one operation -- */

struct file_call {
	int fd;
	struct buf got;
	size_t used; /* of got: the frame handed out last */
};

/* what, path, and members as in the struct; user and root have defaults. */
void file_start(struct file_call *c, const struct wire_file *x);
/* The next frame, or 0 at the end of the connection. */
enum wire_type file_next(
    struct file_call *c, const char **ret_payload, size_t *ret_size);
/* Send; false where nobody takes it any more. */
bool file_tell(
    struct file_call *c, enum wire_type type, const void *bytes, size_t size);
void file_leave(struct file_call *c);
/* Until the last frame: 0 where it is WIRE_DONE, else why not; WIRE_FAIL_LAST +
 * 1 where the connection ended without a word. */
#define FILE_CUT (WIRE_FAIL_LAST + 1)
int file_finish(struct file_call *c);
/* What the last WIRE_FAIL said. */
extern char file_text[WIRE_TEXT + 1];

/* -- all of one operation: 0 or why not -- */

int file_do(enum wire_file_what what, const char *path);
int file_do_x(const struct wire_file *x);
int file_put(const char *path, const void *bytes, size_t size);
int file_put_x(const struct wire_file *x, const void *bytes, size_t size);
/* Into out (NULL: dropped), which is reset. */
int file_get(const char *path, struct buf *out);
int file_get_part(
    const char *path, uint64_t offset, uint64_t size, struct buf *out);
/* name and target of *ret_x in static buffers. */
int file_stat(const char *path, struct wire_stat *ret_x);
/* Names, each with a NUL, in no order. */
int file_list(const char *path, struct buf *names, size_t *ret_count);
bool file_has_name(const struct buf *names, const char *name);
/* It is a file with that text in it. */
void file_has(const char *path, const char *text);
/* The names in /work are just these, with blanks between. */
void file_work_is(const char *all);

/* A grant with that generation, which must be done. */
void file_fence(uint64_t generation);

#endif
