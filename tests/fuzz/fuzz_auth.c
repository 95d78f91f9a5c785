/*
 * docker/auth: of any configuration a registry's credentials are none, are
 * refused with a reason, or are a header that says for whom they are. The first
 * line is the registry's host.
 */
#include "docker/auth.h"
#include "lib/base64.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX (128u * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From the alphabet of URLs. */
static void
check_header(struct buf *header, const char *host)
{
	BUF_AUTO text = BUF_INIT(HEADER_MAX);

	for (size_t i = 0; i < header->size; i++) {
		char *c = &header->data[i];

		if (*c == '+' || *c == '/')
			abort();
		*c = (char)(*c == '-' ? '+' : *c == '_' ? '/' : *c);
	}
	if (base64_decode(header->data, &text) != 0)
		abort();
	json_auto_t *o = json_loadb(text.data, text.size, 0, NULL);
	const char *server =
	    json_string_value(json_object_get(o, "serveraddress"));
	if (server == NULL ||
	    json_string_value(json_object_get(o, "username")) == NULL ||
	    json_string_value(json_object_get(o, "password")) == NULL ||
	    !str_eq(server, str_eq(host, "docker.io")
				? "https://index.docker.io/v1/"
				: host))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
	BUF_AUTO header = BUF_INIT(HEADER_MAX);
	struct err e = ERR_INIT;

	if (end == NULL || end - data > 255)
		return 0;
	char *host = mem_strndup((const char *)data, (size_t)(end - data));
	const char *config = (const char *)end + 1;
	size -= (size_t)(end + 1 - data);
	/* A registry's host is of ASCII (docker/reference.h). */
	for (const char *c = host; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~')
			size = 0;
	if (auth_header(config, size, host, &header, &e) != 0) {
		if (e.kind != ERR_INTERNAL || *e.text == '\0')
			abort();
	} else if (header.size > 0) {
		check_header(&header, host);
	}
	free(host);
	return 0;
}
