/*
 * lib/path: what decodes and splits has plain segments only, and joining them
 * gives the decoded path back.
 */
#include "lib/buf.h"
#include "lib/mem.h"
#include "lib/path.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENTS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_segments(char **seg, int count, const char *path, size_t size)
{
	BUF_AUTO joined = BUF_INIT(size + 1);

	if (count > SEGMENTS)
		abort();
	for (int i = 0; i < count; i++) {
		if (*seg[i] == '\0' || strchr(seg[i], '/') != NULL ||
		    strcmp(seg[i], ".") == 0 || strcmp(seg[i], "..") == 0)
			abort();
		buf_addc(&joined, '/');
		buf_adds(&joined, seg[i]);
	}
	if (strcmp(count == 0 ? "/" : joined.data, path) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	char *seg[SEGMENTS];
	/* Exactly the room that the contract asks for. */
	char *path = mem_alloc(size + 1);

	if (path_decode((const char *)data, size, path, &e) == 0) {
		if (strlen(path) > size)
			abort();
		char *before = mem_strdup(path);
		int count = path_split(path, seg, SEGMENTS, &e);

		if (count >= 0)
			check_segments(seg, count, before, size);
		free(before);
	}
	if (e.kind != ERR_NONE && (e.kind != ERR_PATH || *e.text == '\0'))
		abort();
	free(path);
	return 0;
}
