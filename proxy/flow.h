/*
 * Moving bytes from one connection to another: the one place for both ways of
 * a tunnel and both bodies of a request.
 */
#ifndef SBX_PROXY_FLOW_H
#define SBX_PROXY_FLOW_H

#include "chunk.h"
#include "head.h"
#include "loop.h"
#include "pipe.h"

#define SIDE_EVENTS (EPOLLIN | EPOLLRDHUP | EPOLLET)

struct proxy;

/*
 * One end of a connection, watched edge by edge: what is known of its socket
 * holds until a call says otherwise.
 */
struct side {
	struct watch watch; /* fd -1: there is none */
	struct buf in;	    /* read, and nobody's yet */
	bool readable, writable;
	bool hangs; /* its end, or a reset, is behind what can be read */
	bool ended; /* it will send nothing more */
	bool deaf;  /* it takes nothing more */
	bool reset; /* it is gone, and not in order */
};

/* A socket that becomes a side's, or one that listens for such: nothing waits
 * to be sent together, and who is gone without a word is noticed. */
void side_set_up(int fd);
void side_init(struct side *s);
void side_note(struct side *s, uint32_t events);
void side_close(struct loop *l, struct side *s);
/* As after a reset: what is under way is lost, and the other end is told. */
void side_abort(struct loop *l, struct side *s);

/* Bytes read; 0: none now, or none ever (s->ended). */
size_t side_read(struct side *s, char *to, size_t size);
/* Bytes written; fewer than size: it takes none now, or none ever (s->deaf). */
size_t side_write(
    struct loop *l, struct side *s, const char *bytes, size_t size);
/* Read into s->in, up to most bytes there; false where nothing came. */
bool side_fill(struct proxy *p, struct side *s, size_t most);

enum flow_state {
	FLOW_GOES, /* and waits */
	FLOW_DONE, /* the body is whole, and written */
	FLOW_CUT,  /* its source ended before it did; what came is written */
	FLOW_BAD,  /* its chunks are malformed; what came before is written */
	FLOW_LOST, /* its destination takes nothing more */
};

struct flow {
	struct side *from, *to;
	struct buf held; /* to be written before anything else */
	struct pipe *pipe;
	size_t piped; /* bytes in it */
	enum head_body body;
	bool plain;    /* chunks go, their data is sent */
	bool taken;    /* all of it, from its source */
	bool bad;      /* what is next of it is malformed */
	bool bulk;     /* it comes faster than it is read */
	uint64_t left; /* of BODY_LENGTH */
	struct chunk chunk;
	uint64_t moved; /* bytes of content taken from the source */
};

void flow_init(struct flow *f, struct side *from, struct side *to);
/* The body that is moved from here on; held stays. */
void flow_begin(struct flow *f, enum head_body body, uint64_t length);
enum flow_state flow_run(struct proxy *p, struct flow *f);
/* Write what is held; false where some is left. */
bool flow_flush(struct proxy *p, struct flow *f);
/* Let go of memory while nothing is to be done. */
void flow_rest(struct flow *f);
void flow_release(struct proxy *p, struct flow *f);

#endif
