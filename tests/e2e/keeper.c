/* One libcurl handle, used again and again. */
#include "keeper.h"
#include "curl.h"
#include "lib/buf.h"
#include "lib/mem.h"
#include "stack.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MS 60000L

struct keeper {
	CURL *curl;
	struct curl_slist *headers;
	struct buf body;
	json_t *json;
};

struct keeper *
keeper_new(void)
{
	struct keeper *k = mem_zalloc(sizeof(*k));
	const struct buf fresh = BUF_INIT(1 << 20);
	char token[300];

	k->curl = curl_easy_init();
	k->body = fresh;
	(void)snprintf(
	    token, sizeof(token), "Authorization: Bearer %s", stack.token);
	k->headers = curl_slist_append(NULL, token);
	curl_easy_setopt(k->curl, CURLOPT_HTTPHEADER, k->headers);
	curl_easy_setopt(k->curl, CURLOPT_PROXY, "");
	curl_easy_setopt(k->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(k->curl, CURLOPT_TIMEOUT_MS, CALL_MS);
	curl_easy_setopt(k->curl, CURLOPT_WRITEFUNCTION, curl_into_buf);
	curl_easy_setopt(k->curl, CURLOPT_WRITEDATA, &k->body);
	return k;
}

void
keeper_free(struct keeper *k)
{
	curl_easy_cleanup(k->curl);
	curl_slist_free_all(k->headers);
	buf_release(&k->body);
	json_decref(k->json);
	free(k);
}

long
keeper_ask(
    struct keeper *k, const char *method, const char *path, const char *body)
{
	char url[400];
	long status = 0;

	(void)snprintf(url, sizeof(url), "%s%s", stack.url, path);
	curl_easy_setopt(k->curl, CURLOPT_URL, url);
	curl_easy_setopt(k->curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(k->curl, CURLOPT_POSTFIELDS, body);
	if (body == NULL)
		curl_easy_setopt(k->curl, CURLOPT_HTTPGET, 1L);
	buf_reset(&k->body);
	json_decref(k->json);
	k->json = NULL;
	if (curl_easy_perform(k->curl) != CURLE_OK)
		return 0;
	curl_easy_getinfo(k->curl, CURLINFO_RESPONSE_CODE, &status);
	k->json = json_loadb(k->body.data, k->body.size, 0, NULL);
	return status;
}

static const json_t *
value_at(const struct keeper *k, const char *path)
{
	const json_t *at = k->json;
	char name[64];

	for (;;) {
		size_t size = strcspn(path, ".");

		(void)snprintf(name, sizeof(name), "%.*s", (int)size, path);
		at = json_object_get(at, name);
		if (path[size] == '\0')
			return at;
		path += size + 1;
	}
}

int64_t
keeper_number(const struct keeper *k, const char *path)
{
	return json_integer_value(value_at(k, path));
}

const char *
keeper_text(const struct keeper *k, const char *path)
{
	const char *text = json_string_value(value_at(k, path));

	return text != NULL ? text : "";
}
