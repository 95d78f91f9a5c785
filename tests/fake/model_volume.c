/* Volumes: directories of their own. Nothing is mounted: a bind is where it
 * leads, and overlays are refused, as by a kernel that does not know them. */
#include "lib/jw.h"
#include "lib/str.h"
#include "lib/ulid.h"
#include "model_call.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct volume *
find(struct model_state *s, const char *name)
{
	for (size_t i = 0; i < MODEL_VOLUMES; i++)
		if (str_eq(s->volume[i].name, name))
			return &s->volume[i];
	return NULL;
}

static void
describe(const struct volume *v, struct jw *w)
{
	char *labels = json_dumps(v->labels, JSON_COMPACT);

	jw_open(w, '{');
	jw_str(w, "Name", v->name);
	jw_str(w, "Mountpoint", v->place);
	jw_raw(w, "Labels", labels);
	jw_close(w, '}');
	free(labels);
}

static const char *
option_of(const json_t *body, const char *name)
{
	const char *text = json_string_value(
	    json_object_get(json_object_get(body, "DriverOpts"), name));

	return text != NULL ? text : "";
}

int
call_volume_create(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	json_auto_t *body = json_loads(r->body, 0, NULL);
	const char *name = json_string_value(json_object_get(body, "Name"));
	struct volume *v = find(s, name);
	struct jw w = JW_INIT(text);

	(void)about;
	if (v == NULL) {
		v = find(s, "");
		if (v == NULL)
			abort(); /* a test that makes so many is wrong */
		(void)snprintf(v->name, sizeof(v->name), "%s", name);
		v->labels = json_incref(json_object_get(body, "Labels"));
		v->own = !str_eq(option_of(body, "o"), "bind");
		if (v->own)
			(void)snprintf(v->place, sizeof(v->place), "%s/%s",
			    s->place, name);
		else
			(void)snprintf(v->place, sizeof(v->place), "%s",
			    option_of(body, "device"));
		if (v->own && mkdir(v->place, 0755) != 0)
			abort();
	}
	describe(v, &w);
	return 201;
}

int
call_volume(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	const struct volume *v = find(s, about->name);
	struct jw w = JW_INIT(text);

	(void)r;
	if (v == NULL || *about->name == '\0')
		return refuse(text, 404, "no such volume");
	describe(v, &w);
	return 200;
}

int
call_volumes(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct jw w = JW_INIT(text);

	(void)about;
	jw_open(&w, '{');
	jw_key(&w, "Volumes");
	jw_open(&w, '[');
	for (size_t i = 0; i < MODEL_VOLUMES; i++)
		if (s->volume[i].name[0] != '\0' &&
		    is_listed(s->volume[i].labels, r))
			describe(&s->volume[i], &w);
	jw_close(&w, ']');
	jw_close(&w, '}');
	return 200;
}

static int
remove_entry(
    const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

void
state_forget_volume(struct volume *v)
{
	if (v->own)
		(void)nftw(v->place, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	json_decref(v->labels);
	memset(v, 0, sizeof(*v));
}

static bool
is_used(const struct model_state *s, const struct volume *v)
{
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		for (size_t k = 0; k < CONTAINER_VOLUMES; k++)
			if (str_eq(s->container[i].volume[k], v->name))
				return true;
	return false;
}

void
state_age_volumes(struct model_state *s)
{
	for (size_t i = 0; i < MODEL_VOLUMES; i++) {
		const struct volume *v = &s->volume[i];
		const char *run = json_string_value(
		    json_object_get(v->labels, "teploy.sandbox.run"));
		char id[ULID_SIZE];

		if (run == NULL || is_used(s, v))
			continue;
		(void)snprintf(id, sizeof(id), "0000000000%s", run + 10);
		json_object_set_new(
		    v->labels, "teploy.sandbox.run", json_string(id));
	}
}

int
call_volume_remove(struct model_state *s, const struct fake_request *r,
    const struct subject *about, struct buf *text)
{
	struct volume *v = find(s, about->name);

	(void)r;
	if (v == NULL || *about->name == '\0')
		return refuse(text, 404, "no such volume");
	if (is_used(s, v))
		return refuse(text, 409, "volume is in use");
	state_forget_volume(v);
	return 204;
}
