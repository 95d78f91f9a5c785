/*
 * Other programs as contenders: the docker command, curl, a bare shell.
 */
#ifndef SBX_BENCH_SPAWNED_H
#define SBX_BENCH_SPAWNED_H

#include <stddef.h>

/* Start it, read its standard output to the end (at most size - 1 bytes of it
 * are kept, NUL-terminated; NULL: none), and wait. How long that took, in ms.
 * Fails the test where it does not end with 0. */
double spawned(const char *const *argv, char *ret_said, size_t size);

/* `docker exec CONTAINER ARGUMENTS...` on the stack's engine. */
double spawned_docker_exec(const char *container, const char *const *argv,
    char *ret_said, size_t size);

#endif
