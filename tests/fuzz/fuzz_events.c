/*
 * cli/events: the same lines however a stream is cut, and none after one that
 * broke it off. The first byte chooses the size of the pieces.
 */
#include "cli/cli.h"
#include "cli/events.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As cli/cli.c has it. */
const char *
cli_text(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text != NULL ? text : "";
}

struct heard {
	struct buf text;
	bool broken;
};

static int
hear(void *arg, const char *event, const json_t *line)
{
	struct heard *h = arg;
	char *text = json_dumps(line, JSON_COMPACT);

	if (h->broken || text == NULL || !json_is_object(line))
		abort();
	buf_addf(&h->text, "%s %s\n", event, text);
	free(text);
	h->broken = strcmp(event, "stop") == 0;
	return h->broken ? -1 : 0;
}

static int
listen_to(const char *bytes, size_t size, size_t step, struct heard *h)
{
	struct events v;
	int rc = 0;

	*h = (struct heard){BUF_INIT(1u << 22), false};
	events_init(&v, hear, h);
	for (size_t at = 0; at < size && rc == 0; at += step)
		rc = events_take(
		    &v, bytes + at, size - at < step ? size - at : step);
	events_release(&v);
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heard one, two;

	if (size < 2)
		return 0;
	const char *bytes = (const char *)data + 1;
	int rc = listen_to(bytes, size - 1, size, &one);
	if (listen_to(bytes, size - 1, 1 + data[0] % 64u, &two) != rc)
		abort();
	if (one.text.over || one.text.size != two.text.size ||
	    memcmp(one.text.data, two.text.data, one.text.size) != 0)
		abort();
	buf_release(&one.text);
	buf_release(&two.text);
	return 0;
}
