/* Exec objects of one run, in tests. */
#include "objects.h"
#include "../check.h"
#include "lib/str.h"
#include "outside.h"
#include "sandbox.h"

#include <stdio.h>
#include <stdlib.h>

char object_run[ULID_SIZE];

void
object_start(json_t *body, char ret_id[ULID_SIZE])
{
	json_object_set_new(body, "detach", json_true());
	REPLY_AUTO r = http_json("POST", run_url(object_run, "exec"), body);
	if (r.status != 202)
		fail_msg("detach: %ld %s", r.status, r.body.data);
	(void)snprintf(ret_id, ULID_SIZE, "%s",
	    json_string_value(json_at(r.json, "exec.id")));
}

void
object_sh(const char *cmd, char ret_id[ULID_SIZE])
{
	object_start(json_pack("{s:s}", "cmd", cmd), ret_id);
}

const char *
object_url(const char *id, const char *what)
{
	static char path[300];

	(void)snprintf(path, sizeof(path), "/v1/runs/%s/execs/%s%s%s",
	    object_run, id, *what == '\0' || *what == '?' ? "" : "/", what);
	return path;
}

struct reply
object_get(const char *id)
{
	return http_do("GET", object_url(id, ""), NULL, NULL);
}

int64_t
object_int(const char *id, const char *path)
{
	REPLY_AUTO r = object_get(id);

	assert_int_equal(r.status, 200);
	return json_integer_value(json_at(r.json, path));
}

bool
object_is(const char *id, const char *state)
{
	REPLY_AUTO r = object_get(id);

	return r.status == 200 &&
	       str_eq(json_string_value(json_at(r.json, "state")), state);
}

long
object_post(const char *id, const char *what, const char *body)
{
	REPLY_AUTO r = http_do("POST", object_url(id, what), body, NULL);

	return r.status;
}

struct stream *
object_follow(const char *id, const char *query)
{
	char what[100];

	(void)snprintf(what, sizeof(what), "stream%s", query);
	return stream_get(object_url(id, what), NULL);
}

struct executed
object_read(const char *id, const char *query)
{
	struct stream *s = object_follow(id, query);
	struct executed x = exec_finish(s);

	stream_close(s);
	return x;
}

void
object_let(const char *name)
{
	char cmd[100];

	(void)snprintf(cmd, sizeof(cmd), "touch %s", name);
	EXECUTED_AUTO x = exec_sh(object_run, cmd);
	assert_int_equal(exit_code(&x), 0);
}
