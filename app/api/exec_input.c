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
#define TTY_COLS 80
#define TTY_ROWS 24

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

int
exec_input_format(
    const char *format, enum exec_format *ret_format, struct err *e)
{
	*ret_format = EXEC_TEXT;
	if (format == NULL || str_eq(format, "text"))
		return 0;
	if (!str_eq(format, "json") && !str_eq(format, "base64"))
		return err_set(e, ERR_INPUT,
		    "format is \"%.64s\"; it must be text, json or base64.",
		    format);
	*ret_format = str_eq(format, "json") ? EXEC_JSON : EXEC_BASE64;
	return 0;
}

int
exec_input_size(const json_t *o, const uint16_t def[2], uint16_t *ret_cols,
    uint16_t *ret_rows, struct err *e)
{
	int64_t cols, rows;

	if (read_int(o, "cols", 1, EXEC_SIZE_MAX, def[0], &cols, e) != 0 ||
	    read_int(o, "rows", 1, EXEC_SIZE_MAX, def[1], &rows, e) != 0)
		return -1;
	if (cols == 0 || rows == 0)
		return err_set(e, ERR_INPUT,
		    "%s is required: a whole number from 1 to %d.",
		    cols == 0 ? "cols" : "rows", EXEC_SIZE_MAX);
	*ret_cols = (uint16_t)cols;
	*ret_rows = (uint16_t)rows;
	return 0;
}

/* tty: {cols, rows}; or true, since an empty object is no member at all. */
static int
read_tty(const json_t *body, struct wire_exec *x, struct err *e)
{
	static const uint16_t def[2] = {TTY_COLS, TTY_ROWS};
	const json_t *v = json_object_get(body, "tty");
	json_t *tty = NULL;

	if (json_is_false(v))
		return 0;
	if (!json_is_true(v) &&
	    read_member(body, "tty", JSON_OBJECT, &tty, e) != 0)
		return -1;
	if (!json_is_true(v) && tty == NULL)
		return 0;
	if (exec_input_size(tty, def, &x->cols, &x->rows, e) != 0)
		return err_wrap(e, "tty");
	return 0;
}

/* Text, or true: it stays open for more, as that of a terminal does. */
static int
read_stdin(const json_t *body, struct exec_request *rq, struct err *e)
{
	const json_t *v = json_object_get(body, "stdin");
	bool is_bool = json_is_boolean(v);

	if (v != NULL && !json_is_null(v) && !is_bool && !json_is_string(v))
		return err_set(e, ERR_INPUT, "stdin must be a string or true.");
	if (!is_bool &&
	    read_bytes(body, "stdin", &rq->stdin_text, &rq->stdin_size, e) != 0)
		return -1;
	rq->wire.feedable = json_is_true(v) || rq->wire.cols > 0;
	rq->wire.open_stdin = rq->wire.feedable || rq->stdin_text != NULL;
	return 0;
}

/* How long it lives, and its output with it. Who detaches has not to say that
 * it goes on. */
static int
read_keeping(const json_t *body, struct exec_request *rq, struct err *e)
{
	const char *disconnect;

	if (read_bool(body, "detach", &rq->detach, e) != 0 ||
	    read_string(body, "onDisconnect", &disconnect, e) != 0)
		return -1;
	if (disconnect != NULL && !str_eq(disconnect, "continue"))
		return err_set(e, ERR_INPUT,
		    "onDisconnect is \"%.64s\"; it must be continue. Without "
		    "it the command ends when its client leaves.",
		    disconnect);
	rq->wire.leaving = rq->detach;
	rq->wire.go_on = disconnect != NULL && !rq->detach;
	rq->wire.keep = rq->detach || rq->wire.go_on || rq->wire.cols > 0;
	return 0;
}

int
exec_input(const json_t *body, struct arena *a, struct exec_request *ret_rq,
    struct err *e)
{
	static const struct read_env_rule env = {
	    .most = ENV_MOST, .bytes = ENV_BYTES};
	struct exec_request rq = {0};
	const char *format;
	int64_t timeout_sec;

	if (read_command(body, a, &rq.wire, e) != 0 ||
	    read_cwd(body, a, &rq.wire, e) != 0 ||
	    read_int(body, "timeoutSec", 1, TIMEOUT_MAX, TIMEOUT_DEFAULT,
		&timeout_sec, e) != 0 ||
	    read_env(body, "env", &env, a, &rq.wire.env, e) != 0 ||
	    read_string(body, "user", &rq.wire.user, e) != 0 ||
	    read_string(body, "format", &format, e) != 0 ||
	    exec_input_format(format, &rq.format, e) != 0 ||
	    read_tty(body, &rq.wire, e) != 0 || read_stdin(body, &rq, e) != 0 ||
	    read_keeping(body, &rq, e) != 0)
		return -1;
	if (rq.wire.user == NULL)
		rq.wire.user = "";
	if (*rq.wire.user == ':' || strlen(rq.wire.user) > USER_MAX)
		return err_set(e, ERR_INPUT,
		    "user must be name[:group] or uid[:gid], at most %d "
		    "bytes.",
		    USER_MAX);
	rq.wire.timeout_ms = (uint32_t)timeout_sec * 1000;
	*ret_rq = rq;
	return 0;
}
