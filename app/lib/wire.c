/* The codec of the frames between the host and a run's init. */
#include "lib/wire.h"
#include "lib/wire_bytes.h"
#include "lib/wire_file.h"
#include "lib/wire_object.h"

#include <string.h>

/* Version 1: flags, timeout, two counts; 2: and the generation; 3: and the
 * terminal's size, and the id after the user; 4: one more flag. */
enum {
	EXEC_STDIN = 1,
	EXEC_SCRIPT = 2,
	EXEC_KEEP = 4,
	EXEC_GO_ON = 8,
	EXEC_FEEDABLE = 16,
	EXEC_LEAVING = 32,
	EXEC_KNOWN_2 = EXEC_STDIN | EXEC_SCRIPT,
	EXEC_KNOWN_3 = EXEC_KNOWN_2 | EXEC_KEEP | EXEC_GO_ON | EXEC_FEEDABLE,
	EXEC_KNOWN_4 = EXEC_KNOWN_3 | EXEC_LEAVING,
};
enum {
	EXIT_TIMED_OUT = 1,
	EXIT_OOM = 2,
	EXIT_NOT_FOUND = 4,
	EXIT_FENCED = 8,
	EXIT_KNOWN = 15,
};

/* The payload sizes that a type may have. */
static const struct {
	enum wire_type type;
	uint32_t min, max;
} sizes[] = {
    {WIRE_EXEC, WIRE_PEEK - WIRE_HEAD, WIRE_MAX},
    {WIRE_STDIN, 0, WIRE_CHUNK},
    {WIRE_STDIN_END, 0, 0},
    {WIRE_KILL, 0, 0},
    {WIRE_FENCE, 8, 8},
    {WIRE_DETACH, 0, 0},
    {WIRE_LIST, 0, 0},
    {WIRE_ATTACH, 1, 8 + WIRE_ID_MAX + 1},
    {WIRE_ACT, 1, 32 + WIRE_ID_MAX},
    {WIRE_FILE, 1, 4 * WIRE_PATH_MAX},
    {WIRE_READ, 16, 16},
    {WIRE_DATA, 0, WIRE_CHUNK},
    {WIRE_DATA_END, 0, 0},
    {WIRE_STARTED, 0, 0},
    {WIRE_STDOUT, 0, WIRE_CHUNK},
    {WIRE_STDERR, 0, WIRE_CHUNK},
    {WIRE_EXIT, 6, 6},
    {WIRE_FAIL, 1, 1 + WIRE_TEXT},
    {WIRE_ROOM, 4, 4},
    {WIRE_FENCED, 9, 9},
    {WIRE_DONE, 0, 0},
    {WIRE_INFO, 1, 64 + WIRE_ID_MAX + WIRE_CMD_MAX},
    {WIRE_GAP, 8, 8},
    {WIRE_STAT, 1, 64 + WIRE_NAME_MAX + WIRE_PATH_MAX},
};

/* False where there is no such type. */
static bool
bounds(enum wire_type type, size_t *ret_min, size_t *ret_max)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (sizes[i].type != type)
			continue;
		*ret_min = sizes[i].min;
		*ret_max = sizes[i].max;
		return true;
	}
	return false;
}

void
wire_head(char to[WIRE_HEAD], enum wire_type type, size_t size)
{
	for (int i = 0; i < 4; i++)
		to[i] = (char)(unsigned char)(size >> (8 * i));
	to[4] = (char)type;
}

size_t
wire_payload_size(const char head[WIRE_HEAD])
{
	struct wire_in in = {head, head + WIRE_HEAD, false};

	return wire_take32(&in);
}

bool
wire_peek_keep(const char peek[WIRE_PEEK])
{
	return peek[WIRE_HEAD - 1] == WIRE_EXEC && peek[WIRE_HEAD] >= 3 &&
	       (peek[WIRE_HEAD + 1] & EXEC_KEEP);
}

size_t
wire_begin(struct buf *out)
{
	static const char blank[WIRE_HEAD];
	size_t start = out->size;

	buf_add(out, blank, sizeof(blank));
	return start;
}

void
wire_finish(struct buf *out, size_t start, enum wire_type type)
{
	size_t min, max;

	if (out->over)
		goto undo_frame;
	size_t size = out->size - start - WIRE_HEAD;
	if (!bounds(type, &min, &max) || size < min || size > max)
		goto undo_frame;
	wire_head(out->data + start, type, size);
	return;
undo_frame:
	if (out->size > start) {
		out->size = start;
		out->data[start] = '\0';
	}
	out->over = true;
}

/* -- into frames ----------------------------------------------------------- */

void
wire_put(struct buf *out, enum wire_type type, const void *bytes, size_t size)
{
	size_t start = wire_begin(out);

	buf_add(out, bytes, size);
	wire_finish(out, start, type);
}

void
wire_put_room(struct buf *out, uint32_t bytes)
{
	size_t start = wire_begin(out);

	wire_add32(out, bytes);
	wire_finish(out, start, WIRE_ROOM);
}

static size_t
count(const char *const *list)
{
	size_t n = 0;

	while (list != NULL && list[n] != NULL)
		n++;
	return n;
}

static uint8_t
exec_flags(const struct wire_exec *x)
{
	int flags = (x->open_stdin ? EXEC_STDIN : 0) |
		    (x->script != NULL ? EXEC_SCRIPT : 0);

	if (x->id != NULL)
		flags |= (x->keep ? EXEC_KEEP : 0) |
			 (x->go_on ? EXEC_GO_ON : 0) |
			 (x->feedable ? EXEC_FEEDABLE : 0) |
			 (x->leaving ? EXEC_LEAVING : 0);
	return (uint8_t)flags;
}

/* No newer than it needs: its guest may be older. */
static uint8_t
exec_version(const struct wire_exec *x)
{
	if (x->id == NULL)
		return x->generation != 0 ? 2 : 1;
	return x->leaving ? 4 : 3;
}

void
wire_put_exec(struct buf *out, const struct wire_exec *x)
{
	size_t start = wire_begin(out);
	size_t argc = x->script != NULL ? 1 : count(x->argv);
	size_t envc = count(x->env);
	uint8_t version = exec_version(x);

	wire_add8(out, version);
	wire_add8(out, exec_flags(x));
	wire_add32(out, x->timeout_ms);
	wire_add32(out, (uint32_t)argc);
	wire_add32(out, (uint32_t)envc);
	if (version > 1)
		wire_add64(out, x->generation);
	if (version > 2)
		wire_add32(out, x->cols | (uint32_t)x->rows << 16);
	wire_add_text(out, x->cwd);
	wire_add_text(out, x->user);
	if (version > 2)
		wire_add_text(out, x->id);
	for (size_t i = 0; i < argc; i++)
		wire_add_text(out, x->script != NULL ? x->script : x->argv[i]);
	for (size_t i = 0; i < envc; i++)
		wire_add_text(out, x->env[i]);
	wire_finish(out, start, WIRE_EXEC);
}

void
wire_put_exit(struct buf *out, const struct wire_exit *x)
{
	size_t start = wire_begin(out);

	wire_add_exit(out, x);
	wire_finish(out, start, WIRE_EXIT);
}

void
wire_put_fail(struct buf *out, enum wire_fail why, const char *text)
{
	size_t start = wire_begin(out);
	size_t size = strlen(text);

	wire_add8(out, (uint8_t)why);
	buf_add(out, text, size < WIRE_TEXT ? size : WIRE_TEXT);
	wire_finish(out, start, WIRE_FAIL);
}

void
wire_put_fence(struct buf *out, uint64_t generation)
{
	size_t start = wire_begin(out);

	wire_add64(out, generation);
	wire_finish(out, start, WIRE_FENCE);
}

void
wire_put_fenced(struct buf *out, const struct wire_fenced *x)
{
	size_t start = wire_begin(out);

	wire_add8(out, x->done);
	wire_add64(out, x->generation);
	wire_finish(out, start, WIRE_FENCED);
}

/* -- out of frames --------------------------------------------------------- */

int
wire_next(const char *bytes, size_t size, enum wire_type *ret_type,
    const char **ret_payload, size_t *ret_size, size_t *ret_used, struct err *e)
{
	size_t min, max;

	if (size < WIRE_HEAD)
		return 0;
	unsigned type = (unsigned char)bytes[4];
	size_t payload = wire_payload_size(bytes);
	if (!bounds((enum wire_type)type, &min, &max))
		return err_set(e, ERR_GUEST, "unknown frame type %u", type);
	if (payload < min || payload > max)
		return err_set(e, ERR_GUEST,
		    "frame of type %u cannot have %zu bytes", type, payload);
	if (size - WIRE_HEAD < payload)
		return 0;
	*ret_type = (enum wire_type)type;
	*ret_payload = bytes + WIRE_HEAD;
	*ret_size = payload;
	*ret_used = WIRE_HEAD + payload;
	return 1;
}

static bool
is_setting(const char *text)
{
	const char *equals = strchr(text, '=');

	return equals != NULL && equals != text;
}

/* An exec has one form: its version is no newer than it needs. */
static bool
exec_flags_fit(int version, uint8_t flags)
{
	if (version < 3)
		return (flags & ~EXEC_KNOWN_2) == 0;
	if (version == 3)
		return (flags & ~EXEC_KNOWN_3) == 0;
	return (flags & ~EXEC_KNOWN_4) == 0 && (flags & EXEC_LEAVING) != 0;
}

/* The part of fixed size; returns the flags. */
static uint8_t
take_exec_head(struct wire_in *in, int version, struct wire_exec *x,
    size_t *ret_argc, size_t *ret_envc)
{
	uint8_t flags = wire_take8(in);
	uint32_t window;

	x->timeout_ms = wire_take32(in);
	*ret_argc = wire_take32(in);
	*ret_envc = wire_take32(in);
	if (version > 1) {
		x->generation = wire_take64(in);
		in->bad = in->bad || (version == 2 && x->generation == 0);
	}
	if (version > 2) {
		window = wire_take32(in);
		x->cols = (uint16_t)window;
		x->rows = (uint16_t)(window >> 16);
	}
	in->bad = in->bad || !exec_flags_fit(version, flags);
	x->open_stdin = flags & EXEC_STDIN;
	x->keep = flags & EXEC_KEEP;
	x->go_on = flags & EXEC_GO_ON;
	x->feedable = flags & EXEC_FEEDABLE;
	x->leaving = flags & EXEC_LEAVING;
	return flags;
}

static int
take_exec(struct wire_in *in, int version, struct buf *store,
    struct wire_exec *x, struct err *e)
{
	size_t size = (size_t)(in->end - in->at), argc, envc;
	bool script =
	    take_exec_head(in, version, x, &argc, &envc) & EXEC_SCRIPT;

	/* Each text takes a byte at least, so this bounds the arrays too. */
	if (in->bad || argc > size || envc > size || argc == 0 ||
	    (script && argc != 1))
		return err_set(e, ERR_GUEST, "malformed exec frame");
	const char **list =
	    (void *)buf_grow(store, (argc + envc + 2) * sizeof(*list));
	if (list == NULL)
		return err_set(e, ERR_GUEST, "too many arguments");
	x->cwd = wire_take_text(in);
	x->user = wire_take_text(in);
	if (version > 2)
		x->id = wire_take_id(in);
	for (size_t i = 0; i < argc; i++)
		list[i] = wire_take_text(in);
	list[argc] = NULL;
	for (size_t i = 0; i < envc; i++) {
		list[argc + 1 + i] = wire_take_text(in);
		in->bad = in->bad || !is_setting(list[argc + 1 + i]);
	}
	list[argc + 1 + envc] = NULL;
	if (!wire_in_done(in) || x->cwd[0] != '/')
		return err_set(e, ERR_GUEST, "malformed exec frame");
	x->script = script ? list[0] : NULL;
	x->argv = script ? NULL : list;
	x->env = list + argc + 1;
	return 0;
}

int
wire_get_exec(const char *payload, size_t size, struct buf *store,
    struct wire_exec *ret_x, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	struct wire_exec x = {0};
	int version = wire_take8(&in);

	if (!in.bad && (version < 1 || version > WIRE_VERSION))
		return err_set(e, ERR_UNSUPPORTED,
		    "wire version is %d here and %d there", WIRE_VERSION,
		    version);
	if (take_exec(&in, version, store, &x, e) != 0)
		return -1;
	*ret_x = x;
	return 0;
}

int
wire_get_exit(
    const char *payload, size_t size, struct wire_exit *ret_x, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	struct wire_exit x;

	wire_take_exit(&in, &x);
	if (!wire_in_done(&in))
		return err_set(e, ERR_GUEST, "malformed exit frame");
	*ret_x = x;
	return 0;
}

int
wire_get_room(
    const char *payload, size_t size, uint32_t *ret_bytes, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	uint32_t bytes = wire_take32(&in);

	if (!wire_in_done(&in) || bytes > WIRE_WINDOW_KEPT)
		return err_set(e, ERR_GUEST, "malformed room frame");
	*ret_bytes = bytes;
	return 0;
}

int
wire_get_fence(
    const char *payload, size_t size, uint64_t *ret_generation, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	uint64_t generation = wire_take64(&in);

	if (!wire_in_done(&in))
		return err_set(e, ERR_GUEST, "malformed fence frame");
	*ret_generation = generation;
	return 0;
}

int
wire_get_fenced(
    const char *payload, size_t size, struct wire_fenced *ret_x, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	uint8_t done = wire_take8(&in);
	uint64_t generation = wire_take64(&in);

	if (!wire_in_done(&in) || done > 1)
		return err_set(e, ERR_GUEST, "malformed fenced frame");
	*ret_x = (struct wire_fenced){done, generation};
	return 0;
}

int
wire_get_fail(const char *payload, size_t size, enum wire_fail *ret_why,
    const char **ret_text, size_t *ret_size, struct err *e)
{
	if (size < 1 || payload[0] < WIRE_FAIL_INTERNAL ||
	    payload[0] > WIRE_FAIL_LAST)
		return err_set(e, ERR_GUEST, "malformed fail frame");
	*ret_why = (enum wire_fail)payload[0];
	*ret_text = payload + 1;
	*ret_size = size - 1;
	return 0;
}

/* -- the end of a command -------------------------------------------------- */

void
wire_add_exit(struct buf *out, const struct wire_exit *x)
{
	wire_add32(out, (uint32_t)x->code);
	wire_add8(out, x->signal);
	wire_add8(out, (uint8_t)((x->timed_out ? EXIT_TIMED_OUT : 0) |
				 (x->oom_killed ? EXIT_OOM : 0) |
				 (x->not_found ? EXIT_NOT_FOUND : 0) |
				 (x->fenced ? EXIT_FENCED : 0)));
}

void
wire_take_exit(struct wire_in *in, struct wire_exit *ret_x)
{
	int32_t code = (int32_t)wire_take32(in);
	uint8_t signal = wire_take8(in), flags = wire_take8(in);

	in->bad = in->bad || code < -1 || code > 255 || signal > 64 ||
		  (flags & ~EXIT_KNOWN);
	*ret_x = (struct wire_exit){
	    .code = code,
	    .signal = signal,
	    .timed_out = flags & EXIT_TIMED_OUT,
	    .oom_killed = flags & EXIT_OOM,
	    .not_found = flags & EXIT_NOT_FOUND,
	    .fenced = flags & EXIT_FENCED,
	};
}
