/* A run's warm volume in the labels of its container. */
#include "lib/str.h"
#include "run/warm.h"

static const char booted[] = "teploy.sandbox.warm.booted";

static const struct {
	const char *key;
	size_t member; /* of struct run */
} texts[] = {
    {WARM_LABEL_REPO, offsetof(struct run, warm_repo)},
    {WARM_LABEL_GEN, offsetof(struct run, warm_gen)},
    {"teploy.sandbox.warm.path", offsetof(struct run, warm_path)},
    {"teploy.sandbox.warm.kind", offsetof(struct run, warm_kind)},
    {"teploy.sandbox.warm.hash", offsetof(struct run, warm_hash)},
    {"teploy.sandbox.warm.dir", offsetof(struct run, warm_dir)},
};

#define TEXTS (sizeof(texts) / sizeof(texts[0]))
_Static_assert(TEXTS + 1 == WARM_LABELS, "WARM_LABELS");

size_t
warm_labels(const struct run *run, struct label to[WARM_LABELS])
{
	for (size_t i = 0; i < TEXTS; i++) {
		const char *const *member =
		    (const void *)((const char *)run + texts[i].member);

		to[i].key = texts[i].key;
		to[i].value = warm_has(run) ? *member : "";
	}
	to[TEXTS] = (struct label){booted, run->warm_booted ? "1" : "0"};
	return WARM_LABELS;
}

void
warm_from_labels(const struct container_info *info, struct run *run)
{
	const char *value = container_label(info, booted);

	run->warm_booted = value != NULL && str_eq(value, "1");
	for (size_t i = 0; i < TEXTS; i++) {
		const char **member = (void *)((char *)run + texts[i].member);

		value = container_label(info, texts[i].key);
		*member = value != NULL ? value : "";
	}
}
