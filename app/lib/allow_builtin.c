/* The built-in list. */
#include "lib/allow.h"

enum { IN, BOTH };

#define ALLOW(entry, direction, text) {entry, (direction) == BOTH, text},
const struct allow_builtin allow_builtin[] = {
#include "lib/allow_builtin.def"
};
#undef ALLOW

const size_t allow_builtin_count =
    sizeof(allow_builtin) / sizeof(allow_builtin[0]);
