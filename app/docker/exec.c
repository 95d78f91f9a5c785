/* Exec: create, then start on a hijacked connection. */
#include "docker/exec.h"
#include "docker/hijack.h"
#include "lib/jw.h"

#include <jansson.h>

#define CREATE_MS 20000
#define START_MS 20000
#define BODY_MAX (64u * 1024)

static void
write_spec(struct buf *body, const struct exec_spec *spec)
{
	struct jw w = JW_INIT(body);

	jw_open(&w, '{');
	jw_bool(&w, "AttachStdin", true);
	jw_bool(&w, "AttachStdout", true);
	jw_bool(&w, "AttachStderr", true);
	jw_str(&w, "User", spec->user);
	/* The image's WORKDIR may have been removed since. */
	jw_str(&w, "WorkingDir", "/");
	jw_key(&w, "Cmd");
	jw_open(&w, '[');
	for (size_t i = 0; spec->argv[i] != NULL; i++)
		jw_str(&w, NULL, spec->argv[i]);
	jw_close(&w, ']');
	jw_close(&w, '}');
}

/* Append the new exec's path, "/exec/ID/start", to path. */
static int
create(struct engine *en, const struct exec_spec *spec, struct buf *path,
    struct err *e)
{
	BUF_AUTO url = BUF_INIT(1024);
	BUF_AUTO body = BUF_INIT(BODY_MAX);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;

	buf_adds(&url, "/containers/");
	engine_escape(&url, spec->container);
	buf_adds(&url, "/exec");
	write_spec(&body, spec);
	if (url.over || body.over)
		return err_set(e, ERR_ENGINE, "the exec is too large");
	const struct engine_call call = {.method = "POST",
	    .path = url.data,
	    .json = body.data,
	    .timeout_ms = CREATE_MS};
	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot create an exec");
	if (reply.status != 201)
		return engine_refused(&reply, "cannot create an exec", e);
	json_auto_t *answer =
	    json_loadb(reply.body.data, reply.body.size, 0, NULL);
	const char *id = json_string_value(json_object_get(answer, "Id"));
	buf_adds(path, "/exec/");
	engine_escape(path, id != NULL ? id : "");
	buf_adds(path, "/start");
	if (id == NULL || path->over)
		return err_set(e, ERR_ENGINE, "Docker's new exec has no id");
	return 0;
}

int
exec_open(struct engine *en, const struct exec_spec *spec, struct err *e)
{
	BUF_AUTO path = BUF_INIT(1024);

	if (create(en, spec, &path, e) != 0)
		return -1;
	int fd = hijack_open(
	    en, path.data, "{\"Detach\":false,\"Tty\":false}", START_MS, e);
	if (fd < 0)
		return err_wrap(e, "cannot start an exec");
	return fd;
}
