/* Calls of libcurl's multi interface. */
#include "cli/http.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS 10000L
#define SLICE_MS 1000 /* libcurl has timers of its own */
#define ALSO_MAX 8

struct http {
	CURLM *multi;
	char *base, *authorization;
};

struct http_call {
	struct http *h;
	struct http_request rq;
	CURL *easy;
	struct curl_slist *headers;
	struct buf body;
	char exec_id[ULID_SIZE];
	bool done;
	CURLcode result;
	char text[CURL_ERROR_SIZE];
};

struct http *
http_new(const char *url, const char *token)
{
	struct buf line = BUF_INIT(8192), base = BUF_INIT(8192);
	struct http *h = mem_zalloc(sizeof(*h));

	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	h->multi = curl_multi_init();
	buf_adds(&base, url);
	h->base = buf_take(&base);
	buf_addf(&line, "Authorization: Bearer %s", token);
	h->authorization = buf_take(&line);
	return h;
}

void
http_free(struct http *h)
{
	if (h == NULL)
		return;
	(void)curl_multi_cleanup(h->multi);
	free(h->base);
	free(h->authorization);
	free(h);
}

static size_t
on_body(char *bytes, size_t one, size_t size, void *arg)
{
	struct http_call *call = arg;

	(void)one;
	if (call->rq.take != NULL && http_status(call) / 100 == 2)
		return call->rq.take(call->rq.arg, bytes, size) == 0 ? size : 0;
	buf_add(&call->body, bytes, size);
	return call->body.over ? 0 : size;
}

static size_t
on_header(char *line, size_t one, size_t size, void *arg)
{
	static const char name[] = "x-exec-id:";
	const size_t skip = sizeof(name) - 1;
	struct http_call *call = arg;
	char id[ULID_SIZE] = "";

	(void)one;
	if (size < skip || strncasecmp(line, name, skip) != 0)
		return size;
	for (size_t i = skip, n = 0; i < size && n < ULID_SIZE - 1; i++)
		if (line[i] > ' ')
			id[n++] = line[i];
	(void)ulid_parse(id, call->exec_id);
	return size;
}

static size_t
on_give(char *to, size_t one, size_t room, void *arg)
{
	struct http_call *call = arg;
	ssize_t n = call->rq.give(call->rq.arg, to, one * room);

	return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

static void
set_body(struct http_call *call)
{
	const struct http_request *rq = &call->rq;

	if (rq->give != NULL) {
		(void)curl_easy_setopt(call->easy, CURLOPT_UPLOAD, 1L);
		(void)curl_easy_setopt(
		    call->easy, CURLOPT_READFUNCTION, on_give);
		(void)curl_easy_setopt(call->easy, CURLOPT_READDATA, call);
		(void)curl_easy_setopt(call->easy, CURLOPT_INFILESIZE_LARGE,
		    (curl_off_t)rq->length);
		(void)curl_easy_setopt(
		    call->easy, CURLOPT_UPLOAD_BUFFERSIZE, 512L * 1024);
		return;
	}
	if (rq->body == NULL && !str_eq(rq->method, "POST"))
		return;
	(void)curl_easy_setopt(
	    call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)rq->size);
	(void)curl_easy_setopt(
	    call->easy, CURLOPT_POSTFIELDS, rq->body != NULL ? rq->body : "");
}

static void
add_header(struct http_call *call, const char *line)
{
	call->headers = curl_slist_append(call->headers, line);
}

struct http_call *
http_start(struct http *h, const struct http_request *rq)
{
	struct http_call *call = mem_zalloc(sizeof(*call));
	BUF_AUTO url = BUF_INIT(64 * 1024);
	BUF_AUTO accept = BUF_INIT(256);

	call->h = h;
	call->rq = *rq;
	call->body = (struct buf)BUF_INIT(HTTP_ANSWER_MAX);
	call->easy = curl_easy_init();
	buf_addf(&url, "%s%s", h->base, rq->path);
	add_header(call, h->authorization);
	add_header(call, "Content-Type: application/octet-stream");
	add_header(call, "Expect:");
	if (rq->accept != NULL) {
		buf_addf(&accept, "Accept: %s", rq->accept);
		add_header(call, accept.data);
	}
	(void)curl_easy_setopt(call->easy, CURLOPT_URL, url.data);
	(void)curl_easy_setopt(call->easy, CURLOPT_PATH_AS_IS, 1L);
	(void)curl_easy_setopt(call->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(call->easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(call->easy, CURLOPT_NOPROXY, "*");
	(void)curl_easy_setopt(
	    call->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	(void)curl_easy_setopt(call->easy, CURLOPT_BUFFERSIZE, 256L * 1024);
	(void)curl_easy_setopt(call->easy, CURLOPT_ERRORBUFFER, call->text);
	(void)curl_easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(call->easy, CURLOPT_HEADERDATA, call);
	(void)curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
	(void)curl_easy_setopt(call->easy, CURLOPT_PRIVATE, call);
	set_body(call);
	(void)curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, rq->method);
	(void)curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
	(void)curl_multi_add_handle(h->multi, call->easy);
	return call;
}

void
http_free_call(struct http_call *call)
{
	if (call == NULL)
		return;
	(void)curl_multi_remove_handle(call->h->multi, call->easy);
	curl_easy_cleanup(call->easy);
	curl_slist_free_all(call->headers);
	buf_release(&call->body);
	free(call);
}

static void
collect(struct http *h)
{
	const CURLMsg *message;
	struct http_call *call;
	int left;

	while ((message = curl_multi_info_read(h->multi, &left)) != NULL) {
		if (message->msg != CURLMSG_DONE ||
		    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
			(char **)&call) != CURLE_OK)
			continue;
		call->done = true;
		call->result = message->data.result;
	}
}

void
http_wait(struct http *h, struct pollfd *also, unsigned count, int timeout_ms)
{
	struct curl_waitfd extra[ALSO_MAX];
	int running;

	for (unsigned i = 0; i < count && i < ALSO_MAX; i++)
		extra[i] =
		    (struct curl_waitfd){also[i].fd, CURL_WAIT_POLLIN, 0};
	(void)curl_multi_perform(h->multi, &running);
	collect(h);
	(void)curl_multi_poll(h->multi, extra, count,
	    timeout_ms < SLICE_MS ? timeout_ms : SLICE_MS, NULL);
	for (unsigned i = 0; i < count && i < ALSO_MAX; i++)
		also[i].revents = extra[i].revents;
	(void)curl_multi_perform(h->multi, &running);
	collect(h);
}

bool
http_done(const struct http_call *call)
{
	return call->done;
}

int
http_result(const struct http_call *call, struct err *e)
{
	if (call->result == CURLE_OK)
		return 0;
	return err_set(e, ERR_ENGINE_AWAY, "%s: %s%s", call->h->base,
	    *call->text != '\0' ? call->text : curl_easy_strerror(call->result),
	    call->result == CURLE_COULDNT_CONNECT
		? "; does `teploy-sandbox serve`, or sbx.target, run there?"
		: "");
}

long
http_status(const struct http_call *call)
{
	long status = 0;

	(void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

const struct buf *
http_body(const struct http_call *call)
{
	return &call->body;
}

const char *
http_exec_id(const struct http_call *call)
{
	return call->exec_id;
}

int64_t
http_length(const struct http_call *call)
{
	curl_off_t length = -1;

	(void)curl_easy_getinfo(
	    call->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	return length;
}

void
http_escape(struct buf *to, const char *text, bool path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~";

	for (; *text != '\0'; text++)
		if (strchr(plain, *text) != NULL || (path && *text == '/'))
			buf_addc(to, *text);
		else
			buf_addf(to, "%%%02X", (unsigned char)*text);
}
