/* What a supervisor leaves that was killed. */
#include "init/lost.h"
#include "init/tree.h"
#include "lib/clock.h"

#include <sys/prctl.h>

#define LOOKS 16 /* with these pauses 2.5 s: before a fence ends everything */
#define FIRST_MS 2
#define MOST_MS 250
#define IN_VAIN 3 /* one look can miss what is another process all the time */

void
lost_init(struct lost *l)
{
	/* To PID 1 it makes no difference. */
	*l = (struct lost){.tells = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0};
}

void
lost_begin(struct lost *l)
{
	if (!l->tells)
		return;
	l->looks = LOOKS;
	l->in_vain = 0;
	l->wait_ms = FIRST_MS;
	l->at = clock_mono_ms();
}

bool
lost_is_busy(const struct lost *l)
{
	return l->looks > 0;
}

int
lost_idle_ms(const struct lost *l)
{
	return lost_is_busy(l) ? clock_left(l->at) : -1;
}

static bool
is_operation(const void *ops, pid_t pid)
{
	return ops_has(ops, pid);
}

void
lost_step(struct lost *l, const struct ops *o)
{
	if (!lost_is_busy(l) || clock_left(l->at) > 0)
		return;
	size_t found = tree_kill_but(is_operation, o);
	l->in_vain = found == 0 ? l->in_vain + 1 : 0;
	l->looks = l->in_vain < IN_VAIN ? l->looks - 1 : 0;
	l->at = clock_mono_ms() + l->wait_ms;
	l->wait_ms = 2 * l->wait_ms < MOST_MS ? 2 * l->wait_ms : MOST_MS;
}
