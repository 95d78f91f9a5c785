/* Reading the progress of a pull. */
#include "docker/pull.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYER_ID_SIZE 72
#define BYTES_MAX ((int64_t)1 << 50) /* so that no sum overflows */

struct pull_layer {
	char id[LAYER_ID_SIZE];
	int64_t current, total;
};

void
pull_release(struct pull *p)
{
	buf_release(&p->line);
	free(p->layers);
	p->layers = NULL;
	p->layer_count = 0;
}

static struct pull_layer *
find_layer(struct pull *p, const char *id)
{
	for (size_t i = 0; i < p->layer_count; i++)
		if (str_eq(p->layers[i].id, id))
			return &p->layers[i];
	if (p->layer_count == PULL_LAYERS_MAX || strlen(id) >= LAYER_ID_SIZE)
		return NULL;
	/* Images have few layers: room for all of them at the first one would
	 * be waste, growing one by one is not. */
	p->layers = mem_realloc(
	    p->layers, mem_array(p->layer_count + 1, sizeof(*p->layers)));
	struct pull_layer *layer = &p->layers[p->layer_count++];
	memset(layer, 0, sizeof(*layer));
	memcpy(layer->id, id, strlen(id));
	return layer;
}

static int64_t
bytes_of(const json_t *detail, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(detail, key));

	if (value < 0)
		return 0;
	return value < BYTES_MAX ? value : BYTES_MAX;
}

static void
count_layer(struct pull *p, const json_t *line)
{
	const char *id = json_string_value(json_object_get(line, "id"));
	const char *status = json_string_value(json_object_get(line, "status"));
	const json_t *detail = json_object_get(line, "progressDetail");
	bool downloading = str_eq(status != NULL ? status : "", "Downloading");
	bool complete =
	    str_eq(status != NULL ? status : "", "Download complete");

	if (id == NULL || (!downloading && !complete))
		return;
	struct pull_layer *layer = find_layer(p, id);
	if (layer == NULL)
		return;
	p->current -= layer->current;
	p->total -= layer->total;
	if (downloading) {
		layer->current = bytes_of(detail, "current");
		layer->total = bytes_of(detail, "total");
	} else {
		layer->current = layer->total;
	}
	p->current += layer->current;
	p->total += layer->total;
}

static int
read_line(struct pull *p, struct err *e)
{
	if (str_blank(p->line.data))
		return 0;
	json_auto_t *line = json_loadb(p->line.data, p->line.size, 0, NULL);
	if (!json_is_object(line))
		return err_set(
		    e, ERR_ENGINE, "Docker's word on a pull is not JSON");
	/* Both say the same; `error` is deprecated. */
	const char *error = json_string_value(
	    json_object_get(json_object_get(line, "errorDetail"), "message"));
	if (error == NULL)
		error = json_string_value(json_object_get(line, "error"));
	if (error == NULL) {
		count_layer(p, line);
		return 0;
	}
	(void)snprintf(p->error, sizeof(p->error), "%s", error);
	return 0;
}

int
pull_feed(struct pull *p, const char *bytes, size_t size, struct err *e)
{
	while (size > 0) {
		const char *end = memchr(bytes, '\n', size);
		size_t piece = end != NULL ? (size_t)(end - bytes) : size;

		buf_add(&p->line, bytes, piece);
		if (p->line.over)
			return err_set(e, ERR_ENGINE,
			    "Docker's word on a pull is longer than %u bytes",
			    PULL_LINE_MAX);
		if (end == NULL)
			return 0;
		if (read_line(p, e) != 0)
			return -1;
		buf_reset(&p->line);
		bytes += piece + 1;
		size -= piece + 1;
	}
	return 0;
}

/*
 * The engine answers 500 for most of these (20.10), so its words decide. First
 * match: a name in a later row may stand in the text of an earlier fault (the
 * host "denied.example" can time out).
 */
enum err_kind
pull_blame(const char *message)
{
	static const struct {
		const char *words;
		enum err_kind kind;
	} table[] = {
	    {"no space left on device", ERR_ENGINE},
	    {"failed to register layer", ERR_ENGINE},
	    {"dial tcp", ERR_REGISTRY},
	    {"lookup ", ERR_REGISTRY},
	    {"x509: ", ERR_REGISTRY},
	    {"timeout", ERR_REGISTRY},
	    {"imeout exceeded", ERR_REGISTRY},
	    {"toomanyrequests", ERR_REGISTRY},
	    {"manifest unknown", ERR_IMAGE_ABSENT},
	    {"name unknown", ERR_IMAGE_ABSENT},
	    {"no matching manifest", ERR_IMAGE_ABSENT},
	    {"does not exist", ERR_IMAGE_ABSENT},
	    {": not found", ERR_IMAGE_ABSENT},
	    {"no basic auth credentials", ERR_IMAGE_ABSENT},
	    {"unauthorized", ERR_IMAGE_ABSENT},
	    {"authentication required", ERR_IMAGE_ABSENT},
	    {"authorization failed", ERR_IMAGE_ABSENT},
	    {"denied", ERR_IMAGE_ABSENT},
	    {"403 Forbidden", ERR_IMAGE_ABSENT},
	    {"401 Unauthorized", ERR_IMAGE_ABSENT},
	};

	/* "open /var/lib/docker/...: permission denied": a file of the host's,
	 * whose name is nobody's business. */
	if (strstr(message, " /") != NULL)
		return ERR_ENGINE;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strstr(message, table[i].words) != NULL)
			return table[i].kind;
	return ERR_REGISTRY;
}
