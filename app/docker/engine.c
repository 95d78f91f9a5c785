/* The Docker Engine API over libcurl, on one kept connection. */
#include "docker/engine.h"
#include "lib/clock.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define API_MINOR 47 /* 1.47: the newest API this was written for */
#define GONE_CHECK_MS 200
#define TRUST_MS 1000 /* after so much silence it is pinged first */
#define PING_MS 2000
#define URL_MAX (16u * 1024)
#define AUTH_LINE_MAX (256u * 1024)

struct engine {
	char *socket_path;
	CURLM *multi; /* both are made on first use */
	CURL *easy;
	char version[24]; /* "" until negotiated */
	int64_t heard_at; /* its last answer */
};

/* One transfer, as libcurl's callbacks and its loop see it. */
struct transfer {
	const struct engine_call *call;
	struct engine_reply *reply;
	CURL *easy;
	int64_t deadline, heard_at;
	bool stopped;	/* the consumer wants no more */
	bool head_done; /* the answer's head came to its end */
};

int
engine_setup(struct err *e)
{
	/* No TLS: the engine is behind a unix socket. */
	if (curl_global_init(CURL_GLOBAL_NOTHING) != 0)
		return err_set(e, ERR_INTERNAL, "cannot set up libcurl");
	return 0;
}

struct engine *
engine_new(const char *socket_path)
{
	struct engine *en = mem_zalloc(sizeof(*en));

	en->socket_path = mem_strdup(socket_path);
	return en;
}

void
engine_free(struct engine *en)
{
	if (en == NULL)
		return;
	if (en->easy != NULL)
		curl_easy_cleanup(en->easy);
	if (en->multi != NULL)
		(void)curl_multi_cleanup(en->multi);
	free(en->socket_path);
	free(en);
}

const char *
engine_socket(const struct engine *en)
{
	return en->socket_path;
}

void
engine_escape(struct buf *path, const char *text)
{
	for (; *text != '\0'; text++) {
		/* RFC 3986 2.3: unreserved. */
		if ((*text >= 'a' && *text <= 'z') ||
		    (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9') ||
		    strchr("-._~", *text) != NULL)
			buf_addc(path, *text);
		else
			buf_addf(path, "%%%02X", (unsigned char)*text);
	}
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

/* libcurl takes an answer that is cut off in its head for a whole one. */
static size_t /* NOLINTNEXTLINE(readability-non-const-parameter): its type */
take_head(char *line, size_t unit, size_t size, void *arg)
{
	struct transfer *t = arg;

	if (line[0] == '\r' || line[0] == '\n')
		t->head_done = true;
	return unit * size;
}

static size_t
take_body(char *bytes, size_t unit, size_t size, void *arg)
{
	struct transfer *t = arg;
	long status = 0;

	size *= unit;
	t->heard_at = clock_mono_ms();
	(void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (t->call->consume != NULL && status / 100 == 2) {
		t->stopped = t->call->consume(t->call->arg, bytes, size) != 0;
		return t->stopped ? 0 : size;
	}
	buf_add(&t->reply->body, bytes, size);
	return t->reply->body.over ? 0 : size;
}

/* -- one transfer --------------------------------------------------------- */

static int
make_handles(struct engine *en, struct err *e)
{
	if (en->multi == NULL)
		en->multi = curl_multi_init();
	if (en->easy == NULL)
		en->easy = curl_easy_init();
	if (en->multi == NULL || en->easy == NULL)
		return err_set(e, ERR_INTERNAL, "cannot make a curl handle");
	(void)curl_multi_setopt(en->multi, CURLMOPT_MAXCONNECTS, 1L);
	CURL *c = en->easy;
	curl_easy_reset(c);
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, en->socket_path);
	(void)curl_easy_setopt(c, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
	(void)curl_easy_setopt(
	    c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	(void)curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_head);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
	return 0;
}

static struct curl_slist *
set_request(CURL *c, const struct engine_call *call)
{
	struct curl_slist *fields = curl_slist_append(NULL, "Expect:");

	if (str_eq(call->method, "POST")) {
		const char *body = call->json != NULL ? call->json : "";

		(void)curl_easy_setopt(
		    c, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
		fields =
		    curl_slist_append(fields, "Content-Type: application/json");
	} else {
		(void)curl_easy_setopt(c, CURLOPT_HTTPGET, 1L);
	}
	(void)curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, call->method);
	/* libcurl sends a request again when a kept connection turns out dead,
	 * whatever its method: what changes something gets a fresh one. */
	(void)curl_easy_setopt(
	    c, CURLOPT_FRESH_CONNECT, (long)!str_eq(call->method, "GET"));
	if (call->registry_auth != NULL) {
		BUF_AUTO line = BUF_INIT(AUTH_LINE_MAX);

		buf_addf(&line, "X-Registry-Auth: %s", call->registry_auth);
		fields = curl_slist_append(fields, line.data);
	}
	(void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, fields);
	return fields;
}

/* Why the transfer must end now, if it must. */
static int
must_end(const struct transfer *t, struct err *e)
{
	const struct engine_call *call = t->call;
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

	if (t->call->idle_ms > 0) {
		int idle = clock_left(t->heard_at + t->call->idle_ms);

		left = idle < left ? idle : left;
	}
	if (t->call->gone != NULL && left > GONE_CHECK_MS)
		return GONE_CHECK_MS;
	return left + 1; /* clock_left rounds down */
}

static int
run_transfer(
    struct engine *en, struct transfer *t, CURLcode *ret_code, struct err *e)
{
	int running = 1, left;

	for (;;) {
		if (curl_multi_perform(en->multi, &running) != CURLM_OK)
			return err_set(e, ERR_INTERNAL, "libcurl failed");
		if (running == 0)
			break;
		if (must_end(t, e) != 0)
			return -1;
		(void)curl_multi_poll(en->multi, NULL, 0, next_wait(t), NULL);
	}
	CURLMsg *message = curl_multi_info_read(en->multi, &left);
	*ret_code = message != NULL ? message->data.result : CURLE_RECV_ERROR;
	return 0;
}

static int
transfer_failed(const struct transfer *t, CURLcode code, struct err *e)
{
	long number = 0;

	switch (code) {
	case CURLE_WRITE_ERROR:
		if (t->stopped)
			return err_set(e, ERR_GONE_AWAY, "the caller left");
		return err_set(e, ERR_ENGINE,
		    "Docker's answer is larger than %zu bytes",
		    t->reply->body.max);
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
		    curl_easy_strerror(code));
	}
}

static int
transfer(struct engine *en, const char *url, const struct engine_call *call,
    struct engine_reply *ret_reply, struct err *e)
{
	int64_t now = clock_mono_ms();
	CURLcode code = CURLE_OK;

	buf_reset(&ret_reply->body);
	ret_reply->status = 0;
	if (make_handles(en, e) != 0)
		return -1;
	struct transfer t = {call, ret_reply, en->easy, now + call->timeout_ms,
	    now, false, false};
	(void)curl_easy_setopt(en->easy, CURLOPT_URL, url);
	(void)curl_easy_setopt(en->easy, CURLOPT_HEADERDATA, &t);
	(void)curl_easy_setopt(en->easy, CURLOPT_WRITEDATA, &t);
	struct curl_slist *fields = set_request(en->easy, call);
	if (curl_multi_add_handle(en->multi, en->easy) != CURLM_OK)
		abort(); /* a new handle, or one that was removed */
	int rc = run_transfer(en, &t, &code, e);
	/* Removing an unfinished transfer closes its connection. */
	(void)curl_multi_remove_handle(en->multi, en->easy);
	(void)curl_easy_getinfo(
	    en->easy, CURLINFO_RESPONSE_CODE, &ret_reply->status);
	curl_slist_free_all(fields);
	if (code == CURLE_OK && !t.head_done)
		code = CURLE_PARTIAL_FILE;
	if (rc == 0 && code != CURLE_OK)
		rc = transfer_failed(&t, code, e);
	if (rc == 0)
		en->heard_at = clock_mono_ms();
	/* What comes back may be another engine, of another version. */
	if (rc != 0 && e->kind == ERR_ENGINE_AWAY)
		en->version[0] = '\0';
	return rc;
}

/* -- the API's version ---------------------------------------------------- */

/* "1.41" -> 41; the major number has been 1 for as long as there was one. */
static int
minor_version(const json_t *answer, const char *key)
{
	const char *text = json_string_value(json_object_get(answer, key));
	int64_t minor = 0;

	if (text == NULL || !str_starts(text, "1.") ||
	    str_to_int(text + 2, 0, 9999, &minor) != 0)
		return -1;
	return (int)minor;
}

const char *
engine_version(struct engine *en, int timeout_ms, struct err *e)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = {
	    .method = "GET", .timeout_ms = timeout_ms};

	if (en->version[0] != '\0')
		return en->version;
	if (transfer(en, "http://docker/version", &call, &reply, e) != 0)
		return NULL;
	if (reply.status != 200) {
		(void)engine_refused(&reply, "cannot ask Docker's version", e);
		return NULL;
	}
	json_auto_t *answer =
	    json_loadb(reply.body.data, reply.body.size, 0, NULL);
	int newest = minor_version(answer, "ApiVersion");
	int oldest = minor_version(answer, "MinAPIVersion");
	if (newest < 0) {
		(void)err_set(e, ERR_ENGINE,
		    "Docker's answer to /version names no API version");
		return NULL;
	}
	newest = newest < API_MINOR ? newest : API_MINOR;
	(void)snprintf(en->version, sizeof(en->version), "1.%d",
	    newest > oldest ? newest : oldest);
	return en->version;
}

/* The engine was replaced behind our back: nothing was done yet. */
static bool
other_version_wanted(const struct engine_reply *reply)
{
	return reply->status == 400 &&
	       strstr(reply->body.data, "client version") != NULL;
}

/* -- calls ---------------------------------------------------------------- */

void
engine_reply_release(struct engine_reply *reply)
{
	buf_release(&reply->body);
}

/* Calls may take long, so their deadlines are far; an engine that hangs is not
 * to be waited for until then. A new one is asked its version first anyway. */
static int
check_alive(struct engine *en, int timeout_ms, struct err *e)
{
	int most_ms = timeout_ms < PING_MS ? timeout_ms : PING_MS;

	if (clock_mono_ms() - en->heard_at < TRUST_MS)
		return 0;
	if (en->version[0] == '\0' ? engine_version(en, most_ms, e) != NULL
				   : engine_ping(en, most_ms, e) == 0)
		return 0;
	if (e->kind == ERR_ENGINE_TIMEOUT && most_ms == PING_MS)
		e->kind = ERR_ENGINE_AWAY;
	return -1;
}

int
engine_do(struct engine *en, const struct engine_call *call,
    struct engine_reply *ret_reply, struct err *e)
{
	int64_t deadline = clock_mono_ms() + call->timeout_ms;
	struct engine_call timed = *call;
	BUF_AUTO url = BUF_INIT(URL_MAX);

	if (check_alive(en, call->timeout_ms, e) != 0)
		return -1;
	for (int tries = 0; tries < 2; tries++) {
		const char *version =
		    engine_version(en, clock_left(deadline), e);

		if (version == NULL)
			return -1;
		buf_reset(&url);
		buf_addf(&url, "http://docker/v%s%s", version, call->path);
		if (url.over)
			return err_set(e, ERR_ENGINE,
			    "a path for Docker is longer than %u bytes",
			    URL_MAX);
		timed.timeout_ms = clock_left(deadline);
		if (transfer(en, url.data, &timed, ret_reply, e) != 0)
			return -1;
		if (!other_version_wanted(ret_reply))
			break;
		en->version[0] = '\0';
	}
	return 0;
}

int
engine_ping(struct engine *en, int timeout_ms, struct err *e)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = {
	    .method = "GET", .timeout_ms = timeout_ms};

	if (transfer(en, "http://docker/_ping", &call, &reply, e) != 0)
		return -1;
	if (reply.status != 200)
		return engine_refused(&reply, "Docker is not well", e);
	return 0;
}

int
engine_refused(
    const struct engine_reply *reply, const char *doing, struct err *e)
{
	json_auto_t *answer =
	    json_loadb(reply->body.data, reply->body.size, 0, NULL);
	const char *message =
	    json_string_value(json_object_get(answer, "message"));
	enum err_kind kind = reply->status == 404   ? ERR_ABSENT
			     : reply->status == 409 ? ERR_CONFLICT
						    : ERR_ENGINE;

	if (message == NULL || message[0] == '\0')
		return err_set(
		    e, kind, "%s: Docker answered %ld", doing, reply->status);
	return err_set(e, kind, "%s: %s", doing, message);
}
