/* The codec of the frames about files. */
#include "lib/wire_file.h"
#include "lib/wire_bytes.h"

#include <string.h>

static void
add_condition(struct buf *out, const struct wire_file *x)
{
	wire_add8(out, (uint8_t)x->condition);
	wire_add8(out, x->same_count);
	for (size_t i = 0; i < x->same_count; i++) {
		wire_add64(out, x->same[i].tag);
		wire_add64(out, x->same[i].size);
	}
}

static void
take_condition(struct wire_in *in, struct wire_file *x)
{
	x->condition = (enum wire_condition)wire_take8(in);
	x->same_count = wire_take8(in);
	in->bad = in->bad || x->condition < WIRE_ABSENT ||
		  x->condition > WIRE_SAME || x->same_count > WIRE_SAME_MAX;
	for (size_t i = 0; !in->bad && i < x->same_count; i++) {
		x->same[i].tag = wire_take64(in);
		x->same[i].size = wire_take64(in);
	}
}

void
wire_put_file(struct buf *out, const struct wire_file *x)
{
	size_t start = wire_begin(out);

	wire_add8(out, (uint8_t)x->what);
	wire_add8(out, x->recursive);
	wire_add64(out, x->generation);
	wire_add64(out, x->limit);
	wire_add_text(out, x->user);
	wire_add_text(out, x->root);
	wire_add_text(out, x->path);
	wire_add_text(out, x->to);
	if (x->condition != WIRE_ALWAYS)
		add_condition(out, x);
	wire_finish(out, start, WIRE_FILE);
}

static bool
too_long(const char *path)
{
	return strlen(path) > WIRE_PATH_MAX;
}

int
wire_get_file(
    const char *payload, size_t size, struct wire_file *ret_x, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	struct wire_file x = {.what = (enum wire_file_what)wire_take8(&in)};
	uint8_t recursive = wire_take8(&in);

	x.recursive = recursive;
	x.generation = wire_take64(&in);
	x.limit = wire_take64(&in);
	x.user = wire_take_text(&in);
	x.root = wire_take_text(&in);
	x.path = wire_take_text(&in);
	x.to = wire_take_text(&in);
	if (!in.bad && in.at < in.end)
		take_condition(&in, &x);
	if (!wire_in_done(&in) || recursive > 1 || x.root[0] != '/' ||
	    x.what < WIRE_FILE_GET || x.what > WIRE_FILE_UNPACK ||
	    too_long(x.root) || too_long(x.path) || too_long(x.to))
		return err_set(e, ERR_GUEST, "malformed file frame");
	*ret_x = x;
	return 0;
}

void
wire_put_read(struct buf *out, const struct wire_read *x)
{
	size_t start = wire_begin(out);

	wire_add64(out, x->offset);
	wire_add64(out, x->size);
	wire_finish(out, start, WIRE_READ);
}

int
wire_get_read(
    const char *payload, size_t size, struct wire_read *ret_x, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	struct wire_read x = {.offset = wire_take64(&in)};

	x.size = wire_take64(&in);
	if (!wire_in_done(&in) || x.offset > INT64_MAX || x.size > INT64_MAX)
		return err_set(e, ERR_GUEST, "malformed read frame");
	*ret_x = x;
	return 0;
}

void
wire_put_stat(struct buf *out, const struct wire_stat *x)
{
	size_t start = wire_begin(out);

	wire_add8(out, (uint8_t)x->type);
	wire_add32(out, x->mode);
	wire_add64(out, x->size);
	wire_add64(out, (uint64_t)x->mtime_ns);
	wire_add64(out, x->tag);
	wire_add_text(out, x->name);
	wire_add_text(out, x->target);
	wire_finish(out, start, WIRE_STAT);
}

int
wire_get_stat(
    const char *payload, size_t size, struct wire_stat *ret_x, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	struct wire_stat x = {.type = (enum wire_file_type)wire_take8(&in)};

	x.mode = wire_take32(&in);
	x.size = wire_take64(&in);
	x.mtime_ns = (int64_t)wire_take64(&in);
	x.tag = wire_take64(&in);
	x.name = wire_take_text(&in);
	x.target = wire_take_text(&in);
	if (!wire_in_done(&in) || x.type < WIRE_TYPE_FILE ||
	    x.type > WIRE_TYPE_DEVICE || x.mode > 07777 || x.size > INT64_MAX ||
	    strlen(x.name) > WIRE_NAME_MAX || strchr(x.name, '/') != NULL ||
	    too_long(x.target))
		return err_set(e, ERR_GUEST, "malformed stat frame");
	*ret_x = x;
	return 0;
}
