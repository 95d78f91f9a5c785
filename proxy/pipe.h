/*
 * Pipes that splice(2) moves bytes through: pooled, and few, since one is only
 * held while bytes are in it.
 */
#ifndef SBX_PROXY_PIPE_H
#define SBX_PROXY_PIPE_H

#include <stdbool.h>
#include <stddef.h>

/* A user has 64 MiB of all pipes together (pipe(7)), and a larger one takes a
 * third less time than a small one. */
#define PIPE_SIZE (256 * 1024)
#define PIPE_LARGE (1024 * 1024)
#define PIPES_MOST 32 /* at a time */
#define PIPES_LARGE 8 /* of them */
#define PIPES_SPARE 4 /* kept empty */

struct pipe {
	int from, to; /* what to read from, what to write to */
	bool large;
	struct pipe *next;
};

struct pipes {
	struct pipe *spare;
	int count, large, spares; /* all, and of them */
};

/* An empty one; NULL where there is none, or the user has no pages left for
 * one of PIPE_SIZE (pipe(7)). */
struct pipe *pipe_take(struct pipes *all);

/* Given back; one that is not empty is closed. */
void pipe_give(struct pipes *all, struct pipe *p, size_t holds);

void pipes_release(struct pipes *all);

#endif
