/* Labels of snapshots. */
#include "run/snapshot_label.h"
#include "lib/str.h"

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
