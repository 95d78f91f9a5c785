/*
 * Operations on files of a run, frame by frame, with a test in the place of the
 * host: over the socket of the built sbx-init (pid1_fixture.h). Its root has a
 * shell, /work of user 1000, and /outside with a secret, which nobody may
 * reach.
 */
#ifndef SBX_TESTS_MODULE_FILE_FIXTURE_H
#define SBX_TESTS_MODULE_FILE_FIXTURE_H

#include "lib/wire_file.h"
#include "pid1_fixture.h"

#define FILE_USER 1000
#define FILE_SECRET "nobody may read this"

/* The run of the test that runs. */
extern struct pid1 file_run;

/* As cmocka's set-up and tear-down. The latter asserts that /outside is as it
 * was, and that no temporary file is left in /work. */
int file_open_run(void **state);
int file_close_run(void **state);
/* The same with a tmpfs of 1 MiB as /work. */
int file_open_small(void **state);
int file_close_small(void **state);

/* The same with an overlay as /work, as a run has it from its image: below it
 * the tree "lower" with "a", "link" to it, "d/b" and "d/e/c", each file with
 * its name in it; and at "mount" another file system. */
int file_open_overlay(void **state);
int file_close_overlay(void **state);

/* A path of the run's, from here, in one of four static buffers. */
const char *file_at(const char *path);

/* Do that as the run's user, within its root, in a child of ours: wait for it,
 * which must go well; or let it run until file_stop. */
void file_inside(void (*act)(void));
pid_t file_background(void (*act)(void));
void file_stop(pid_t pid);

/* The run has no /proc any more. */
void file_without_proc(void);

/* A grant with that generation, which must be done. */
void file_fence(uint64_t generation);

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

/* How many processes handle files now. */
int file_handlers(void);

#endif
