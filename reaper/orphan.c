/* Reading a lost record from a container's labels. */
#include "orphan.h"
#include "lib/str.h"
#include "run/warm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *
text(const struct container_info *info, const char *key)
{
	const char *value = container_label(info, key);

	return value != NULL ? value : "";
}

static bool
number(const struct container_info *info, const char *key, int64_t max,
    int64_t *ret)
{
	return str_to_int(text(info, key), 1, max, ret) == 0;
}

bool
orphan_read(const struct container_info *info, struct run *ret_run)
{
	struct run run;
	char *end;

	memset(&run, 0, sizeof(run));
	run.image = text(info, "teploy.sandbox.image");
	run.network = text(info, "teploy.sandbox.network");
	run.user = text(info, "teploy.sandbox.user");
	run.labels = text(info, "teploy.sandbox.labels");
	run.egress_allow = text(info, "teploy.sandbox.egress");
	run.auto_extend = str_eq(text(info, "teploy.sandbox.autoextend"), "1");
	run.transport = text(info, "teploy.sandbox.transport");
	run.guest_dir = "";
	run.subnet = text(info, "teploy.sandbox.subnet");
	/* One of before there was this label has none. */
	(void)number(info, "teploy.sandbox.wire", INT32_MAX, &run.guest_wire);
	warm_from_labels(info, &run);
	run.container = info->id;
	run.cpus = strtod(text(info, "teploy.sandbox.cpus"), &end);
	bool whole =
	    *end == '\0' && isfinite(run.cpus) && run.cpus > 0 &&
	    *run.image != '\0' && *run.network != '\0' &&
	    number(info, "teploy.sandbox.created", INT64_MAX / 2,
		&run.created_ms) &&
	    number(info, "teploy.sandbox.ttl", 86400, &run.ttl_sec) &&
	    number(info, "teploy.sandbox.memory", INT32_MAX, &run.memory_mb) &&
	    number(info, "teploy.sandbox.pids", INT64_MAX, &run.pids);
	if (!ulid_parse(text(info, "teploy.sandbox.run"), run.id)) {
		run.id[0] = '\0';
		whole = false;
	}
	*ret_run = run;
	return whole;
}

bool
orphan_lives(const struct container_info *info)
{
	return str_eq(info->status, "running") ||
	       str_eq(info->status, "paused") ||
	       str_eq(info->status, "restarting");
}

bool
orphan_ended(const struct container_info *info)
{
	return str_eq(info->status, "exited") || str_eq(info->status, "dead");
}
