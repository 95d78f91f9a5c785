/* What PID 1 does to an exec. */
#include "init/act.h"

#include <signal.h>

/* Why an exec (NULL: there is none) cannot have that done to it, or 0. */
static enum wire_fail
refusal(const struct wire_act *x, const struct object *exec)
{
	if (exec == NULL)
		return WIRE_FAIL_EXEC_ABSENT;
	if (x->what == WIRE_ACT_RESIZE && !exec->tty)
		return WIRE_FAIL_EXEC_TTY;
	/* What has ended may have left something to end. */
	if (x->what == WIRE_ACT_END)
		return 0;
	bool takes_it = x->what != WIRE_ACT_INPUT ||
			(exec->feedable && !atomic_load(&exec->closed));
	return takes_it && object_runs(exec) ? 0 : WIRE_FAIL_EXEC_ENDED;
}

static struct mail
mail_of(const struct wire_act *x)
{
	if (x->what == WIRE_ACT_SIGNAL)
		return (struct mail){.what = MAIL_SIGNAL, .signal = x->signal};
	if (x->what == WIRE_ACT_RESIZE)
		return (struct mail){
		    .what = MAIL_RESIZE, .cols = x->cols, .rows = x->rows};
	return (struct mail){.what = MAIL_END};
}

int
act_begin(struct ops *o, const struct wire_act *x, struct act *ret_a,
    struct op **ret_op, enum wire_fail *ret_why)
{
	struct op *op = ops_find(o, x->id);

	*ret_why = x->generation < ops_fence(o)
		       ? WIRE_FAIL_FENCED
		       : refusal(x, op != NULL ? op_object(op) : NULL);
	if (*ret_why != 0)
		return -1;
	*ret_op = op;
	*ret_a = (struct act){
	    .op = op,
	    .serial = op_object(op)->serial,
	    .mail = mail_of(x),
	    .generation = x->generation,
	};
	return 0;
}

enum act_state
act_step(const struct ops *o, struct act *a)
{
	struct object *exec = op_object(a->op);

	/* Its supervisor is dead, and nothing of it is left. */
	if (exec->serial != a->serial || op_pid(a->op) <= 0)
		return ACT_DONE;
	if (!a->posted) {
		if (a->generation < ops_fence(o))
			return ACT_FENCED;
		a->posted = object_post(exec, &a->mail, &a->count);
		if (a->posted)
			(void)kill(op_pid(a->op), SIGUSR1);
		return ACT_WAITS;
	}
	/* Root of the run may have stopped it. */
	if (!object_was_taken(exec, a->count))
		(void)kill(op_pid(a->op), SIGCONT);
	else if (a->mail.what != MAIL_END || atomic_load(&exec->gone))
		return ACT_DONE;
	return ACT_WAITS;
}

bool
act_is_open(const struct act *a)
{
	return a->posted && op_pid(a->op) > 0 &&
	       op_object(a->op)->serial == a->serial &&
	       !object_was_taken(op_object(a->op), a->count);
}
