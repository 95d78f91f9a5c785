/* Reading what is asked of files. */
#include "api/files_input.h"
#include "lib/path.h"
#include "lib/str.h"

#include <string.h>

/* What a method does, and what a parameter of the query turns that into. */
static const struct choice {
	const char *method, *name; /* name NULL: without any */
	const char *value; /* NULL: a flag; "": any; else it must be that */
	enum wire_file_what what;
} choices[] = {
    {"GET", NULL, NULL, WIRE_FILE_GET},
    {"GET", "list", NULL, WIRE_FILE_LIST},
    {"GET", "stat", NULL, WIRE_FILE_STAT},
    {"GET", "archive", "tar", WIRE_FILE_PACK},
    {"PUT", NULL, NULL, WIRE_FILE_PUT},
    {"PUT", "archive", "tar", WIRE_FILE_UNPACK},
    {"POST", "mkdir", NULL, WIRE_FILE_MKDIR},
    {"POST", "move", "", WIRE_FILE_MOVE},
    {"DELETE", NULL, NULL, WIRE_FILE_REMOVE},
};

int
files_path_check(const char *path, struct err *e)
{
	if (strlen(path) > WIRE_PATH_MAX)
		return err_set(e, ERR_PATH,
		    "The path has %zu bytes below /work; %d are the most.",
		    strlen(path), WIRE_PATH_MAX);
	for (const char *p = path; *p != '\0'; p += *p == '/') {
		size_t size = strcspn(p, "/");

		if (size > WIRE_NAME_MAX)
			return err_set(e, ERR_PATH,
			    "The path has a name of %zu bytes; %d are the "
			    "most.",
			    size, WIRE_NAME_MAX);
		p += size;
	}
	return 0;
}

static int
read_choice(
    struct call *c, const struct choice *choice, bool *ret_set, struct err *e)
{
	const char *value;

	if (choice->value == NULL)
		return call_flag(c, choice->name, ret_set, e);
	if (call_query(c, choice->name, &value, e) != 0)
		return -1;
	*ret_set = value != NULL;
	if (value != NULL && *choice->value != '\0' &&
	    !str_eq(value, choice->value))
		return err_set(e, ERR_INPUT,
		    "%s can be \"%s\", not \"%.100s\".", choice->name,
		    choice->value, value);
	return 0;
}

static int
read_what(struct call *c, struct files_input *in, struct err *e)
{
	const char *chosen = NULL;

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		const struct choice *choice = &choices[i];
		bool set = choice->name == NULL;

		if (!str_eq(choice->method, c->route->method))
			continue;
		if (!set && read_choice(c, choice, &set, e) != 0)
			return -1;
		if (!set)
			continue;
		if (chosen != NULL)
			return err_set(e, ERR_INPUT,
			    "%s and %s do not go together.", chosen,
			    choice->name);
		chosen = choice->name;
		in->what = choice->what;
	}
	if (in->what == 0)
		return err_set(e, ERR_INPUT,
		    "Say what to do: mkdir=1, or move=<path below /work>.");
	return 0;
}

/* The path of a move: by the rules of one in the target. */
static int
read_to(struct call *c, struct files_input *in, struct err *e)
{
	struct arena *a = c->x->arena;

	if (call_query(c, "move", &in->to, e) != 0)
		return -1;
	if (*in->to == '/')
		return err_set(e, ERR_INPUT,
		    "move is a path below /work: without a leading '/'.");
	if (files_path_check(in->to, e) != 0 ||
	    path_split(arena_printf(a, "/%s", in->to),
		arena_alloc(a, WIRE_PATH_MAX * sizeof(char *)), WIRE_PATH_MAX,
		e) < 0)
		return err_wrap(e, "move");
	return 0;
}

int
files_input(struct call *c, struct files_input *ret_in, struct err *e)
{
	const char *path = router_param(c->route, c->x, "path");
	struct files_input in = {.path = path != NULL ? path : "", .to = ""};

	if (call_run_id(c, in.id, e) != 0 ||
	    files_path_check(in.path, e) != 0 || read_what(c, &in, e) != 0)
		return -1;
	if (in.what == WIRE_FILE_MOVE && read_to(c, &in, e) != 0)
		return -1;
	if (in.what == WIRE_FILE_REMOVE &&
	    call_flag(c, "recursive", &in.recursive, e) != 0)
		return -1;
	*ret_in = in;
	return 0;
}
