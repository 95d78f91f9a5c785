/* Labels of snapshots. */
#include "run/snapshot_label.h"
#include "docker/reference.h"
#include "lib/str.h"

#include <jansson.h>
#include <string.h>

#define OF(member) SNAPSHOT_LABEL "." member

void
snapshot_labels(const struct snapshot *s, const char *token,
    const char *instance, struct arena *a, struct label to[SNAPSHOT_LABELS])
{
	const struct label labels[SNAPSHOT_LABELS] = {
	    {SNAPSHOT_LABEL, token},
	    {SNAPSHOT_LABEL_INSTANCE, instance},
	    {OF("run"), s->run},
	    {OF("base"), s->base},
	    {OF("warm"), s->warm_path},
	    {OF("layers"), arena_printf(a, "%lld", (long long)s->layers)},
	    {OF("excludes"), s->excludes},
	};

	memcpy(to, labels, sizeof(labels));
}

bool
snapshot_named(const char *reference)
{
	/* A name without a host is one of these (docker/reference.h). */
	static const char *const prefix[] = {
	    "docker.io/", "index.docker.io/", "library/"};
	struct reference parsed;
	struct err ignored = ERR_INIT;

	if (reference_parse(reference, &parsed, &ignored) != 0)
		return false;
	const char *name = parsed.name;
	for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
		if (str_starts(name, prefix[i]))
			name += strlen(prefix[i]);
	return str_eq(name, SNAPSHOT_REPOSITORY);
}

bool
snapshot_is(const char *config)
{
	json_auto_t *value = json_loads(config, 0, NULL);
	const char *token = json_string_value(
	    json_object_get(json_object_get(value, "Labels"), SNAPSHOT_LABEL));

	return token != NULL && *token != '\0';
}

static const char *
text(const struct image_item *item, const char *key, struct arena *a)
{
	const char *value = image_label(item, key);

	return arena_strdup(a, value != NULL ? value : "");
}

bool
snapshot_read(const struct image_item *item, struct arena *a,
    struct snapshot *ret_snapshot)
{
	const char *token = image_label(item, SNAPSHOT_LABEL);
	char id[ULID_SIZE];
	struct snapshot s = {.bytes = item->bytes};

	if (token == NULL || !ulid_parse(token, id))
		return false;
	char *image = arena_printf(a, SNAPSHOT_PREFIX "%s", id);
	str_lower(image);
	s.image = image;
	bool named = false;
	for (char **tag = item->tags; *tag != NULL; tag++)
		named = named || str_eq(*tag, image);
	s.created_ms = ulid_time(id);
	s.run = text(item, OF("run"), a);
	s.base = text(item, OF("base"), a);
	s.warm_path = text(item, OF("warm"), a);
	s.excludes = text(item, OF("excludes"), a);
	(void)str_to_int(text(item, OF("layers"), a), 1, INT32_MAX, &s.layers);
	*ret_snapshot = s;
	return named && *s.excludes == '[';
}
