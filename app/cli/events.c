/* JSON lines, cut anywhere. */
#include "cli/events.h"
#include "cli/cli.h"

#include <string.h>

void
events_init(struct events *v,
    int (*each)(void *arg, const char *event, const json_t *line), void *arg)
{
	*v = (struct events){each, arg, BUF_INIT(EVENTS_LINE_MAX)};
}

void
events_release(struct events *v)
{
	buf_release(&v->rest);
}

static int
one_line(struct events *v, const char *line, size_t size)
{
	if (size == 0)
		return 0;
	json_auto_t *o = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
	if (!json_is_object(o))
		return -1;
	return v->each(v->arg, cli_text(o, "event"), o);
}

int
events_take(void *events, const char *bytes, size_t size)
{
	struct events *v = events;
	const char *end;

	while ((end = memchr(bytes, '\n', size)) != NULL) {
		size_t length = (size_t)(end - bytes);
		int rc;

		if (v->rest.size == 0) {
			rc = one_line(v, bytes, length);
		} else {
			buf_add(&v->rest, bytes, length);
			rc = one_line(v, v->rest.data, v->rest.size);
			buf_reset(&v->rest);
		}
		if (rc != 0)
			return -1;
		bytes += length + 1;
		size -= length + 1;
	}
	buf_add(&v->rest, bytes, size);
	return v->rest.over ? -1 : 0;
}
