/* A worker's part of an exec, and nothing else. */
#include "direct.h"
#include "../e2e/harness.h"

#include "run/reach.h"

#define EVENT_MS 60000

void
direct_open(struct direct *d, const char *run)
{
	json_auto_t *found = docker_container(run);
	json_t *mount;
	size_t i;

	*d = (struct direct){.engine = engine_new(stack.docker)};
	(void)snprintf(d->container, sizeof(d->container), "%s",
	    json_string_value(json_at(found, "Id")));
	json_array_foreach(json_object_get(found, "Mounts"), i, mount)
	{
		const char *at =
		    json_string_value(json_object_get(mount, "Destination"));

		if (!str_eq(at, REACH_MOUNT))
			continue;
		(void)snprintf(d->dir, sizeof(d->dir), "%s",
		    json_string_value(json_at(mount, "Source")));
		d->pid = json_integer_value(json_at(found, "State.Pid"));
	}
}

void
direct_close(struct direct *d)
{
	engine_free(d->engine);
	d->engine = NULL;
}

struct guest_place
direct_place(const struct direct *d)
{
	return (struct guest_place){d->container, d->dir, d->pid, WIRE_VERSION};
}

struct guest *
direct_exec(const struct direct *d, const char *script)
{
	static const char *const none[] = {NULL};
	const struct wire_exec x = {
	    .script = script,
	    .env = none,
	    .cwd = "/work",
	    .user = "",
	    .generation = d->generation,
	};
	const struct guest_place place = direct_place(d);
	const struct guest_order order = {.exec = &x};
	struct err e = ERR_INIT;
	struct guest *g = guest_exec(d->engine, &place, &order, &e);

	if (g == NULL)
		fail_msg("%s", e.text);
	return g;
}

struct guest_event
direct_next(struct guest *g)
{
	struct guest_event ev = {.type = GUEST_NOTHING};
	struct err e = ERR_INIT;

	check_ok(guest_next(g, -1, EVENT_MS, &ev, &e), &e);
	if (ev.type == GUEST_NOTHING)
		fail_msg("the guest says nothing");
	return ev;
}
