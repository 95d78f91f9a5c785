/*
 * The real sbx-reaper on a private Redis (run_fixture.h) and the fake engine,
 * with directories of its own. Its log is a file that can be searched.
 */
#ifndef SBX_TESTS_MODULE_REAPER_FIXTURE_H
#define SBX_TESTS_MODULE_REAPER_FIXTURE_H

#include "../fake/engine.h"
#include "run_fixture.h"

#include <stdbool.h>
#include <sys/types.h>

#define REAPER_INSTANCE "01BX5ZZKBKACTAV9WEVGEMMVRZ"

extern struct fake *engine;

/* Group setup and teardown: Redis. Test setup and teardown: an empty Redis, a
 * fake engine without containers, directories; then no reaper runs. */
int reaper_group_open(void **state);
int reaper_group_close(void **state);
int reaper_test_open(void **state);
int reaper_test_close(void **state);

/* Start one more reaper, which reconciles every second. */
pid_t reaper_start(void);
/* Its exit status, or 128 + the signal it died of; 0 signal only waits. */
int reaper_end(pid_t pid, int signal_number);

bool reaper_logged(const char *text);

/* SBX_RUN_DIR/runs/<id>, made with a file in it, so many seconds old. */
void reaper_make_directory(const char *id, int age_sec);
bool reaper_has_directory(const char *id);
/* A file more in it. */
void reaper_put_file(const char *id, const char *name, const char *text);

/* A container as GET /containers/json tells of it. labels: as in a real
 * create of that run, apart from those named in `without`. */
struct listed {
	const struct run *run;
	const char *status;  /* "running", "exited", "created", ... */
	int age_sec;	     /* of the container */
	const char *without; /* a label's last word that is missing, or NULL */
	const char *run_label; /* in place of the run's id, or NULL */
};

/* From now on the engine lists these. */
void reaper_containers(const struct listed *listed, size_t count);

/* A container's inspection: {status, code, oom}; 404 otherwise. */
void reaper_inspect(
    const struct run *run, const char *status, int code, bool oom_killed);

/* Removals asked for so far. */
size_t reaper_removals(const char *id);

#endif
