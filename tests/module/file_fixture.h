/*
 * Operations on files of a run, frame by frame, with a test in the place of the
 * host: over the socket of the built sbx-init (pid1_fixture.h). Its root has a
 * shell, /work of user 1000, and /outside with a secret, which nobody may
 * reach.
 */
#ifndef SBX_TESTS_MODULE_FILE_FIXTURE_H
#define SBX_TESTS_MODULE_FILE_FIXTURE_H

#include "file_call.h"
#include "pid1_fixture.h"

#include <sys/stat.h>

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

void file_need_root(void); /* else the test is skipped */

struct stat file_look(const char *path); /* a link not followed */
bool file_is_there(const char *path);

/* How many processes handle files now. */
int file_handlers(void);

#endif
