/* Entries of directories as JSON. */
#include "api/files_list.h"
#include "api/files_body.h"
#include "lib/base64.h"
#include "lib/utf8.h"

#include <stdio.h>
#include <string.h>

#define FLUSH_AT (64u * 1024)
#define ENTRY_MAX (64u * 1024) /* the longest name and target, escaped */
#define NS_PER_MS 1000000

static const char *const types[] = {
    [WIRE_TYPE_FILE] = "file",
    [WIRE_TYPE_DIRECTORY] = "directory",
    [WIRE_TYPE_SYMLINK] = "symlink",
    [WIRE_TYPE_FIFO] = "fifo",
    [WIRE_TYPE_SOCKET] = "socket",
    [WIRE_TYPE_DEVICE] = "device",
};

/* Text that came from a file system: any bytes. */
static void
add_bytes(struct jw *w, const char *key, const char *exact, const char *value)
{
	BUF_AUTO text = BUF_INIT(2 * WIRE_PATH_MAX);
	size_t size = strlen(value);

	jw_strn(w, key, value, size);
	if (utf8_valid(value, size))
		return;
	base64_encode(value, size, &text);
	jw_strn(w, exact, text.data, text.size);
}

void
files_entry(struct jw *w, const struct wire_stat *st)
{
	char mode[8];

	(void)snprintf(mode, sizeof(mode), "%04o", st->mode & 07777u);
	add_bytes(w, "name", "nameBase64", st->name);
	jw_str(w, "type", types[st->type]);
	jw_int(w, "size", (int64_t)st->size);
	jw_str(w, "mode", mode);
	jw_time(w, "mtime", st->mtime_ns / NS_PER_MS);
	if (st->type == WIRE_TYPE_SYMLINK)
		add_bytes(w, "target", "targetBase64", st->target);
}

int
files_stat_answer(struct call *c, struct files *f, struct err *e)
{
	BUF_AUTO body = BUF_INIT(2 * ENTRY_MAX);
	struct jw w = call_json(&body);
	char etag[FILES_ETAG_SIZE];
	struct wire_stat st;

	if (files_stat(f, &st, e) < 0)
		return -1;
	files_entry(&w, &st);
	if (st.type == WIRE_TYPE_FILE) {
		files_etag(&st, etag);
		jw_str(&w, "etag", etag);
	}
	return call_answer(c, &w, 200, e);
}

/* Send what was gathered of a list that is longer than that. */
static int
send_some(struct call *c, struct buf *body, struct err *e)
{
	if (c->x->status == 0 &&
	    exchange_stream(c->x, "application/json", e) != 0)
		return -1;
	if (exchange_write(c->x, body->data, body->size, e) != 0)
		return -1;
	buf_reset(body);
	return 0;
}

/* Until the last entry. */
static int
add_entries(struct call *c, struct files *f, struct jw *w, struct err *e)
{
	struct wire_stat st;
	int more;

	while ((more = files_stat(f, &st, e)) > 0) {
		jw_open(w, '{');
		files_entry(w, &st);
		jw_close(w, '}');
		if (w->out->size >= FLUSH_AT && send_some(c, w->out, e) != 0)
			return -1;
	}
	if (more < 0 && c->x->status != 0)
		exchange_cut(c->x);
	return more;
}

int
files_list(struct call *c, struct files *f, struct err *e)
{
	BUF_AUTO body = BUF_INIT(FLUSH_AT + 2 * ENTRY_MAX);
	struct jw w = call_json(&body);

	jw_key(&w, "entries");
	jw_open(&w, '[');
	if (add_entries(c, f, &w, e) != 0)
		return -1;
	jw_close(&w, ']');
	if (c->x->status == 0)
		return call_answer(c, &w, 200, e);
	jw_str(&w, "server", c->ctx.config->server);
	jw_close(&w, '}');
	return send_some(c, &body, e);
}
