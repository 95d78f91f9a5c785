/* The Engine API by hand. */
#include "raw.h"
#include "../e2e/harness.h"

#include "lib/fd.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALL_MS 60000
#define BYTES_MAX ((size_t)1 << 20)

struct raw
raw_open(void)
{
	struct raw r = {-1, BUF_INIT(BYTES_MAX)};
	struct err e = ERR_INIT;
	struct timeval most = {.tv_sec = CALL_MS / 1000};

	r.fd = fd_connect_unix(stack.docker, CALL_MS, &e);
	if (r.fd < 0)
		fail_msg("%s", e.text);
	(void)setsockopt(r.fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	return r;
}

void
raw_close(struct raw *r)
{
	fd_close(&r->fd);
	buf_release(&r->in);
}

/* Some more bytes; false at the end. */
static bool
more(struct raw *r)
{
	char *to = buf_grow(&r->in, 65536);

	if (to == NULL)
		fail_msg("the engine's answer is too large");
	ssize_t n = read(r->fd, to, 65536);
	if (n < 0)
		fail_msg("the engine does not answer");
	r->in.size += (size_t)n;
	r->in.data[r->in.size] = '\0';
	return n > 0;
}

/* Size of a body that comes in chunks. */
#define CHUNKED SIZE_MAX

/* What the head of an answer says of its body. */
static size_t
body_size(const char *head, const char *end)
{
	const char *length = strcasestr(head, "\r\nContent-Length:");
	const char *chunked =
	    strcasestr(head, "\r\nTransfer-Encoding: chunked");

	if (chunked != NULL && chunked < end)
		return CHUNKED;
	if (length != NULL && length < end)
		return strtoul(length + 17, NULL, 10);
	return 0;
}

/* Send a request and read the head of its answer, which is dropped. */
static int
ask_with(struct raw *r, const char *method, const char *path,
    const char *fields, const char *body, size_t given, size_t *ret_size)
{
	BUF_AUTO request = BUF_INIT(BYTES_MAX);
	struct err e = ERR_INIT;
	const char *end;

	buf_addf(&request,
	    "%s %s HTTP/1.1\r\nHost: engine\r\n%sContent-Length: %zu\r\n\r\n",
	    method, path, fields, given);
	buf_add(&request, body, given);
	check_ok(fd_write_all(r->fd, request.data, request.size,
		     clock_mono_ms() + CALL_MS, &e),
	    &e);
	while ((end = strstr(r->in.data, "\r\n\r\n")) == NULL)
		if (!more(r))
			fail_msg("%s %s: no answer", method, path);
	*ret_size = body_size(r->in.data, end);
	long status = strtol(r->in.data + strlen("HTTP/1.1 "), NULL, 10);
	buf_drop(&r->in, (size_t)(end + 4 - r->in.data));
	return (int)status;
}

static int
ask(struct raw *r, const char *method, const char *path, const char *fields,
    const char *body, size_t *ret_size)
{
	return ask_with(r, method, path, fields, body, strlen(body), ret_size);
}

/* Move size bytes to `to`, which may be NULL. */
static void
take(struct raw *r, size_t size, struct buf *to)
{
	while (r->in.size < size)
		if (!more(r))
			fail_msg("the engine's answer broke off");
	if (to != NULL)
		buf_add(to, r->in.data, size);
	buf_drop(&r->in, size);
}

/* RFC 9112, 7.1; the engine sends no extensions and no trailers. */
static void
take_chunks(struct raw *r, struct buf *to)
{
	size_t size;

	do {
		const char *end;

		while ((end = strstr(r->in.data, "\r\n")) == NULL)
			if (!more(r))
				fail_msg("the engine's answer broke off");
		size = strtoul(r->in.data, NULL, 16);
		take(r, (size_t)(end + 2 - r->in.data), NULL);
		take(r, size, to);
		take(r, 2, NULL);
	} while (size > 0);
}

int
raw_call(struct raw *r, const char *method, const char *path, const char *body,
    struct buf *ret_body)
{
	size_t size;
	int status = ask(r, method, path, "Content-Type: application/json\r\n",
	    body != NULL ? body : "", &size);

	if (size == CHUNKED)
		take_chunks(r, ret_body);
	else
		take(r, size, ret_body);
	return status;
}

int
raw_put(struct raw *r, const char *path, const char *bytes, size_t given)
{
	size_t size;
	int status = ask_with(r, "PUT", path,
	    "Content-Type: application/x-tar\r\n", bytes, given, &size);

	take(r, size, NULL);
	return status;
}

void
raw_member(struct raw *r, const char *method, const char *path,
    const char *body, int status, const char *member,
    char ret_value[RAW_ID_SIZE])
{
	BUF_AUTO answer = BUF_INIT(BYTES_MAX);

	if (raw_call(r, method, path, body, &answer) != status)
		fail_msg("%s %s: %s", method, path, answer.data);
	json_auto_t *json = json_loadb(answer.data, answer.size, 0, NULL);
	(void)snprintf(ret_value, RAW_ID_SIZE, "%s",
	    json_string_value(json_at(json, member)));
}

struct raw
raw_exec_open(struct raw *kept, const char *container, const char *argv,
    char ret_exec[RAW_ID_SIZE])
{
	char path[256], body[512];
	size_t size;
	struct raw stream = raw_open();

	(void)snprintf(path, sizeof(path), "/containers/%s/exec", container);
	(void)snprintf(body, sizeof(body),
	    "{\"AttachStdout\":true,\"AttachStderr\":true,\"Cmd\":%s}", argv);
	raw_member(kept, "POST", path, body, 201, "Id", ret_exec);
	(void)snprintf(path, sizeof(path), "/exec/%s/start", ret_exec);
	int status = ask(&stream, "POST", path,
	    "Content-Type: application/json\r\n"
	    "Connection: Upgrade\r\nUpgrade: tcp\r\n",
	    "{\"Detach\":false}", &size);
	if (status != 101)
		fail_msg("POST %s: %d", path, status);
	return stream;
}

/* Frames of {stream, 0, 0, 0, size as big-endian 32 bits}, then the bytes. */
bool
raw_output(struct raw *stream, struct buf *to)
{
	while (stream->in.size < 8)
		if (!more(stream))
			return false;
	const unsigned char *head = (const unsigned char *)stream->in.data;
	size_t size = (size_t)head[4] << 24 | (size_t)head[5] << 16 |
		      (size_t)head[6] << 8 | (size_t)head[7];
	while (stream->in.size < 8 + size)
		if (!more(stream))
			fail_msg("the output broke off");
	buf_add(to, stream->in.data + 8, size);
	buf_drop(&stream->in, 8 + size);
	return true;
}

int
raw_exit_code(struct raw *kept, const char *exec)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "/exec/%s/json", exec);
	/* The stream may end a moment before the engine knows of the end. */
	for (;;) {
		BUF_AUTO answer = BUF_INIT(BYTES_MAX);

		assert_int_equal(
		    raw_call(kept, "GET", path, NULL, &answer), 200);
		json_auto_t *json =
		    json_loadb(answer.data, answer.size, 0, NULL);
		if (json_is_false(json_at(json, "Running")))
			return (int)json_integer_value(
			    json_at(json, "ExitCode"));
	}
}

int
raw_exec(
    struct raw *kept, const char *container, const char *argv, struct buf *out)
{
	char exec[RAW_ID_SIZE];
	struct raw stream = raw_exec_open(kept, container, argv, exec);

	while (raw_output(&stream, out))
		;
	raw_close(&stream);
	return raw_exit_code(kept, exec);
}
