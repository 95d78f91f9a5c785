/* HTTP exchanges by libcurl. */
#include "docker/transfer.h"
#include "lib/clock.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define GONE_CHECK_MS 200
#define AUTH_LINE_MAX (256u * 1024)
#define PIECE_MAX (256u * 1024) /* received ahead of who takes it */

struct transfer {
	char *socket_path;
	CURLM *multi; /* both are made on first use */
	CURL *easy;
	/* of the exchange under way */
	struct engine_call call;
	struct engine_reply *reply;
	struct curl_slist *fields;
	int64_t deadline, heard_at;
	CURLcode code;
	bool done;	/* code counts */
	bool stopped;	/* the consumer wants no more */
	bool head_done; /* the answer's head came to its end */
	bool in_steps;	/* a 2xx body goes to piece */
	bool paused;	/* libcurl holds bytes that piece had no room for */
	bool handed;	/* what is in piece was given to its taker */
	struct buf piece;
};

int
engine_setup(struct err *e)
{
	/* No TLS: the engine is behind a unix socket. */
	if (curl_global_init(CURL_GLOBAL_NOTHING) != 0)
		return err_set(e, ERR_INTERNAL, "cannot set up libcurl");
	return 0;
}

struct transfer *
transfer_new(const char *socket_path)
{
	struct transfer *t = mem_zalloc(sizeof(*t));

	t->socket_path = mem_strdup(socket_path);
	t->piece = (struct buf)BUF_INIT(PIECE_MAX);
	return t;
}

void
transfer_free(struct transfer *t)
{
	if (t == NULL)
		return;
	transfer_end(t);
	if (t->easy != NULL)
		curl_easy_cleanup(t->easy);
	if (t->multi != NULL)
		(void)curl_multi_cleanup(t->multi);
	buf_release(&t->piece);
	free(t->socket_path);
	free(t);
}

/* -- libcurl's callbacks -------------------------------------------------- */

/* libcurl's own sockets are not close-on-exec (7.88). */
static curl_socket_t
open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	(void)arg;
	(void)purpose;
	return socket(address->family, address->socktype | SOCK_CLOEXEC,
	    address->protocol);
}

/* A line of the head. libcurl takes an answer that is cut off in it for a whole
 * one. */
static size_t /* NOLINTNEXTLINE(readability-non-const-parameter): its type */
take_head(char *line, size_t unit, size_t size, void *arg)
{
	struct transfer *t = arg;
	const char *name = t->call.field, *value = line, *end;

	size *= unit;
	end = line + size;
	if (line[0] == '\r' || line[0] == '\n')
		t->head_done = true;
	if (name == NULL || size <= strlen(name) ||
	    strncasecmp(line, name, strlen(name)) != 0 ||
	    line[strlen(name)] != ':')
		return size;
	value += strlen(name) + 1;
	while (value < end && *value == ' ')
		value++;
	while (end > value && strchr("\r\n ", end[-1]) != NULL)
		end--;
	buf_reset(&t->reply->field);
	buf_add(&t->reply->field, value, (size_t)(end - value));
	return size;
}

static size_t
take_body(char *bytes, size_t unit, size_t size, void *arg)
{
	struct transfer *t = arg;
	long status = 0;

	size *= unit;
	t->heard_at = clock_mono_ms();
	(void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (t->call.consume != NULL && status / 100 == 2) {
		t->stopped = t->call.consume(t->call.arg, bytes, size) != 0;
		return t->stopped ? 0 : size;
	}
	if (t->in_steps && status / 100 == 2) {
		t->paused = size > PIECE_MAX - t->piece.size;
		if (t->paused)
			return CURL_WRITEFUNC_PAUSE;
		buf_add(&t->piece, bytes, size);
		return size;
	}
	buf_add(&t->reply->body, bytes, size);
	return t->reply->body.over ? 0 : size;
}

static size_t
feed_body(char *to, size_t unit, size_t size, void *arg)
{
	struct transfer *t = arg;
	int64_t n = t->call.feed(t->call.arg, to, unit * size);

	t->heard_at = clock_mono_ms();
	t->stopped = n < 0;
	return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

/* -- one exchange --------------------------------------------------------- */

static int
make_handles(struct transfer *t, struct err *e)
{
	if (t->multi == NULL)
		t->multi = curl_multi_init();
	if (t->easy == NULL)
		t->easy = curl_easy_init();
	if (t->multi == NULL || t->easy == NULL)
		return err_set(e, ERR_INTERNAL, "cannot make a curl handle");
	(void)curl_multi_setopt(t->multi, CURLMOPT_MAXCONNECTS, 1L);
	CURL *c = t->easy;
	curl_easy_reset(c);
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, t->socket_path);
	(void)curl_easy_setopt(c, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
	(void)curl_easy_setopt(
	    c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	(void)curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_head);
	(void)curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
	(void)curl_easy_setopt(c, CURLOPT_READFUNCTION, feed_body);
	(void)curl_easy_setopt(c, CURLOPT_READDATA, t);
	return 0;
}

/* A body of unknown size, which libcurl then sends in chunks. */
static struct curl_slist *
set_feed(CURL *c, struct curl_slist *fields)
{
	(void)curl_easy_setopt(c, CURLOPT_POST, 1L);
	return curl_slist_append(fields, "Content-Type: application/x-tar");
}

static struct curl_slist *
set_request(CURL *c, const struct engine_call *call)
{
	struct curl_slist *fields = curl_slist_append(NULL, "Expect:");
	bool reads =
	    str_eq(call->method, "GET") || str_eq(call->method, "HEAD");

	if (call->feed != NULL) {
		fields = set_feed(c, fields);
	} else if (str_eq(call->method, "POST")) {
		const char *body = call->json != NULL ? call->json : "";

		(void)curl_easy_setopt(
		    c, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
		fields =
		    curl_slist_append(fields, "Content-Type: application/json");
	} else if (str_eq(call->method, "HEAD")) {
		(void)curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	} else {
		(void)curl_easy_setopt(c, CURLOPT_HTTPGET, 1L);
	}
	(void)curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, call->method);
	/* libcurl sends a request again when a kept connection turns out dead,
	 * whatever its method: what changes something gets a fresh one. */
	(void)curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, (long)!reads);
	if (call->registry_auth != NULL) {
		BUF_AUTO line = BUF_INIT(AUTH_LINE_MAX);

		buf_addf(&line, "X-Registry-Auth: %s", call->registry_auth);
		fields = curl_slist_append(fields, line.data);
	}
	(void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, fields);
	return fields;
}

/* Why the exchange must end now, if it must. */
static int
must_end(const struct transfer *t, struct err *e)
{
	const struct engine_call *call = &t->call;
	int64_t now = clock_mono_ms();

	if (call->gone != NULL && call->gone(call->arg))
		return err_set(e, ERR_GONE_AWAY, "the caller left");
	if (now >= t->deadline)
		return err_set(
		    e, ERR_ENGINE_TIMEOUT, "Docker did not answer in time");
	if (call->idle_ms > 0 && now - t->heard_at >= call->idle_ms)
		return err_set(e, ERR_ENGINE_TIMEOUT,
		    "Docker said nothing for %d ms", call->idle_ms);
	return 0;
}

static int
next_wait(const struct transfer *t)
{
	int left = clock_left(t->deadline);

	if (t->call.idle_ms > 0) {
		int idle = clock_left(t->heard_at + t->call.idle_ms);

		left = idle < left ? idle : left;
	}
	if (t->call.gone != NULL && left > GONE_CHECK_MS)
		return GONE_CHECK_MS;
	return left + 1; /* clock_left rounds down */
}

static int
transfer_failed(const struct transfer *t, struct err *e)
{
	long number = 0;

	switch (t->code) {
	case CURLE_WRITE_ERROR:
		if (t->stopped)
			return err_set(e, ERR_GONE_AWAY, "the caller left");
		return err_set(e, ERR_ENGINE,
		    "Docker's answer is larger than %zu bytes",
		    t->reply->body.max);
	case CURLE_ABORTED_BY_CALLBACK:
		return err_set(e, ERR_GONE_AWAY, "the caller left");
	case CURLE_COULDNT_CONNECT:
		(void)curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &number);
		return err_set(e, ERR_ENGINE_AWAY,
		    "cannot connect to Docker (SBX_DOCKER_SOCKET): %s",
		    strerror((int)number));
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		return err_set(e, ERR_ENGINE_AWAY,
		    "Docker closed the connection without a whole answer");
	default:
		return err_set(e, ERR_ENGINE, "Docker's answer is not HTTP: %s",
		    curl_easy_strerror(t->code));
	}
}

/* Move what can be moved: 1 once the exchange is done, which may be its
 * failure; 0 where it goes on, after a wait unless something came. */
static int
step(struct transfer *t, struct err *e)
{
	int running = 1, left;

	if (curl_multi_perform(t->multi, &running) != CURLM_OK)
		return err_set(e, ERR_INTERNAL, "libcurl failed");
	if (running == 0) {
		CURLMsg *message = curl_multi_info_read(t->multi, &left);

		t->done = true;
		t->code =
		    message != NULL ? message->data.result : CURLE_RECV_ERROR;
		if (t->code == CURLE_OK && !t->head_done)
			t->code = CURLE_PARTIAL_FILE;
		return 1;
	}
	if (t->piece.size > 0)
		return 0;
	if (must_end(t, e) != 0)
		return -1;
	(void)curl_multi_poll(t->multi, NULL, 0, next_wait(t), NULL);
	return 0;
}

static int
start(struct transfer *t, const char *url, const struct engine_call *call,
    struct engine_reply *reply, struct err *e)
{
	buf_reset(&reply->body);
	buf_reset(&reply->field);
	reply->status = 0;
	if (make_handles(t, e) != 0)
		return -1;
	t->call = *call;
	t->reply = reply;
	t->heard_at = clock_mono_ms();
	t->deadline = t->heard_at + call->timeout_ms;
	t->code = CURLE_OK;
	t->done = t->stopped = t->head_done = t->paused = t->handed = false;
	buf_reset(&t->piece);
	(void)curl_easy_setopt(t->easy, CURLOPT_URL, url);
	t->fields = set_request(t->easy, call);
	if (curl_multi_add_handle(t->multi, t->easy) != CURLM_OK)
		abort(); /* a new handle, or one that was removed */
	return 0;
}

void
transfer_end(struct transfer *t)
{
	if (t->fields == NULL)
		return; /* none is under way: there is always a field */
	/* Removing an unfinished exchange closes its connection. */
	(void)curl_multi_remove_handle(t->multi, t->easy);
	curl_slist_free_all(t->fields);
	t->fields = NULL;
}

int
transfer_run(struct transfer *t, const char *url,
    const struct engine_call *call, struct engine_reply *ret_reply,
    struct err *e)
{
	int rc;

	t->in_steps = false;
	if (start(t, url, call, ret_reply, e) != 0)
		return -1;
	while ((rc = step(t, e)) == 0)
		;
	transfer_end(t);
	(void)curl_easy_getinfo(
	    t->easy, CURLINFO_RESPONSE_CODE, &ret_reply->status);
	if (rc < 0 || t->code == CURLE_OK)
		return rc < 0 ? -1 : 0;
	return transfer_failed(t, e);
}

int
transfer_begin(struct transfer *t, const char *url,
    const struct engine_call *call, struct engine_reply *ret_reply,
    struct err *e)
{
	int rc;

	t->in_steps = true;
	if (start(t, url, call, ret_reply, e) != 0)
		return -1;
	/* The first byte of a body, or its end: the head is whole then. */
	while ((rc = step(t, e)) == 0 && t->piece.size == 0)
		;
	(void)curl_easy_getinfo(
	    t->easy, CURLINFO_RESPONSE_CODE, &ret_reply->status);
	if (rc > 0 && t->code != CURLE_OK && t->piece.size == 0)
		rc = transfer_failed(t, e);
	if (rc < 0)
		transfer_end(t);
	return rc < 0 ? -1 : 0;
}

int
transfer_next(
    struct transfer *t, const char **ret_bytes, size_t *ret_size, struct err *e)
{
	if (t->handed)
		buf_reset(&t->piece);
	t->handed = false;
	t->heard_at = clock_mono_ms(); /* the taker's time does not count */
	if (t->paused && t->piece.size == 0) {
		t->paused = false;
		(void)curl_easy_pause(t->easy, CURLPAUSE_CONT);
	}
	/* Also of what comes without a wait there may be too much. */
	if (t->piece.size == 0 && !t->done && must_end(t, e) != 0)
		return -1;
	while (t->piece.size == 0 && !t->done)
		if (step(t, e) < 0)
			return -1;
	if (t->piece.size == 0)
		return t->code == CURLE_OK ? 0 : transfer_failed(t, e);
	t->handed = true;
	*ret_bytes = t->piece.data;
	*ret_size = t->piece.size;
	return 1;
}
