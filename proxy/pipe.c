/* Pipes that splice(2) moves bytes through. */
#include "pipe.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void
close_pipe(struct pipes *all, struct pipe *p)
{
	fd_close(&p->from);
	fd_close(&p->to);
	all->count--;
	all->large -= p->large;
	free(p);
}

/* False: it would be smaller than what is faster than copying. */
static bool
enlarge(struct pipes *all, struct pipe *p)
{
	p->large = all->large < PIPES_LARGE &&
		   fcntl(p->to, F_SETPIPE_SZ, PIPE_LARGE) >= PIPE_LARGE;
	all->large += p->large;
	return p->large || fcntl(p->to, F_SETPIPE_SZ, PIPE_SIZE) >= PIPE_SIZE;
}

static struct pipe *
open_pipe(struct pipes *all)
{
	struct pipe *p;
	int ends[2];

	if (all->count >= PIPES_MOST || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return NULL;
	p = mem_zalloc(sizeof(*p));
	p->from = ends[0];
	p->to = ends[1];
	all->count++;
	if (enlarge(all, p))
		return p;
	close_pipe(all, p);
	return NULL;
}

struct pipe *
pipe_take(struct pipes *all)
{
	struct pipe *p = all->spare;

	if (p == NULL)
		return open_pipe(all);
	all->spare = p->next;
	all->spares--;
	return p;
}

void
pipe_give(struct pipes *all, struct pipe *p, size_t holds)
{
	if (holds > 0 || all->spares >= PIPES_SPARE) {
		close_pipe(all, p);
		return;
	}
	p->next = all->spare;
	all->spare = p;
	all->spares++;
}

void
pipes_release(struct pipes *all)
{
	while (all->spare != NULL) {
		struct pipe *p = pipe_take(all);

		close_pipe(all, p);
	}
}
