/* Files of a run, from a client's side. */
#include "files.h"
#include "../check.h"
#include "curl.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "sandbox.h"
#include "stack.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define URL_MAX 16384
#define URLS 4
#define REPLY_MAX ((size_t)64 << 20)
#define MOST_MS 120000

const char *
file_url(const char *id, const char *what)
{
	static char url[URLS][URL_MAX];
	static unsigned next;
	char *to = url[next++ % URLS];

	(void)snprintf(to, URL_MAX, "/v1/runs/%s/files%s%s", id,
	    *what == '\0' || *what == '?' ? "" : "/", what);
	return to;
}

struct reply
file_do(const char *method, const char *id, const char *what)
{
	return http_do(method, file_url(id, what), NULL, NULL);
}

/* -- whole requests ------------------------------------------------------ */

static CURL *
request(const char *method, const char *path, struct curl_slist **ret_list, ...)
{
	va_list headers;

	va_start(headers, ret_list);
	CURL *c = curl_request(method, path, NULL, headers, ret_list);
	va_end(headers);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)MOST_MS);
	return c;
}

/* Do it, and free everything. */
static struct reply
perform(CURL *c, struct curl_slist *list)
{
	struct reply r = {0, BUF_INIT(1 << 20), BUF_INIT(REPLY_MAX), NULL, 0};
	int64_t start = clock_mono_ms();

	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, curl_into_buf);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &r.body);
	if (curl_easy_perform(c) == CURLE_OK)
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &r.status);
	curl_slist_free_all(list);
	curl_easy_cleanup(c);
	r.took_ms = clock_mono_ms() - start;
	r.json = json_loadb(r.body.data, r.body.size, 0, NULL);
	return r;
}

struct reply
file_send(const char *id, const char *what, const void *bytes, size_t size)
{
	struct curl_slist *list;
	CURL *c = request("PUT", file_url(id, what), &list, NULL);

	curl_easy_setopt(c, CURLOPT_POSTFIELDS, bytes);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	return perform(c, list);
}

void
file_put(const char *id, const char *what, const char *text)
{
	REPLY_AUTO r = file_send(id, what, text, strlen(text));

	if (r.status != 204)
		fail_msg("PUT %s: %ld %s", what, r.status, r.body.data);
}

void
file_is(const char *id, const char *what, const char *text)
{
	REPLY_AUTO r = file_do("GET", id, what);

	if (r.status != 200)
		fail_msg("GET %s: %ld %s", what, r.status, r.body.data);
	assert_int_equal(r.body.size, strlen(text));
	assert_memory_equal(r.body.data, text, r.body.size);
}

void
file_fails(const char *method, const char *id, const char *what, long status,
    const char *code, const char *detail)
{
	REPLY_AUTO r = file_do(method, id, what);

	check_problem(&r, status, code, detail);
}

const json_t *
file_entry(const struct reply *list, const char *name)
{
	const json_t *entries = json_object_get(list->json, "entries");

	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);
		const char *is =
		    json_string_value(json_object_get(entry, "name"));

		if (is != NULL && str_eq(is, name))
			return entry;
	}
	return NULL;
}

char *
file_sh(const char *id, const char *cmd)
{
	EXECUTED_AUTO x = exec_sh(id, cmd);

	if (exit_code(&x) != 0)
		fail_msg("%s: exit %d, %s", cmd, exit_code(&x), x.err.data);
	return buf_take(&x.out);
}

/* -- bit by bit ---------------------------------------------------------- */

static int
dial(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)stack.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static bool
say(int fd, const char *bytes, size_t size)
{
	struct err e = ERR_INIT;

	return fd_write_all(fd, bytes, size, clock_mono_ms() + MOST_MS, &e) ==
	       0;
}

static void
add_head(struct buf *to, const char *method, const char *path)
{
	buf_addf(to,
	    "%s %s HTTP/1.1\r\nHost: box\r\nConnection: close\r\n"
	    "Authorization: Bearer %s\r\n",
	    method, path, stack.token);
}

struct upload
upload_begin(const char *id, const char *what, int64_t size)
{
	struct upload u = {dial(), size < 0};
	BUF_AUTO head = BUF_INIT(URL_MAX * 2);

	add_head(&head, "PUT", file_url(id, what));
	if (u.chunked)
		buf_adds(&head, "Transfer-Encoding: chunked\r\n\r\n");
	else
		buf_addf(
		    &head, "Content-Length: %lld\r\n\r\n", (long long)size);
	assert_true(say(u.fd, head.data, head.size));
	return u;
}

bool
upload_more(struct upload *u, size_t size)
{
	char *bytes = malloc(size), frame[32];

	memset(bytes, 'x', size);
	(void)snprintf(frame, sizeof(frame), "%zx\r\n", size);
	bool sent = (!u->chunked || say(u->fd, frame, strlen(frame))) &&
		    say(u->fd, bytes, size) &&
		    (!u->chunked || say(u->fd, "\r\n", 2));
	free(bytes);
	return sent;
}

struct reply
upload_end(struct upload *u)
{
	struct reply r = {0, BUF_INIT(1 << 20), BUF_INIT(1 << 20), NULL, 0};
	struct timeval most = {.tv_sec = MOST_MS / 1000};
	char bytes[4096];
	ssize_t n;

	if (u->chunked)
		(void)say(u->fd, "0\r\n\r\n", 5);
	(void)setsockopt(u->fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	while ((n = recv(u->fd, bytes, sizeof(bytes), 0)) > 0)
		buf_add(&r.headers, bytes, (size_t)n);
	(void)close(u->fd);
	if (sscanf(r.headers.data, "HTTP/1.1 %ld", &r.status) != 1)
		return r;
	const char *body = strstr(r.headers.data, "\r\n\r\n");
	if (body != NULL)
		buf_adds(&r.body, body + 4);
	r.json = json_loads(r.body.data, 0, NULL);
	return r;
}

void
upload_cut(struct upload *u)
{
	(void)close(u->fd);
}

int
download_begin(const char *id, const char *what)
{
	BUF_AUTO head = BUF_INIT(URL_MAX * 2);
	int fd = dial();
	char first;

	add_head(&head, "GET", file_url(id, what));
	buf_adds(&head, "\r\n");
	assert_true(say(fd, head.data, head.size));
	assert_int_equal(recv(fd, &first, 1, MSG_PEEK), 1);
	return fd;
}

bool
download_finish(int fd)
{
	BUF_AUTO head = BUF_INIT(65536);
	char bytes[65536], end[6] = "";
	uint64_t got = 0;
	ssize_t n;

	/* The head is in the first bytes, more or less of the body behind. */
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		if (head.size == 0)
			buf_add(&head, bytes, (size_t)n);
		got += (uint64_t)n;
		if (n >= 5)
			memcpy(end, bytes + n - 5, 5);
	}
	(void)close(fd);
	const char *body = strstr(head.data, "\r\n\r\n");
	const char *length = http_header(&head, "Content-Length");
	assert_non_null(body);
	if (length == NULL)
		return str_eq(end, "0\r\n\r\n");
	return got - (size_t)(body + 4 - head.data) ==
	       strtoull(length, NULL, 10);
}

/* -- in bulk ------------------------------------------------------------- */

struct bulk {
	uint64_t at, size;
	bool wrong;
};

/* The byte at that place of a bulk file. */
static char
byte_at(uint64_t at)
{
	return (char)((at / 8 * 0x9e3779b97f4a7c15u) >> (at % 8 * 8));
}

static size_t
bulk_read(char *to, size_t one, size_t size, void *arg)
{
	struct bulk *b = arg;
	size_t n = b->size - b->at < size ? b->size - b->at : size;

	(void)one;
	for (size_t i = 0; i < n; i++)
		to[i] = byte_at(b->at + i);
	b->at += n;
	return n;
}

static size_t
bulk_write(char *bytes, size_t one, size_t size, void *arg)
{
	struct bulk *b = arg;

	(void)one;
	for (size_t i = 0; i < size; i++)
		b->wrong |= bytes[i] != byte_at(b->at + i);
	b->at += size;
	return size;
}

struct reply
bulk_put(const char *id, const char *what, uint64_t size)
{
	struct curl_slist *list;
	struct bulk b = {.size = size};
	CURL *c = request("PUT", file_url(id, what), &list, NULL);

	curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)size);
	curl_easy_setopt(c, CURLOPT_READFUNCTION, bulk_read);
	curl_easy_setopt(c, CURLOPT_READDATA, &b);
	return perform(c, list);
}

bool
bulk_is(const char *id, const char *what, uint64_t size)
{
	struct curl_slist *list;
	struct bulk b = {.size = size};
	CURL *c = request("GET", file_url(id, what), &list, NULL);
	long status = 0;

	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, bulk_write);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &b);
	if (curl_easy_perform(c) == CURLE_OK)
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(list);
	curl_easy_cleanup(c);
	return status == 200 && b.at == size && !b.wrong;
}
