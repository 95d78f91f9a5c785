/*
 * Typed reads from a JSON object, by the rules of CONTRACT 1: null and the
 * zero value of a member's own type count as absent, another type is an
 * ERR_INPUT that names the member, unknown members are ignored.
 *
 * The only place that parses JSON from callers. Strings belong to the object.
 */
#ifndef SBX_JSON_READ_H
#define SBX_JSON_READ_H

#include "lib/arena.h"
#include "lib/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READ_DEPTH 32 /* deepest nesting: a thread's stack is small */

/* The body as an object; an empty or blank one is {}. ERR_JSON otherwise; free
 * with json_decref (json_auto_t). */
json_t *read_object(const char *bytes, size_t size, struct err *e);

/* A string without NUL; *ret is NULL where absent (so also where empty). */
int read_string(
    const json_t *o, const char *name, const char **ret, struct err *e);

/* A string that may hold NUL. */
int read_bytes(const json_t *o, const char *name, const char **ret,
    size_t *ret_size, struct err *e);

/* A whole number in min..max, or def where absent. */
int read_int(const json_t *o, const char *name, int64_t min, int64_t max,
    int64_t def, int64_t *ret, struct err *e);

/* A finite number in min..max, or def where absent. */
int read_real(const json_t *o, const char *name, double min, double max,
    double def, double *ret, struct err *e);

int read_bool(const json_t *o, const char *name, bool *ret, struct err *e);

/* An object or array member; *ret is NULL where absent (so also if empty). */
int read_member(const json_t *o, const char *name, json_type type, json_t **ret,
    struct err *e);

struct read_env_rule {
	size_t most;	  /* variables, 0: no limit */
	size_t bytes;	  /* of all names and values together, 0: no limit */
	bool line_breaks; /* values may hold them */
};

/* An object of name -> string as NULL-terminated NAME=value strings in the
 * arena; names POSIX, no NUL. Values never enter an error text. */
int read_env(const json_t *o, const char *name,
    const struct read_env_rule *rule, struct arena *a,
    const char *const **ret_env, struct err *e);

/* An array of strings without NUL, NULL-terminated; NULL where absent. */
int read_strings(const json_t *o, const char *name, struct arena *a,
    const char *const **ret, struct err *e);

#endif
