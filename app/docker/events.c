/* The engine's memory of events. */
#include "docker/events.h"
#include "lib/str.h"

#include <jansson.h>
#include <time.h>

#define EVENTS_MS 5000
#define PATH_ROOM 128
#define REMEMBERED 256 /* at most: a memory so full has lost older ones */

static bool
is_end(const json_t *event, const char *container)
{
	const char *action =
	    json_string_value(json_object_get(event, "Action"));
	const char *id = json_string_value(
	    json_object_get(json_object_get(event, "Actor"), "ID"));

	return action != NULL && id != NULL && str_eq(action, "die") &&
	       str_eq(id, container);
}

/* One JSON object after the other. */
static int
count_events(const struct buf *body, const char *container, size_t *ret_count,
    bool *ret_end, struct err *e)
{
	size_t count = 0;
	bool end = false;

	for (size_t at = 0; at < body->size;) {
		json_error_t error;
		json_auto_t *event = json_loadb(body->data + at,
		    body->size - at, JSON_DISABLE_EOF_CHECK, &error);

		if (event == NULL)
			return err_set(
			    e, ERR_ENGINE, "Docker's events make no sense");
		count++;
		end = end || is_end(event, container);
		at += (size_t)error.position;
		while (at < body->size && body->data[at] == '\n')
			at++;
	}
	*ret_count = count;
	*ret_end = end;
	return 0;
}

int
events_missed_end(
    struct engine *en, const char *container, bool *ret_missed, struct err *e)
{
	BUF_AUTO path = BUF_INIT(PATH_ROOM);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	struct timespec now;
	size_t count = 0;
	bool end = false;

	/* With an end that has passed it answers at once. The filters are ours,
	 * not the engine's: those of other events are counted. */
	(void)clock_gettime(CLOCK_REALTIME, &now);
	buf_addf(&path, "/events?since=1&until=%lld.%09ld",
	    (long long)now.tv_sec, now.tv_nsec);
	const struct engine_call call = {
	    .method = "GET", .path = path.data, .timeout_ms = EVENTS_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot read the engine's events");
	if (reply.status != 200)
		return engine_refused(
		    &reply, "cannot read the engine's events", e);
	if (count_events(&reply.body, container, &count, &end, e) != 0)
		return -1;
	*ret_missed = !end && count < REMEMBERED;
	return 0;
}
