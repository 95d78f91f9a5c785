/*
 * One FastCGI connection as bytes: a request's head and body in, large pieces
 * of a reply out. Nothing here blocks longer than it is told to; whoever waits
 * for a peer also waits for `watch`.
 */
#ifndef SBX_HTTP_LINK_H
#define SBX_HTTP_LINK_H

#include "http/record.h"
#include "lib/buf.h"
#include "lib/err.h"

struct link {
	int fd;
	int watch;    /* readable: the peer left, or is to be taken for gone */
	int stall_ms; /* a peer that takes nothing for so long is gone */
	struct buf head; /* as it was read */
	struct record_body body;
};

/* Without a connection yet. */
void link_init(struct link *l, int watch, int stall_ms);
void link_release(struct link *l); /* closes no descriptor */

/* A new connection. */
void link_begin(struct link *l, int fd);

/*
 * Read the head of a request and not a byte more: what comes behind it, if only
 * the empty record that ends a body, is left to the kernel. Where this process
 * dies or cuts a reply the peer then sees the connection reset, and not an end
 * that could be one of the reply.
 */
int link_head(struct link *l, int timeout_ms, struct err *e);

/* Bytes of the body as they come: how many, 0 at its end; -1 where the peer
 * left, aborted, or makes no sense; LINK_LATE where nothing came in time.
 * careful: nothing is touched that may stand behind the body's bytes. */
#define LINK_LATE (-2)
int64_t link_body(
    struct link *l, char *to, size_t size, int64_t deadline, bool careful);

/* Wait until body bytes or its end can be had (1), or other_fd (-1: none) is
 * readable or timeout_ms passed (0); -1 where the peer left. */
int link_await(struct link *l, int other_fd, int timeout_ms);

/* Wait until a small record (less than 16 KiB) goes out without blocking; send
 * bytes as records of output. -1 where the peer left or takes nothing. */
int link_writable(const struct link *l);
int link_send(const struct link *l, const char *bytes, size_t size);

/* The same with what is in a file from there on, which is not copied here: the
 * kernel sends its pages. LINK_SHORT where it ended before, in the middle of a
 * record. */
#define LINK_SHORT (-3)
int link_send_file(
    const struct link *l, int fd, uint64_t offset, uint64_t size);

/* Take what still comes until the body ends, the peer closes, or most bytes of
 * it (and a few more) were there. */
void link_drain(struct link *l, size_t most, int timeout_ms);

#endif
