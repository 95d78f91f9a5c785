/* Whole replies, and raw bytes. */
#include "client.h"
#include "curl.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "stack.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_MAX ((size_t)512 << 20)
#define CALL_MS 120000

size_t
curl_into_buf(char *bytes, size_t one, size_t size, void *arg)
{
	(void)one;
	buf_add(arg, bytes, size);
	return size;
}

static CURL *
curl_new(const char *method, const char *path, const char *body)
{
	CURL *c = curl_easy_init();
	char url[16384];

	(void)snprintf(url, sizeof(url), "%s%s", stack.url, path);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
	if (str_eq(method, "HEAD"))
		curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	if (body != NULL) {
		curl_easy_setopt(
		    c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
		curl_easy_setopt(c, CURLOPT_COPYPOSTFIELDS, body);
	}
	return c;
}

CURL *
curl_request(const char *method, const char *path, const char *body,
    va_list headers, struct curl_slist **ret_list)
{
	CURL *c = curl_new(method, path, body);
	struct curl_slist *list = NULL;
	bool authorized = false;
	char token[1024];
	const char *line;

	while ((line = va_arg(headers, const char *)) != NULL) {
		authorized |= strncasecmp(line, "authorization:", 14) == 0;
		list = curl_slist_append(list, line);
	}
	if (!authorized) {
		(void)snprintf(token, sizeof(token), "Authorization: Bearer %s",
		    stack.token);
		list = curl_slist_append(list, token);
	}
	/* Bodies over 1 KiB must not wait for a 100 Continue. */
	list = curl_slist_append(list, "Expect:");
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
	*ret_list = list;
	return c;
}

void
reply_release(struct reply *r)
{
	buf_release(&r->headers);
	buf_release(&r->body);
	json_decref(r->json);
	r->json = NULL;
}

struct reply
http_do(const char *method, const char *path, const char *body, ...)
{
	struct reply r = {0, BUF_INIT(1 << 20), BUF_INIT(REPLY_MAX), NULL, 0};
	struct curl_slist *list;
	int64_t start = clock_mono_ms();
	va_list headers;

	va_start(headers, body);
	CURL *c = curl_request(method, path, body, headers, &list);
	va_end(headers);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)CALL_MS);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, curl_into_buf);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &r.body);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, curl_into_buf);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, &r.headers);
	if (curl_easy_perform(c) == CURLE_OK)
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &r.status);
	curl_slist_free_all(list);
	curl_easy_cleanup(c);
	r.took_ms = clock_mono_ms() - start;
	r.json = json_loadb(r.body.data, r.body.size, JSON_ALLOW_NUL, NULL);
	return r;
}

struct reply
http_json(const char *method, const char *path, json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT);
	struct reply r = http_do(method, path, text, NULL);

	free(text);
	json_decref(body);
	return r;
}

const char *
http_header(const struct buf *headers, const char *name)
{
	static char value[4096];
	size_t size = strlen(name);

	for (const char *p = headers->data; p != NULL && *p != '\0';) {
		if (strncasecmp(p, name, size) == 0 && p[size] == ':') {
			p += size + 1;
			p += strspn(p, " ");
			(void)snprintf(value, sizeof(value), "%.*s",
			    (int)strcspn(p, "\r\n"), p);
			return value;
		}
		p = strchr(p, '\n');
		p = p != NULL ? p + 1 : NULL;
	}
	return NULL;
}

int
client_connect(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)stack.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	FD_AUTO fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0
		   ? fd_take(&fd)
		   : -1;
}

struct buf
http_raw(const char *bytes, size_t size)
{
	struct buf got = BUF_INIT(1 << 20);
	int64_t deadline = clock_mono_ms() + 5000;
	FD_AUTO fd = client_connect();
	struct err e = ERR_INIT;

	if (fd < 0 || fd_write_all(fd, bytes, size, deadline, &e) != 0)
		return got;
	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};
		char *to = buf_grow(&got, 65536);

		if (to == NULL || poll(&p, 1, clock_left(deadline)) <= 0)
			break;
		ssize_t n = read(fd, to, 65536);
		if (n <= 0)
			break;
		got.size += (size_t)n;
		got.data[got.size] = '\0';
	}
	got.data[got.size] = '\0';
	return got;
}
