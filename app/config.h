/*
 * Configuration: the SBX_* variables of config.def as one constant struct.
 *
 * Read once at start, before any thread; nothing else in the product reads
 * the environment.
 */
#ifndef SBX_CONFIG_H
#define SBX_CONFIG_H

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SBX_VERSION "0.1.0"

/* What may stand between the entries of a list. */
#define CONFIG_APART ", \t\r\n\v\f"

struct config {
#define CONFIG_FIELD_INT int64_t
#define CONFIG_FIELD_BOOL int64_t
#define CONFIG_FIELD_STR const char *
#define CONFIG_FIELD_PATH const char *
#define V(name, field, type, min, max, def, text) CONFIG_FIELD_##type field;
#include "config.def"
#undef V
};

/*
 * Fill *ret_config from the environment, with defaults resolved (server, init,
 * redis_url). Strings live as long as the process. A bad value is an ERR_INPUT
 * that names the variable, the value and the rule; the caller exits with 2.
 */
int config_read(struct config *ret_config, struct err *e);

/*
 * The next SBX_* variable of the environment that is in no table here: a slip
 * of the pen, most likely, since it has no effect. *at is 0 at first. False
 * where there is none any more. *ret_meant is the variable that is spelled
 * nearly so, or NULL.
 */
#define CONFIG_NAME 64
bool config_unknown(
    size_t *at, char ret_name[CONFIG_NAME], const char **ret_meant);

/* The table for --help: name, type with bounds, default, meaning. */
void config_help(FILE *to);

/* NAME=value lines for a shell to eval: the resolved configuration. */
void config_print(const struct config *config, FILE *to);

#endif
