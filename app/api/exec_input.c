/* The body of POST /v1/runs/{id}/exec. */
#include "api/exec_input.h"
#include "lib/str.h"
#include "json/read.h"

#include <string.h>

#define TIMEOUT_DEFAULT 120
#define TIMEOUT_MAX 86400
#define ENV_MOST 64
#define ENV_BYTES 65536
#define CWD_MAX 4095
#define USER_MAX 256

static int
read_command(
    const json_t *body, struct arena *a, struct wire_exec *x, struct err *e)
{
	if (read_string(body, "cmd", &x->script, e) != 0 ||
	    read_strings(body, "argv", a, &x->argv, e) != 0)
		return -1;
	if (x->script != NULL && x->argv != NULL)
		return err_set(e, ERR_INPUT,
		    "cmd and argv exclude each other: give cmd for a shell "
		    "command, argv to run a program without a shell.");
	if (x->argv != NULL && *x->argv[0] == '\0')
		return err_set(
		    e, ERR_INPUT, "argv[0] must name a program; it is empty.");
	if (x->argv == NULL && (x->script == NULL || str_blank(x->script)))
		return err_set(
		    e, ERR_INPUT, "cmd is required: the shell command to run.");
	return 0;
}

/* No leading '/', no "..", no empty segment. */
static bool
is_plain_path(const char *path)
{
	for (;;) {
		size_t size = strcspn(path, "/");

		if (size == 0 || (size == 2 && memcmp(path, "..", 2) == 0))
			return false;
		if (path[size] == '\0')
			return true;
		path += size + 1;
	}
}

static int
read_cwd(
    const json_t *body, struct arena *a, struct wire_exec *x, struct err *e)
{
	const char *cwd, *below;

	x->cwd = "/work";
	if (read_string(body, "cwd", &cwd, e) != 0)
		return -1;
	if (cwd == NULL || str_eq(cwd, "/work"))
		return 0;
	below = str_starts(cwd, "/work/") ? cwd + strlen("/work/") : cwd;
	if (!is_plain_path(below) || strlen(below) > CWD_MAX - 6)
		return err_set(e, ERR_INPUT,
		    "cwd must be a directory below /work, as in \"src/lib\": "
		    "no leading '/', no '..', no empty segment, at most %d "
		    "bytes.",
		    CWD_MAX);
	x->cwd = arena_printf(a, "/work/%s", below);
	return 0;
}

static int
read_format(const json_t *body, enum exec_format *ret_format, struct err *e)
{
	const char *format;

	*ret_format = EXEC_TEXT;
	if (read_string(body, "format", &format, e) != 0)
		return -1;
	if (format == NULL || str_eq(format, "text"))
		return 0;
	if (!str_eq(format, "json") && !str_eq(format, "base64"))
		return err_set(e, ERR_INPUT,
		    "format is \"%.64s\"; it must be text, json or base64.",
		    format);
	*ret_format = str_eq(format, "json") ? EXEC_JSON : EXEC_BASE64;
	return 0;
}

static int
read_stdin(const json_t *body, struct exec_request *rq, struct err *e)
{
	const json_t *v = json_object_get(body, "stdin");

	if (json_is_true(v))
		return err_set(e, ERR_UNSUPPORTED,
		    "stdin: true is not available in this version; give the "
		    "text itself.");
	if (json_is_false(v))
		return 0;
	if (v != NULL && !json_is_null(v) && !json_is_string(v))
		return err_set(e, ERR_INPUT, "stdin must be a string or true.");
	if (read_bytes(body, "stdin", &rq->stdin_text, &rq->stdin_size, e) != 0)
		return -1;
	rq->wire.open_stdin = rq->stdin_text != NULL;
	return 0;
}

/* Members of the contract that this version does not serve. */
static int
refuse_later(const json_t *body, struct err *e)
{
	const char *disconnect;
	json_t *tty;
	bool detach;

	if (read_bool(body, "detach", &detach, e) != 0 ||
	    read_member(body, "tty", JSON_OBJECT, &tty, e) != 0 ||
	    read_string(body, "onDisconnect", &disconnect, e) != 0)
		return -1;
	if (disconnect != NULL && !str_eq(disconnect, "continue"))
		return err_set(e, ERR_INPUT,
		    "onDisconnect is \"%.64s\"; it must be continue.",
		    disconnect);
	if (!detach && tty == NULL && disconnect == NULL)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
	    "%s is not available in this version; leave it out.",
	    detach ? "detach"
	    : tty  ? "tty"
		   : "onDisconnect");
}

int
exec_input(const json_t *body, struct arena *a, struct exec_request *ret_rq,
    struct err *e)
{
	static const struct read_env_rule env = {
	    .most = ENV_MOST, .bytes = ENV_BYTES};
	struct exec_request rq = {0};
	int64_t timeout_sec;

	if (read_command(body, a, &rq.wire, e) != 0 ||
	    read_cwd(body, a, &rq.wire, e) != 0 ||
	    read_int(body, "timeoutSec", 1, TIMEOUT_MAX, TIMEOUT_DEFAULT,
		&timeout_sec, e) != 0 ||
	    read_env(body, "env", &env, a, &rq.wire.env, e) != 0 ||
	    read_string(body, "user", &rq.wire.user, e) != 0 ||
	    read_format(body, &rq.format, e) != 0 ||
	    read_stdin(body, &rq, e) != 0 || refuse_later(body, e) != 0)
		return -1;
	if (rq.wire.user == NULL)
		rq.wire.user = "";
	if (strlen(rq.wire.user) > USER_MAX)
		return err_set(e, ERR_INPUT,
		    "user must be name[:group] or uid[:gid], at most %d "
		    "bytes.",
		    USER_MAX);
	rq.wire.timeout_ms = (uint32_t)timeout_sec * 1000;
	*ret_rq = rq;
	return 0;
}
