/* Configurations of snapshots. */
#include "run/snapshot_config.h"
#include "lib/buf.h"
#include "lib/jw.h"
#include "lib/str.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define OURS "teploy.sandbox"
#define EXCLUDES_MAX (1u << 20)

static json_t *
load(const char *base, struct err *e)
{
	json_t *config = json_loads(base, 0, NULL);

	if (!json_is_object(config)) {
		json_decref(config);
		(void)err_set(
		    e, ERR_ENGINE, "the image's configuration makes no sense");
		return NULL;
	}
	return config;
}

/* The engine takes the container's where a member is absent or null. */
static void
keep_empty(json_t *config, const char *member)
{
	if (json_array_size(json_object_get(config, member)) == 0)
		(void)json_object_set_new(config, member, json_array());
}

static void
set_labels(json_t *to, const struct label *labels, size_t count, bool blank)
{
	for (size_t i = 0; i < count; i++) {
		if (blank && !str_starts(labels[i].key, OURS))
			continue;
		(void)json_object_set_new(to, labels[i].key,
		    json_string(blank ? "" : labels[i].value));
	}
}

int
snapshot_config(const struct snapshot_config *c, struct arena *a,
    const char **ret_json, struct err *e)
{
	json_auto_t *config = load(c->base, e);

	if (config == NULL)
		return -1;
	keep_empty(config, "Entrypoint");
	json_t *labels = json_object_get(config, "Labels");
	if (!json_is_object(labels)) {
		labels = json_object();
		(void)json_object_set_new(config, "Labels", labels);
	}
	set_labels(labels, c->inherited, c->inherited_count, true);
	set_labels(labels, c->labels, c->label_count, false);
	char *text = json_dumps(config, JSON_COMPACT);
	if (text == NULL)
		return err_set(
		    e, ERR_ENGINE, "the image's configuration is no JSON");
	*ret_json = arena_strdup(a, text);
	free(text);
	return 0;
}

/* -- looking at a base ----------------------------------------------------- */

static bool
has_text(const json_t *config, const char *member)
{
	const char *text = json_string_value(json_object_get(config, member));

	return text != NULL && *text != '\0';
}

/* One of two paths is the other, or above it. */
static bool
related(const char *one, const char *two)
{
	size_t n = strlen(one), m = strlen(two);
	size_t less = n < m ? n : m;

	if (strncmp(one, two, less) != 0)
		return false;
	return n == m || (n > m ? one : two)[less] == '/';
}

static int
by_text(const void *a, const void *b)
{
	const char *const *one = a, *const *two = b;

	return strcmp(*one, *two);
}

static void
find_volumes(json_t *volumes, const char *warm_path, struct arena *a,
    struct snapshot_base *base)
{
	const char *path;
	json_t *nothing;

	base->volume = arena_alloc(
	    a, (json_object_size(volumes) + 1) * sizeof(*base->volume));
	json_object_foreach(volumes, path, nothing)
	{
		if (*warm_path != '\0' && related(path, warm_path))
			base->warm_in_volume = true;
		if (!str_eq(path, warm_path))
			base->volume[base->volume_count++] =
			    arena_strdup(a, path);
	}
	qsort(base->volume, base->volume_count, sizeof(*base->volume), by_text);
}

int
snapshot_base(const char *base, const char *warm_path, struct arena *a,
    struct snapshot_base *ret_base, struct err *e)
{
	json_auto_t *config = load(base, e);
	struct snapshot_base found = {.volume = NULL};

	if (config == NULL)
		return -1;
	find_volumes(json_object_get(config, "Volumes"), warm_path, a, &found);
	found.has_user = has_text(config, "User");
	found.has_working_dir = has_text(config, "WorkingDir");
	*ret_base = found;
	return 0;
}

const char *
snapshot_excludes(
    const struct snapshot_base *base, const char *more, struct arena *a)
{
	BUF_AUTO text = BUF_INIT(EXCLUDES_MAX);
	struct jw w = JW_INIT(&text);

	jw_open(&w, '[');
	for (size_t i = 0; i < base->volume_count; i++)
		jw_str(&w, NULL, base->volume[i]);
	if (more != NULL)
		jw_str(&w, NULL, more);
	jw_close(&w, ']');
	return arena_strdup(a, text.data);
}
