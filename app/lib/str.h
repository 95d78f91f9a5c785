/*
 * Text: comparing, and reading numbers without surprises.
 */
#ifndef SBX_LIB_STR_H
#define SBX_LIB_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool str_eq(const char *a, const char *b);
bool str_ieq(const char *a, const char *b); /* ASCII case ignored */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
bool str_blank(const char *s); /* empty, or ASCII white space only */

/* The next word of a text whose words stand apart by these characters: *at
 * moves behind it. NULL where there is none. */
const char *str_word(const char **at, const char *apart, size_t *ret_size);

/* Same bytes, in a time that depends on size only. */
bool str_same_secret(const char *a, const char *b, size_t size);

/*
 * All of s as a decimal number: an optional '-', then digits, nothing else.
 * Returns 0, or -1 where it is not one or lies outside min..max.
 */
int str_to_int(const char *s, int64_t min, int64_t max, int64_t *ret_value);

/* ASCII lower case, in place. */
void str_lower(char *s);

/* Spread evenly, the same everywhere and for ever; of no use against somebody
 * who chooses the text (FNV-1a). */
uint32_t str_hash(const char *s);

/* Lower-case hex of bytes; to has room for 2 * size + 1. */
void str_hex(char *to, const void *bytes, size_t size);

/* POSIX name: [A-Za-z_][A-Za-z0-9_]* */
bool str_is_name(const char *s);

#endif
