/* Turning a request into an execve(2). */
#include "init/command.h"
#include "lib/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One argument may have 128 KiB with its NUL (MAX_ARG_STRLEN). */
#define PIECE (120u * 1024)
#define TERMINAL "TERM=xterm-256color"

/* Both are NAME=... of the same name. */
static bool
same_name(const char *a, const char *b)
{
	size_t size = strcspn(a, "=");

	return strncmp(a, b, size) == 0 && b[size] == '=';
}

static bool
overridden(const char *setting, const char *const *env)
{
	for (; *env != NULL; env++)
		if (same_name(setting, *env))
			return true;
	return false;
}

static size_t
count(const char *const *list)
{
	size_t n = 0;

	while (list[n] != NULL)
		n++;
	return n;
}

const char **
command_env(const struct wire_exec *x, const struct passwd_user *user,
    const char *root_home, const char *tag, char home[COMMAND_HOME])
{
	const char *now = getenv("HOME");
	const char *const *image = (const char *const *)environ;
	const char **env = mem_alloc(
	    mem_array(count(image) + count(x->env) + 4, sizeof(*env)));
	size_t n = 0;

	if (tag != NULL)
		env[n++] = tag;
	/* Docker's exec runs us as root, and sets HOME to root's where the
	 * image does not: any other value is the image's own. */
	(void)snprintf(home, COMMAND_HOME, "HOME=%s",
	    now == NULL || (user->uid != 0 && strcmp(now, root_home) == 0)
		? user->home
		: now);
	if (!overridden(home, x->env))
		env[n++] = home;
	if (x->cols > 0 && getenv("TERM") == NULL &&
	    !overridden(TERMINAL, x->env))
		env[n++] = TERMINAL;
	for (; *image != NULL; image++)
		if (!overridden(*image, x->env) && !same_name(*image, home))
			env[n++] = *image;
	for (const char *const *own = x->env; *own != NULL; own++)
		if (tag == NULL || !same_name(*own, tag))
			env[n++] = *own;
	env[n] = NULL;
	return env;
}

/* The end of a piece that starts at s: not inside a UTF-8 character, since
 * the shell puts the pieces together. */
static size_t
piece_size(const char *s)
{
	size_t size = strlen(s);

	if (size <= PIECE)
		return size;
	size = PIECE;
	while (size > PIECE - 4 && ((unsigned char)s[size] & 0xc0) == 0x80)
		size--;
	return size;
}

/*
 * `sh -c script`; a script too long for one argument goes in pieces that the
 * shell joins: sh -c 'eval "set --; $1$2"' sh PIECE PIECE. So nothing depends
 * on a directory that can be written, and no descriptor is left open.
 */
static const char **
shell_argv(const char *script)
{
	size_t pieces = strlen(script) / (PIECE - 4) + 1;
	const char **argv = mem_alloc(mem_array(pieces + 5, sizeof(*argv)));
	struct buf join = BUF_INIT(4096);
	size_t n = 0;

	argv[n++] = "sh";
	argv[n++] = "-c";
	argv[n++] = script;
	argv[n] = NULL;
	if (piece_size(script) == strlen(script))
		return argv;
	argv[n++] = "sh";
	buf_adds(&join, "eval \"set --; ");
	for (size_t size; *script != '\0'; script += size) {
		size = piece_size(script);
		argv[n++] = mem_strndup(script, size);
		buf_addf(&join, "${%zu}", n - 4);
	}
	buf_adds(&join, "\"");
	argv[2] = join.data;
	argv[n] = NULL;
	return argv;
}

/*
 * execvp(3), but a directory of PATH that the user may not enter does not turn
 * "not found" into "permission denied". Returns with errno where it failed.
 */
static void
exec_named(const char *name, char *const *argv)
{
	const char *path = getenv("PATH");
	bool denied = false;
	char file[4096];

	if (strchr(name, '/') != NULL || name[0] == '\0') {
		(void)execv(name, argv);
		return;
	}
	if (path == NULL)
		path = "/usr/local/bin:/bin:/usr/bin";
	for (size_t size;; path += size + 1) {
		size = strcspn(path, ":");
		int n = snprintf(file, sizeof(file), "%.*s%s%s", (int)size,
		    path, size > 0 ? "/" : "", name);
		if (n > 0 && (size_t)n < sizeof(file)) {
			(void)execv(file, argv);
			if (errno == EACCES)
				denied = denied || access(file, F_OK) == 0;
			else if (errno != ENOENT && errno != ENOTDIR)
				return;
		}
		if (path[size] == '\0')
			break;
	}
	errno = denied ? EACCES : ENOENT;
}

static void
exec_shell(const char *script)
{
	static const char *const shells[] = {
	    "/bin/sh", "/usr/bin/sh", "/busybox/sh", "sh"};
	char *const *argv = (void *)shell_argv(script);

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		exec_named(shells[i], argv);
		if (errno != ENOENT && errno != ENOTDIR)
			return;
	}
}

void
command_exec(const struct wire_exec *x, const char *const *env)
{
	/* execve(2) leaves both arrays alone; its type does not say so. */
	union {
		const char *const *from;
		char **to;
	} vars = {env}, args = {x->argv};

	environ = vars.to; /* of execv and getenv from here on */
	if (x->script != NULL)
		exec_shell(x->script);
	else
		exec_named(args.to[0], args.to);
}

void
command_explain(const struct wire_exec *x, int error)
{
	char text[400];
	bool absent = error == ENOENT || error == ENOTDIR;

	if (x->script != NULL && absent)
		(void)snprintf(text, sizeof(text),
		    "sandbox: no shell in this image; use argv\n");
	else
		(void)snprintf(text, sizeof(text),
		    "sandbox: cannot run %.200s: %s\n",
		    x->script != NULL ? "the shell" : x->argv[0],
		    strerror(error));
	(void)!write(STDERR_FILENO, text, strlen(text));
}
