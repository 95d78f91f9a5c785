/* The codec of the frames between the host and a run's init. */
#include "lib/wire.h"

#include <string.h>

#define EXEC_HEAD 14  /* version, flags, timeout, two counts */
#define EXEC_HEAD2 22 /* the same and, from version 2, the generation */
#define EXIT_SIZE 6   /* code, signal, flags */
#define FENCE_SIZE 8  /* generation */
#define FENCED_SIZE 9 /* done, generation */

enum { EXEC_STDIN = 1, EXEC_SCRIPT = 2 };
enum { EXIT_TIMED_OUT = 1, EXIT_OOM = 2, EXIT_NOT_FOUND = 4, EXIT_FENCED = 8 };

static void
put32(char *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (char)(unsigned char)(value >> (8 * i));
}

static uint32_t
get32(const char *from)
{
	uint32_t value = 0;

	for (int i = 3; i >= 0; i--)
		value = value << 8 | (unsigned char)from[i];
	return value;
}

static void
put64(char *to, uint64_t value)
{
	put32(to, (uint32_t)value);
	put32(to + 4, (uint32_t)(value >> 32));
}

static uint64_t
get64(const char *from)
{
	return get32(from) | (uint64_t)get32(from + 4) << 32;
}

/* The payload sizes a type may have; false where there is no such type. */
static bool
bounds(enum wire_type type, size_t *ret_min, size_t *ret_max)
{
	size_t min = 0, max = 0;

	switch (type) {
	case WIRE_EXEC:
		min = 1;
		max = WIRE_MAX;
		break;
	case WIRE_STDIN:
	case WIRE_STDOUT:
	case WIRE_STDERR:
		max = WIRE_CHUNK;
		break;
	case WIRE_STDIN_END:
	case WIRE_KILL:
	case WIRE_STARTED:
		break;
	case WIRE_EXIT:
		min = max = EXIT_SIZE;
		break;
	case WIRE_FAIL:
		min = 1;
		max = 1 + WIRE_TEXT;
		break;
	case WIRE_ROOM:
		min = max = 4;
		break;
	case WIRE_FENCE:
		min = max = FENCE_SIZE;
		break;
	case WIRE_FENCED:
		min = max = FENCED_SIZE;
		break;
	default:
		return false;
	}
	*ret_min = min;
	*ret_max = max;
	return true;
}

void
wire_head(char to[WIRE_HEAD], enum wire_type type, size_t size)
{
	put32(to, (uint32_t)size);
	to[4] = (char)type;
}

size_t
wire_payload_size(const char head[WIRE_HEAD])
{
	return get32(head);
}

/* Fill in the head of the frame that began at `start`, or take it back. */
static void
finish(struct buf *out, size_t start, enum wire_type type)
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

static size_t
begin(struct buf *out)
{
	static const char blank[WIRE_HEAD];
	size_t start = out->size;

	buf_add(out, blank, sizeof(blank));
	return start;
}

void
wire_put(struct buf *out, enum wire_type type, const void *bytes, size_t size)
{
	size_t start = begin(out);

	buf_add(out, bytes, size);
	finish(out, start, type);
}

void
wire_put_room(struct buf *out, uint32_t bytes)
{
	char payload[4];

	put32(payload, bytes);
	wire_put(out, WIRE_ROOM, payload, sizeof(payload));
}

static size_t
count(const char *const *list)
{
	size_t n = 0;

	while (list != NULL && list[n] != NULL)
		n++;
	return n;
}

static void
put_text(struct buf *out, const char *s)
{
	buf_add(out, s, strlen(s) + 1);
}

void
wire_put_exec(struct buf *out, const struct wire_exec *x)
{
	size_t start = begin(out);
	size_t argc = x->script != NULL ? 1 : count(x->argv);
	size_t envc = count(x->env);
	char head[EXEC_HEAD2];

	head[0] = x->generation == 0 ? 1 : 2;
	head[1] = (char)((x->open_stdin ? EXEC_STDIN : 0) |
			 (x->script != NULL ? EXEC_SCRIPT : 0));
	put32(head + 2, x->timeout_ms);
	put32(head + 6, (uint32_t)argc);
	put32(head + 10, (uint32_t)envc);
	put64(head + 14, x->generation);
	buf_add(out, head, x->generation == 0 ? EXEC_HEAD : EXEC_HEAD2);
	put_text(out, x->cwd);
	put_text(out, x->user);
	for (size_t i = 0; i < argc; i++)
		put_text(out, x->script != NULL ? x->script : x->argv[i]);
	for (size_t i = 0; i < envc; i++)
		put_text(out, x->env[i]);
	finish(out, start, WIRE_EXEC);
}

void
wire_put_exit(struct buf *out, const struct wire_exit *x)
{
	char payload[EXIT_SIZE];

	put32(payload, (uint32_t)x->code);
	payload[4] = (char)x->signal;
	payload[5] = (char)((x->timed_out ? EXIT_TIMED_OUT : 0) |
			    (x->oom_killed ? EXIT_OOM : 0) |
			    (x->not_found ? EXIT_NOT_FOUND : 0) |
			    (x->fenced ? EXIT_FENCED : 0));
	wire_put(out, WIRE_EXIT, payload, sizeof(payload));
}

void
wire_put_fail(struct buf *out, enum wire_fail why, const char *text)
{
	char payload[1 + WIRE_TEXT];
	size_t size = strlen(text);

	if (size > WIRE_TEXT)
		size = WIRE_TEXT;
	payload[0] = (char)why;
	memcpy(payload + 1, text, size);
	wire_put(out, WIRE_FAIL, payload, 1 + size);
}

void
wire_put_fence(struct buf *out, uint64_t generation)
{
	char payload[FENCE_SIZE];

	put64(payload, generation);
	wire_put(out, WIRE_FENCE, payload, sizeof(payload));
}

void
wire_put_fenced(struct buf *out, const struct wire_fenced *x)
{
	char payload[FENCED_SIZE];

	payload[0] = x->done;
	put64(payload + 1, x->generation);
	wire_put(out, WIRE_FENCED, payload, sizeof(payload));
}

int
wire_next(const char *bytes, size_t size, enum wire_type *ret_type,
    const char **ret_payload, size_t *ret_size, size_t *ret_used, struct err *e)
{
	size_t min, max;

	if (size < WIRE_HEAD)
		return 0;
	unsigned type = (unsigned char)bytes[4];
	size_t payload = get32(bytes);
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

/* Texts that lie one after the other, each ended by a NUL. */
struct texts {
	const char *at, *end;
	bool bad; /* one was missing */
};

static const char *
next_text(struct texts *t)
{
	const char *text = t->at;
	const char *nul =
	    text < t->end ? memchr(text, '\0', (size_t)(t->end - text)) : NULL;

	if (nul == NULL) {
		t->bad = true;
		t->at = t->end;
		return "";
	}
	t->at = nul + 1;
	return text;
}

static bool
is_setting(const char *text)
{
	const char *equals = strchr(text, '=');

	return equals != NULL && equals != text;
}

int
wire_get_exec(const char *payload, size_t size, struct buf *store,
    struct wire_exec *ret_x, struct err *e)
{
	int version = size > 0 ? (unsigned char)payload[0] : 1;
	size_t head = version == 1 ? EXEC_HEAD : EXEC_HEAD2;

	if (version < 1 || version > WIRE_VERSION)
		return err_set(e, ERR_UNSUPPORTED,
		    "wire version is %d here and %d there", WIRE_VERSION,
		    version);
	if (size < head || (payload[1] & ~(EXEC_STDIN | EXEC_SCRIPT)))
		return err_set(e, ERR_GUEST, "malformed exec frame");
	bool script = (payload[1] & EXEC_SCRIPT) != 0;
	size_t argc = get32(payload + 6), envc = get32(payload + 10);
	/* Each text takes a byte at least, so this bounds the arrays too. */
	if (argc > size || envc > size || argc == 0 || (script && argc != 1))
		return err_set(e, ERR_GUEST, "malformed exec frame");
	const char **list =
	    (void *)buf_grow(store, (argc + envc + 2) * sizeof(*list));
	if (list == NULL)
		return err_set(e, ERR_GUEST, "too many arguments");

	struct texts t = {payload + head, payload + size, false};
	const char *cwd = next_text(&t), *user = next_text(&t);
	uint64_t generation = version == 1 ? 0 : get64(payload + 14);
	bool bad = cwd[0] != '/' || (version > 1 && generation == 0);
	for (size_t i = 0; i < argc; i++)
		list[i] = next_text(&t);
	list[argc] = NULL;
	for (size_t i = 0; i < envc; i++) {
		list[argc + 1 + i] = next_text(&t);
		bad = bad || !is_setting(list[argc + 1 + i]);
	}
	list[argc + 1 + envc] = NULL;
	if (bad || t.bad || t.at != t.end)
		return err_set(e, ERR_GUEST, "malformed exec frame");
	*ret_x = (struct wire_exec){
	    .argv = script ? NULL : list,
	    .script = script ? list[0] : NULL,
	    .env = list + argc + 1,
	    .cwd = cwd,
	    .user = user,
	    .timeout_ms = get32(payload + 2),
	    .open_stdin = (payload[1] & EXEC_STDIN) != 0,
	    .generation = generation,
	};
	return 0;
}

int
wire_get_exit(
    const char *payload, size_t size, struct wire_exit *ret_x, struct err *e)
{
	const int known =
	    EXIT_TIMED_OUT | EXIT_OOM | EXIT_NOT_FOUND | EXIT_FENCED;

	if (size != EXIT_SIZE || (payload[5] & ~known))
		return err_set(e, ERR_GUEST, "malformed exit frame");
	int32_t code = (int32_t)get32(payload);
	unsigned char signal = (unsigned char)payload[4];
	if (code < -1 || code > 255 || signal > 64)
		return err_set(e, ERR_GUEST, "exit frame out of range");
	*ret_x = (struct wire_exit){
	    .code = code,
	    .signal = signal,
	    .timed_out = (payload[5] & EXIT_TIMED_OUT) != 0,
	    .oom_killed = (payload[5] & EXIT_OOM) != 0,
	    .not_found = (payload[5] & EXIT_NOT_FOUND) != 0,
	    .fenced = (payload[5] & EXIT_FENCED) != 0,
	};
	return 0;
}

int
wire_get_room(
    const char *payload, size_t size, uint32_t *ret_bytes, struct err *e)
{
	if (size != 4 || get32(payload) > WIRE_WINDOW)
		return err_set(e, ERR_GUEST, "malformed room frame");
	*ret_bytes = get32(payload);
	return 0;
}

int
wire_get_fence(
    const char *payload, size_t size, uint64_t *ret_generation, struct err *e)
{
	if (size != FENCE_SIZE)
		return err_set(e, ERR_GUEST, "malformed fence frame");
	*ret_generation = get64(payload);
	return 0;
}

int
wire_get_fenced(
    const char *payload, size_t size, struct wire_fenced *ret_x, struct err *e)
{
	if (size != FENCED_SIZE || (unsigned char)payload[0] > 1)
		return err_set(e, ERR_GUEST, "malformed fenced frame");
	*ret_x = (struct wire_fenced){payload[0] == 1, get64(payload + 1)};
	return 0;
}

int
wire_get_fail(const char *payload, size_t size, enum wire_fail *ret_why,
    const char **ret_text, size_t *ret_size, struct err *e)
{
	if (size < 1 || payload[0] < WIRE_FAIL_INTERNAL ||
	    payload[0] > WIRE_FAIL_FENCED)
		return err_set(e, ERR_GUEST, "malformed fail frame");
	*ret_why = (enum wire_fail)payload[0];
	*ret_text = payload + 1;
	*ret_size = size - 1;
	return 0;
}
