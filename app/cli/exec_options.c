/* The options that `run` and `exec` share. */
#include "cli/exec_options.h"
#include "cli/term.h"
#include "lib/jw.h"
#include "lib/str.h"

#include <stdlib.h>
#include <string.h>

#define DAY_SEC "86400"

static int
add_env(struct exec_options *o, const char *command, const char *value)
{
	if (o->env_count < EXEC_ENV_MAX) {
		o->env[o->env_count++] = value;
		return 0;
	}
	(void)cli_misuse(
	    command, "at most %d variables can be set", EXEC_ENV_MAX);
	return -1;
}

int
exec_option(
    struct exec_options *o, const char *command, int option, const char *value)
{
	switch (option) {
	case 't':
		o->tty = true;
		return 0;
	case 'i':
		o->interactive = true;
		return 0;
	case 'e':
		return add_env(o, command, value);
	case 'w':
		o->workdir = value;
		return 0;
	case 'u':
		o->user = value;
		return 0;
	case EXEC_TIMEOUT:
		o->timeout = value;
		return 0;

	default:
		return 1;
	}
}

int
exec_options_check(const struct exec_options *o, const char *command)
{
	const char *fault = NULL;

	if (o->timeout != NULL && !cli_is_number(o->timeout))
		fault = "--timeout is a whole number of seconds";

	else if (o->tty && !term_is())
		fault = "-t needs standard input to be a terminal";
	if (fault == NULL)
		return 0;
	(void)cli_misuse(command, "%s", fault);
	return -1;
}

void
exec_env(struct jw *w, const char *const *env, size_t count)
{
	char name[256];

	jw_key(w, "env");
	jw_open(w, '{');
	for (size_t i = 0; i < count; i++) {
		const char *equals = strchr(env[i], '=');
		size_t size =
		    equals != NULL ? (size_t)(equals - env[i]) : strlen(env[i]);
		const char *value;

		if (size >= sizeof(name))
			size = sizeof(name) - 1;
		memcpy(name, env[i], size);
		name[size] = '\0';
		value = equals != NULL ? equals + 1 : getenv(name);
		if (value != NULL)
			jw_str(w, name, value);
	}
	jw_close(w, '}');
}

void
exec_body(const struct cli *c, const struct exec_options *o, char *const *argv,
    bool detach, struct buf *to)
{
	struct jw w = JW_INIT(to);
	int cols, rows;

	jw_open(&w, '{');
	jw_key(&w, "argv");
	jw_open(&w, '[');
	for (; *argv != NULL; argv++)
		jw_str(&w, NULL, *argv);
	jw_close(&w, ']');
	jw_str(&w, "format", "base64");
	exec_env(&w, o->env, o->env_count);
	if (o->workdir != NULL)
		jw_str(&w, "cwd", o->workdir);
	if (o->user != NULL)
		jw_str(&w, "user", o->user);
	/* A terminal, or what goes on by itself, is not over after the API's
	 * 120 s. */
	if (o->timeout != NULL || o->tty || detach)
		jw_raw(&w, "timeoutSec",
		    o->timeout != NULL ? o->timeout : DAY_SEC);
	if (c->owner != NULL) {
		jw_str(&w, "owner", c->owner);
		jw_raw(&w, "generation", c->generation);
	}
	if (detach)
		jw_bool(&w, "detach", true);
	if (o->tty) {
		term_size(&cols, &rows);
		jw_key(&w, "tty");
		jw_open(&w, '{');
		jw_int(&w, "cols", cols);
		jw_int(&w, "rows", rows);
		jw_close(&w, '}');
	} else if (o->interactive) {
		jw_bool(&w, "stdin", true);
	}
	jw_close(&w, '}');
}

int
exec_attached(struct cli *c, const char *run, const struct exec_options *o,
    char *const *argv)
{
	BUF_AUTO body = BUF_INIT(CLI_BODY_MAX);
	struct session_plan plan = {
	    .run = run,

	    .query = "",
	    .tty = o->tty,
	    .feed = o->tty || o->interactive,
	};

	exec_body(c, o, argv, false, &body);
	plan.body = body.data;
	return session_run(c, &plan);
}
