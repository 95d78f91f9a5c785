/* A worker's part of an exec, and nothing else. */
#include "direct.h"
#include "../check.h"

#define EVENT_MS 60000

struct guest *
direct_exec(struct engine *engine, const char *container, const char *script)
{
	static const char *const none[] = {NULL};
	const struct wire_exec x = {
	    .script = script, .env = none, .cwd = "/work", .user = ""};
	const struct guest_place place = {container, "", 0};
	const struct guest_order order = {.exec = &x};
	struct err e = ERR_INIT;
	struct guest *g = guest_exec(engine, &place, &order, &e);

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
