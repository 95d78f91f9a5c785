/* The engine's memory of events. */
#include "docker/events.h"
#include "docker/info.h"
#include "lib/str.h"

#include <jansson.h>
#include <time.h>

#define EVENTS_MS 5000
#define PATH_ROOM 128
#define REMEMBERED 256 /* at most: a memory so full has lost older ones */

/* What is remembered. */
struct memory {
	size_t count;	 /* of everything */
	bool start, end; /* of the container */
};

static void
take_in(struct memory *m, const json_t *event, const char *container)
{
	const char *action =
	    json_string_value(json_object_get(event, "Action"));
	const char *id = json_string_value(
	    json_object_get(json_object_get(event, "Actor"), "ID"));

	m->count++;
	if (action == NULL || id == NULL || !str_eq(id, container))
		return;
	m->start = m->start || str_eq(action, "start");
	m->end = m->end || str_eq(action, "die");
}

/* One JSON object after the other. */
static int
read_events(struct memory *m, const struct buf *body, const char *container,
    struct err *e)
{
	for (size_t at = 0; at < body->size;) {
		json_error_t error;
		json_auto_t *event = json_loadb(body->data + at,
		    body->size - at, JSON_DISABLE_EOF_CHECK, &error);

		if (event == NULL)
			return err_set(
			    e, ERR_ENGINE, "Docker's events make no sense");
		take_in(m, event, container);
		at += (size_t)error.position;
		while (at < body->size && body->data[at] == '\n')
			at++;
	}
	return 0;
}

static int
get(struct engine *en, const char *path, struct engine_reply *reply,
    struct err *e)
{
	const struct engine_call call = {
	    .method = "GET", .path = path, .timeout_ms = EVENTS_MS};

	if (engine_do(en, &call, reply, e) != 0)
		return err_wrap(e, "cannot ask for the engine's past");
	return reply->status == 200
		   ? 0
		   : engine_refused(
			 reply, "cannot ask for the engine's past", e);
}

static int
remember(
    struct engine *en, const char *container, struct memory *m, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_ROOM);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	struct timespec now;

	/* With an end that has passed it answers at once. No filter: the events
	 * of others are counted. */
	(void)clock_gettime(CLOCK_REALTIME, &now);
	buf_addf(&path, "/events?since=1&until=%lld.%09ld",
	    (long long)now.tv_sec, now.tv_nsec);
	if (get(en, path.data, &reply, e) != 0)
		return -1;
	return read_events(m, &reply.body, container, e);
}

/* Containers outlive the engine. */
static int
restores(struct engine *en, bool *ret_restores, struct err *e)
{
	struct engine_info info;

	if (engine_info(en, "", &info, e) != 0)
		return -1;
	*ret_restores = info.live_restore;
	return 0;
}

int
events_restart_ended(
    struct engine *en, const char *container, bool *ret_restart, struct err *e)
{
	struct memory m = {0};
	bool outlived = false;

	if (remember(en, container, &m, e) != 0)
		return -1;
	/* One that it did not see start ran under an engine before it. If it
	 * saw the end all the same, then either the run had outlived that one,
	 * or (after a kill, which leaves containers running) the end was the
	 * first that this one did. */
	bool before = !m.start && m.count < REMEMBERED;
	if (before && m.end && restores(en, &outlived, e) != 0)
		return -1;
	*ret_restart = before && !outlived;
	return 0;
}
