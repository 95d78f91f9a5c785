/* Reading GET /info. */
#include "docker/info.h"
#include "lib/str.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define INFO_MS 10000

static void
take(const json_t *o, const char *name, char *to, size_t room)
{
	const char *text = json_string_value(json_object_get(o, name));

	(void)snprintf(to, room, "%s", text != NULL ? text : "");
}

static bool
is_true(const json_t *o, const char *name)
{
	return json_is_true(json_object_get(o, name));
}

/* "name=rootless", "name=userns", ... */
static bool
has_option(const json_t *o, const char *name)
{
	const json_t *option;
	size_t i;

	json_array_foreach(json_object_get(o, "SecurityOptions"), i, option)
	{
		const char *text = json_string_value(option);

		if (text != NULL && strstr(text, name) != NULL)
			return true;
	}
	return false;
}

int
engine_info(struct engine *en, const char *runtime,
    struct engine_info *ret_info, struct err *e)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = {
	    .method = "GET", .path = "/info", .timeout_ms = INFO_MS};

	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot ask the engine about itself");
	if (reply.status != 200)
		return engine_refused(
		    &reply, "cannot ask the engine about itself", e);
	json_auto_t *o = json_loadb(reply.body.data, reply.body.size, 0, NULL);
	if (!json_is_object(o))
		return err_set(
		    e, ERR_ENGINE, "what Docker says of itself makes no sense");
	struct engine_info info = {
	    .rootless = has_option(o, "name=rootless"),
	    .userns_remap = has_option(o, "name=userns"),
	    .live_restore = is_true(o, "LiveRestoreEnabled"),
	    .limits_memory = is_true(o, "MemoryLimit"),
	    .limits_swap = is_true(o, "SwapLimit"),
	    .limits_pids = is_true(o, "PidsLimit"),
	    .limits_cpu = is_true(o, "CpuCfsQuota"),
	    .has_runtime = *runtime == '\0' ||
			   json_object_get(
			       json_object_get(o, "Runtimes"), runtime) != NULL,
	};
	take(o, "ServerVersion", info.version, sizeof(info.version));
	take(o, "Driver", info.driver, sizeof(info.driver));
	take(o, "CgroupVersion", info.cgroup, sizeof(info.cgroup));
	take(o, "DefaultRuntime", info.runtime, sizeof(info.runtime));
	take(o, "DockerRootDir", info.root, sizeof(info.root));
	*ret_info = info;
	return 0;
}
