/* A peer for a test program. */
#include "peer_fixture.h"
#include "../check.h"

#include <signal.h>
#include <string.h>

struct peer peer;
const struct guest_patience peer_patience = {-1, PEER_PATIENCE_MS};

int
peer_setup(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	peer_open(&peer);
	return 0;
}

int
peer_teardown(void **state)
{
	(void)state;
	peer_close(&peer);
	return 0;
}

int
peer_stop(void **state)
{
	(void)state;
	peer_join(&peer);
	return 0;
}

void
say(enum wire_type type, const char *text)
{
	wire_put(&peer.say, type, text, strlen(text));
}

void
say_nothing(void)
{
	buf_reset(&peer.say);
	peer.cue = 0;
}

void
say_after(enum wire_type cue, enum wire_type type)
{
	peer.cue = cue;
	peer.pause = peer.say.size;
	say(type, "");
}

enum wire_type
next_heard(size_t *ret_size)
{
	struct err e = ERR_INIT;
	enum wire_type type = 0;
	const char *payload;
	size_t used = 0;

	if (wire_next(peer.heard.data, peer.heard.size, &type, &payload,
		ret_size, &used, &e) != 1)
		return 0;
	buf_drop(&peer.heard, used);
	return type;
}

struct guest *
peer_exec(bool keep, const char *input, struct err *e)
{
	static const char *const env[] = {NULL};
	const struct guest_place at = peer_place(&peer);
	const struct wire_exec x = {.script = "true",
	    .env = env,
	    .cwd = "/",
	    .user = "",
	    .id = PEER_ID,
	    .keep = keep,
	    .open_stdin = input != NULL};
	const struct guest_order order = {.exec = &x,
	    .stdin_text = input,
	    .stdin_size = input != NULL ? strlen(input) : 0};

	return guest_exec(NULL, &at, &order, e);
}

struct guest_file *
peer_file(enum wire_file_what what, struct err *e)
{
	const struct guest_place at = peer_place(&peer);
	const struct wire_file rq = {
	    .what = what, .user = "", .root = "/work", .path = "f", .to = ""};

	return guest_file_open(NULL, &at, &rq, &peer_patience, e);
}
