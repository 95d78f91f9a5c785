/*
 * The stream of JSON lines by which the engine tells how a pull goes.
 *
 * Pure: the same sums and the same error however the input is cut. A line has
 * at most PULL_LINE_MAX bytes; layers beyond PULL_LAYERS_MAX are not counted.
 */
#ifndef SBX_DOCKER_PULL_H
#define SBX_DOCKER_PULL_H

#include "lib/buf.h"
#include "lib/err.h"

#include <stdint.h>

#define PULL_LINE_MAX (64u * 1024)
#define PULL_LAYERS_MAX 1000u

struct pull_layer;

struct pull {
	struct buf line;
	struct pull_layer *layers;
	size_t layer_count;
	int64_t current, total; /* bytes, over all layers */
	char error[400];	/* what the engine says went wrong, or "" */
};

#define PULL_INIT                                       \
	{                                               \
		BUF_INIT(PULL_LINE_MAX), NULL, 0, 0, 0, \
		{                                       \
			0                               \
		}                                       \
	}

void pull_release(struct pull *p);

/* Take the next bytes; a last line without an end counts once a '\n' is fed.
 * -1 with ERR_ENGINE on what is not JSON, or too long a line. */
int pull_feed(struct pull *p, const char *bytes, size_t size, struct err *e);

/* Whose fault the engine's words describe: ERR_IMAGE_ABSENT, ERR_REGISTRY or
 * ERR_ENGINE (the host itself: a full disk). */
enum err_kind pull_blame(const char *message);

#endif
