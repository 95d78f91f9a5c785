/*
 * The options that `run` and `exec` share: what is executed, and how.
 */
#ifndef SBX_CLI_EXEC_OPTIONS_H
#define SBX_CLI_EXEC_OPTIONS_H

#include "cli/cli.h"
#include "cli/session.h"

#include <getopt.h>

#define EXEC_OPTIONS "tie:w:u:"
#define EXEC_ENV_MAX 64

/* Values of the long ones that have no letter; a command's own begin at
 * EXEC_LONG_LAST. */
enum { EXEC_TIMEOUT = 256, EXEC_LONG_LAST };

#define EXEC_LONG                                                \
	{"tty", no_argument, NULL, 't'},                         \
	    {"interactive", no_argument, NULL, 'i'},             \
	    {"env", required_argument, NULL, 'e'},               \
	    {"workdir", required_argument, NULL, 'w'},           \
	    {"user", required_argument, NULL, 'u'},              \
	{                                                        \
		"timeout", required_argument, NULL, EXEC_TIMEOUT \
	}

#define EXEC_HELP                                                             \
	"  -t, --tty            give it a terminal, this one's size\n"        \
	"  -i, --interactive    standard input goes to it (-t does too)\n"    \
	"  -e, --env NAME=VALUE set a variable for it; NAME alone: as here\n" \
	"  -w, --workdir DIR    below /work\n"                                \
	"  -u, --user USER      another user of the image\n"                  \
	"      --timeout SEC    kill it then (120; a day with -t or -d)\n"

struct exec_options {
	bool tty, interactive;
	const char *workdir, *user, *timeout;
	const char *env[EXEC_ENV_MAX];
	size_t env_count;
};

/* One that getopt_long(3) found: 0, or 1 where it is none of these; -1 where
 * its value is bad (said). */
int exec_option(
    struct exec_options *o, const char *command, int option, const char *value);

/* What was chosen fits together; says what does not. */
int exec_options_check(const struct exec_options *o, const char *command);

/* The body of POST …/exec. */
void exec_body(const struct cli *c, const struct exec_options *o,
    char *const *argv, bool detach, struct buf *to);

/* Members of an object `env`. */
struct jw;
void exec_env(struct jw *w, const char *const *env, size_t count);

/* Run it, attached. */
int exec_attached(struct cli *c, const char *run, const struct exec_options *o,
    char *const *argv);

#endif
