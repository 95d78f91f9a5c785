/* Images: any but those called absent* and snapshots is here from the start. */
#include "lib/clock.h"
#include "lib/jw.h"
#include "lib/str.h"
#include "model_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNAPSHOT "teploy-sbx-snap"

struct image *
state_image(struct model_state *s, const char *name)
{
	for (size_t i = 0; i < MODEL_IMAGES; i++) {
		struct image *image = &s->image[i];

		if (image->id[0] != '\0' &&
		    (str_eq(image->id, name) || str_eq(image->tag, name)))
			return image;
	}
	return NULL;
}

/* That are made of it: containers, other images. */
static bool
is_used(const struct model_state *s, const struct image *image)
{
	for (size_t i = 0; i < MODEL_CONTAINERS; i++) {
		const struct container *c = &s->container[i];

		if (c->name[0] != '\0' && (str_eq(c->image, image->id) ||
					      str_eq(c->image, image->tag)))
			return true;
	}
	for (size_t i = 0; i < MODEL_IMAGES; i++)
		if (s->image[i].id[0] != '\0' &&
		    str_eq(s->image[i].parent, image->id))
			return true;
	return false;
}

bool
state_is_part(const struct model_state *s, const struct image *image)
{
	return image->tag[0] == '\0' && is_used(s, image);
}

static void
forget(struct image *image)
{
	json_decref(image->labels);
	memset(image, 0, sizeof(*image));
}

int
call_image(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	const struct image *image = state_image(s, about->name);

	(void)r;
	if (image == NULL &&
	    ((str_starts(about->name, "absent") && !s->pulled) ||
		str_starts(about->name, SNAPSHOT)))
		return refuse(text, 404, "No such image");
	char *labels = json_dumps(image != NULL ? image->labels : NULL,
	    JSON_COMPACT | JSON_ENCODE_ANY);
	buf_addf(text,
	    "{\"Id\":\"%s\",\"Size\":1000,\"RootFS\":{\"Layers\":[\"a\",\"b\"]}"
	    ",\"Config\":{\"User\":\"\",\"Env\":[\"PATH=/bin\"],\"Cmd\":[\"sh\""
	    "],\"Labels\":%s}}",
	    image != NULL ? image->id : "sha256:1",
	    labels != NULL ? labels : "null");
	free(labels);
	return 200;
}

int
call_pull(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	(void)r, (void)about;
	s->pulled = true;
	buf_adds(text,
	    "{\"status\":\"Pulling from library\"}\r\n"
	    "{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":"
	    "{\"current\":1,\"total\":2}}\r\n"
	    "{\"status\":\"Pull complete\",\"id\":\"a\"}\r\n");
	return 200;
}

int
call_commit(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	const char *name = strstr(r->path, "container=") + strlen("container=");
	const struct container *c = state_find(s, name);
	json_auto_t *config = json_loads(r->body, 0, NULL);
	struct image *image = s->image;

	(void)about;
	if (c == NULL)
		return refuse(text, 404, "No such container");
	while (image->id[0] != '\0')
		if (++image == s->image + MODEL_IMAGES)
			abort(); /* a test that makes so many is wrong */
	(void)snprintf(
	    image->id, sizeof(image->id), "sha256:%064zx", ++s->made);
	/* Any other image of the world is no object of ours. */
	if (state_image(s, c->image) != NULL)
		(void)snprintf(image->parent, sizeof(image->parent), "%s",
		    state_image(s, c->image)->id);
	image->created_ms = clock_wall_ms();
	/* The container's labels are there where the caller names none such. */
	image->labels = json_deep_copy(c->labels);
	json_object_update(image->labels, json_object_get(config, "Labels"));
	buf_addf(text, "{\"Id\":\"%s\"}", image->id);
	return 201;
}

int
call_tag(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct image *image = state_image(s, about->name);
	const char *repo = strstr(r->path, "repo=") + strlen("repo=");
	const char *tag = strstr(r->path, "tag=") + strlen("tag=");

	if (image == NULL)
		return refuse(text, 404, "No such image");
	(void)snprintf(image->tag, sizeof(image->tag), "%.*s:%s",
	    (int)strcspn(repo, "&"), repo, tag);
	return 201;
}

int
call_images(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct jw w = JW_INIT(text);

	(void)about;
	jw_open(&w, '[');
	for (size_t i = 0; i < MODEL_IMAGES; i++) {
		const struct image *image = &s->image[i];

		if (image->id[0] == '\0' || !is_listed(image->labels, r) ||
		    state_is_part(s, image))
			continue;
		char *labels = json_dumps(image->labels, JSON_COMPACT);
		jw_open(&w, '{');
		jw_str(&w, "Id", image->id);
		jw_key(&w, "RepoTags");
		jw_open(&w, '[');
		jw_str(&w, NULL, *image->tag ? image->tag : "<none>:<none>");
		jw_close(&w, ']');
		jw_int(&w, "Created", image->created_ms / 1000);
		jw_int(&w, "Size", 1000);
		jw_raw(&w, "Labels", labels);
		jw_close(&w, '}');
		free(labels);
	}
	jw_close(&w, ']');
	return 200;
}

/* By its name, or without one by its id; parts that were there for it alone go
 * along. */
int
call_untag(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct image *image = state_image(s, about->name);

	(void)r;
	if (image == NULL)
		return refuse(text, 404, "No such image");
	if (is_used(s, image))
		return refuse(text, 409, "conflict: the image is being used");
	do {
		struct image *parent = state_image(s, image->parent);

		forget(image);
		image = parent;
	} while (image != NULL && image->tag[0] == '\0' && !is_used(s, image));
	buf_adds(text, "[]");
	return 200;
}
