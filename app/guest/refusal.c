/* Why a command did not start, or something was not done. */
#include "guest/refusal.h"
#include "lib/buf.h"
#include "lib/utf8.h"

#include <string.h>

#define TEXT_MAX 440   /* of the guest's or the engine's words */
#define PATH_SHOWN 600 /* of a path; with what goes beside two, fits an err */
#define CLEAN_MAX (3 * PATH_SHOWN) /* each byte may become U+FFFD */

/* Valid UTF-8 on one line of at most max bytes, without control characters. */
static void
clean(struct buf *to, const char *text, size_t size, size_t max)
{
	struct utf8 state = UTF8_INIT;

	utf8_feed(&state, text, size < max ? size : max, to);
	utf8_end(&state, to);
	for (size_t i = 0; i < to->size; i++)
		if ((unsigned char)to->data[i] < ' ' || to->data[i] == 0x7f)
			to->data[i] = ' ';
	if (to->size > max) {
		to->size = max;
		while (((unsigned char)to->data[to->size] & 0xc0) == 0x80)
			to->size--;
	}
	while (to->size > 0 && to->data[to->size - 1] == ' ')
		to->size--;
	if (to->room > 0)
		to->data[to->size] = '\0';
}

/* A sentence around what the request named, or the guest said. */
struct sentence {
	enum wire_fail why;
	enum err_kind kind;
	const char *before, *after;
};

/* Of commands; the member of the request that is to blame comes first. */
static const struct sentence of_commands[] = {
    {WIRE_FAIL_CWD, ERR_INPUT, "cwd: ",
	"; it must be a directory already (POST "
	"/v1/runs/{id}/files/{path}?mkdir=1 makes one)"},
    {WIRE_FAIL_USER, ERR_INPUT, "user: ", ""},
    {WIRE_FAIL_LIMIT, ERR_RUN_EXHAUSTED, "", ""},
    {WIRE_FAIL_FENCED, ERR_LEASE_SUPERSEDED, "superseded: ", ""},
    {WIRE_FAIL_EXEC_TTY, ERR_CONFLICT, "tty: ", ""},
    {WIRE_FAIL_EXEC_MANY, ERR_EXEC_MANY,
	"Too many execs with detach, tty or onDisconnect \"continue\" run: ",
	""},
    {0, ERR_NONE, NULL, NULL},
};

static const struct sentence of_objects[] = {
    {WIRE_FAIL_EXEC_ABSENT, ERR_EXEC_ABSENT, "There is no exec ",
	" in this run, or it is forgotten."},
    {WIRE_FAIL_EXEC_ENDED, ERR_EXEC_ENDED, "Exec ",
	" has ended, or takes no input."},
    {WIRE_FAIL_EXEC_OUTPUT, ERR_EXEC_OUTPUT, "Exec ",
	" keeps no output: only execs with detach, tty or onDisconnect "
	"\"continue\" do."},
    {WIRE_FAIL_EXEC_TTY, ERR_INPUT, "Exec ", " has no terminal."},
    {0, ERR_NONE, NULL, NULL},
};

static const struct sentence of_files[] = {
    {WIRE_FAIL_ABSENT, ERR_FILE_ABSENT, "No such file: ", ""},
    {WIRE_FAIL_ESCAPES, ERR_FILE_ESCAPES,
	"The path leads out of the root: ", ""},
    {WIRE_FAIL_DENIED, ERR_FILE_DENIED,
	"The image's user may not do that: ", ""},
    {WIRE_FAIL_DIRECTORY, ERR_FILE_DIRECTORY, "It is a directory: ",
	" (GET takes ?list=1 or ?archive=tar, PUT takes ?archive=tar)"},
    {WIRE_FAIL_NOT_DIRECTORY, ERR_FILE_NOT_DIRECTORY,
	"Something on the way is not a directory: ", ""},
    {WIRE_FAIL_NOT_FILE, ERR_FILE_SPECIAL,
	"It is a fifo, a socket or a device: ", ""},
    {WIRE_FAIL_NOT_EMPTY, ERR_FILE_NOT_EMPTY, "The directory is not empty: ",
	" (?recursive=1 removes what is in it)"},
    {WIRE_FAIL_CONDITION, ERR_FILE_CONDITION,
	"The condition of the request does not hold for what is there: ", ""},
    {WIRE_FAIL_EXISTS, ERR_FILE_EXISTS,
	"Something else is there already: ", ""},
    {WIRE_FAIL_SPACE, ERR_FILE_SPACE, "There is no space left for it: ", ""},
    {WIRE_FAIL_LARGE, ERR_TOO_LARGE, "It is larger than may be uploaded: ", ""},
    {WIRE_FAIL_NAME, ERR_INPUT,
	"A name is too long, or links lead in a circle: ", ""},
    {WIRE_FAIL_FILE, ERR_FILE_NOT_DIRECTORY,
	"It is a file, and not a directory: ", ""},
    {WIRE_FAIL_INSIDE, ERR_INPUT,
	"A directory cannot be moved into itself, or to a place below itself: ",
	""},
    {0, ERR_NONE, NULL, NULL},
};

/* False where none of them fits. */
static bool
say(const struct sentence *s, enum wire_fail why, const char *about,
    struct err *e)
{
	while (s->before != NULL && s->why != why)
		s++;
	if (s->before != NULL)
		(void)err_set(e, s->kind, "%s%s%s", s->before, about, s->after);
	return s->before != NULL;
}

int
refusal_of_guest(
    enum wire_fail why, const char *text, size_t size, struct err *e)
{
	BUF_AUTO said = BUF_INIT(CLEAN_MAX);

	clean(&said, text, size, TEXT_MAX);
	if (!say(of_commands, why, said.data, e))
		(void)err_set(e, ERR_GUEST, "%s", said.data);
	return -1;
}

int
refusal_of_object(enum wire_fail why, const char *id, const char *text,
    size_t size, struct err *e)
{
	return *id != '\0' && say(of_objects, why, id, e)
		   ? -1
		   : refusal_of_guest(why, text, size, e);
}

/* The path, and where it was to go if that may be to blame. */
static void
name(struct buf *to, const struct wire_file *request, enum wire_fail why)
{
	BUF_AUTO other = BUF_INIT(CLEAN_MAX);
	const char *path =
	    *request->path != '\0' ? request->path : request->root;

	clean(to, path, strlen(path), PATH_SHOWN);
	if (*request->to == '\0' || why == WIRE_FAIL_ABSENT)
		return;
	clean(&other, request->to, strlen(request->to), PATH_SHOWN);
	buf_addf(to, " -> %s", other.data);
}

int
refusal_of_file(enum wire_fail why, const struct wire_file *request,
    const char *text, size_t size, struct err *e)
{
	BUF_AUTO path = BUF_INIT(2 * CLEAN_MAX);
	BUF_AUTO said = BUF_INIT(CLEAN_MAX);

	if (why == WIRE_FAIL_ARCHIVE) {
		clean(&said, text, size, TEXT_MAX);
		return err_set(e, ERR_INPUT, "archive: %s", said.data);
	}
	name(&path, request, why);
	if (say(of_files, why, path.data, e))
		return -1;
	return refusal_of_guest(why, text, size, e);
}

int
refusal_of_engine(const char *text, size_t size, struct err *e)
{
	/* Words of runc and of Docker 20.10 to 28, whose texts carry no code.
	 */
	static const struct {
		const char *words;
		enum err_kind kind;
		const char *text;
	} known[] = {
	    {"is not running", ERR_RUN_NOT_RUNNING, "the run has ended"},
	    {"stopped", ERR_RUN_NOT_RUNNING, "the run has ended"},
	    {"paused", ERR_RUN_NOT_RUNNING, "the run is paused"},
	    {"temporarily unavailable", ERR_RUN_EXHAUSTED,
		"the run is at its limit of processes (limits.pids)"},
	};
	BUF_AUTO said = BUF_INIT(CLEAN_MAX);

	clean(&said, text, size, TEXT_MAX);
	if (said.size == 0)
		return err_set(e, ERR_GUEST,
		    "the run's init vanished before the command ran");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(said.data, known[i].words) != NULL)
			return err_set(e, known[i].kind, "%s", known[i].text);
	return err_set(e, ERR_ENGINE, "Docker cannot exec: %s", said.data);
}
