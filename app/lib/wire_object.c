/* The codec of the frames about execs. */
#include "lib/wire_object.h"
#include "lib/wire_bytes.h"

#include <string.h>

enum {
	INFO_KEPT = 1,
	INFO_TTY = 2,
	INFO_FEEDABLE = 4,
	INFO_DETACHED = 8,
	INFO_ENDED = 16,
	INFO_KNOWN = 31,
};

void
wire_put_attach(struct buf *out, const struct wire_attach *x)
{
	size_t start = wire_begin(out);

	wire_add64(out, x->offset);
	wire_add_text(out, x->id);
	wire_finish(out, start, WIRE_ATTACH);
}

int
wire_get_attach(
    const char *payload, size_t size, struct wire_attach *ret_x, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	uint64_t offset = wire_take64(&in);
	const char *id = wire_take_id(&in);

	if (!wire_in_done(&in))
		return err_set(e, ERR_GUEST, "malformed attach frame");
	*ret_x = (struct wire_attach){id, offset};
	return 0;
}

void
wire_put_act(struct buf *out, const struct wire_act *x)
{
	size_t start = wire_begin(out);

	wire_add8(out, (uint8_t)x->what);
	wire_add8(out, x->close);
	wire_add8(out, x->signal);
	wire_add32(out, x->cols | (uint32_t)x->rows << 16);
	wire_add64(out, x->generation);
	wire_add_text(out, x->id);
	wire_finish(out, start, WIRE_ACT);
}

int
wire_get_act(
    const char *payload, size_t size, struct wire_act *ret_x, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	struct wire_act x = {.what = (enum wire_act_what)wire_take8(&in)};
	uint8_t close = wire_take8(&in);

	x.signal = wire_take8(&in);
	uint32_t window = wire_take32(&in);
	x.close = close;
	x.cols = (uint16_t)window;
	x.rows = (uint16_t)(window >> 16);
	x.generation = wire_take64(&in);
	x.id = wire_take_id(&in);
	if (!wire_in_done(&in) || close > 1 || x.signal > 64 ||
	    x.what < WIRE_ACT_INPUT || x.what > WIRE_ACT_END)
		return err_set(e, ERR_GUEST, "malformed act frame");
	*ret_x = x;
	return 0;
}

void
wire_put_info(struct buf *out, const struct wire_info *x)
{
	size_t start = wire_begin(out);
	size_t cmd = strnlen(x->cmd, WIRE_CMD_MAX);

	wire_add8(
	    out, (uint8_t)((x->kept ? INFO_KEPT : 0) | (x->tty ? INFO_TTY : 0) |
			   (x->feedable ? INFO_FEEDABLE : 0) |
			   (x->detached ? INFO_DETACHED : 0) |
			   (x->ended ? INFO_ENDED : 0)));
	wire_add_exit(out, &x->exit);
	wire_add64(out, (uint64_t)x->started_ms);
	wire_add64(out, (uint64_t)x->ended_ms);
	wire_add64(out, x->first);
	wire_add64(out, x->end);
	wire_add_text(out, x->id);
	buf_add(out, x->cmd, cmd);
	wire_add8(out, '\0');
	wire_finish(out, start, WIRE_INFO);
}

int
wire_get_info(
    const char *payload, size_t size, struct wire_info *ret_x, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	uint8_t flags = wire_take8(&in);
	struct wire_info x = {
	    .kept = flags & INFO_KEPT,
	    .tty = flags & INFO_TTY,
	    .feedable = flags & INFO_FEEDABLE,
	    .detached = flags & INFO_DETACHED,
	    .ended = flags & INFO_ENDED,
	};

	wire_take_exit(&in, &x.exit);
	x.started_ms = (int64_t)wire_take64(&in);
	x.ended_ms = (int64_t)wire_take64(&in);
	x.first = wire_take64(&in);
	x.end = wire_take64(&in);
	x.id = wire_take_id(&in);
	x.cmd = wire_take_text(&in);
	if (!wire_in_done(&in) || (flags & ~INFO_KNOWN) || x.first > x.end ||
	    x.started_ms < 0 || x.ended_ms < 0 || strlen(x.cmd) > WIRE_CMD_MAX)
		return err_set(e, ERR_GUEST, "malformed info frame");
	*ret_x = x;
	return 0;
}

void
wire_put_gap(struct buf *out, uint64_t offset)
{
	size_t start = wire_begin(out);

	wire_add64(out, offset);
	wire_finish(out, start, WIRE_GAP);
}

int
wire_get_gap(
    const char *payload, size_t size, uint64_t *ret_offset, struct err *e)
{
	struct wire_in in = {payload, payload + size, false};
	uint64_t offset = wire_take64(&in);

	if (!wire_in_done(&in))
		return err_set(e, ERR_GUEST, "malformed gap frame");
	*ret_offset = offset;
	return 0;
}
