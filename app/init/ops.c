/* The operations that PID 1 serves, in memory shared with their supervisors. */
#include "init/ops.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum state { OP_NEW, OP_RUNS, OP_OVER };

struct op {
	pid_t pid; /* PID 1's alone; 0 is free, -1 about to be forked */
	_Atomic uint64_t generation;
	_Atomic int state;
};

struct ops {
	_Atomic uint64_t fence;
	struct op op[OPS_MAX];
};

struct ops *
ops_new(void)
{
	void *at = mmap(NULL, sizeof(struct ops), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at != MAP_FAILED ? at : NULL;
}

struct op *
ops_take(struct ops *o)
{
	for (size_t i = 0; i < OPS_MAX; i++) {
		struct op *op = &o->op[i];

		if (op->pid != 0)
			continue;
		op->pid = -1;
		atomic_store(&op->generation, 0);
		atomic_store(&op->state, OP_NEW);
		return op;
	}
	return NULL;
}

void
op_forked(struct op *op, pid_t pid)
{
	op->pid = pid > 0 ? pid : 0;
}

void
ops_reaped(struct ops *o, pid_t pid)
{
	for (size_t i = 0; i < OPS_MAX; i++)
		if (o->op[i].pid == pid)
			o->op[i].pid = 0;
}

bool
ops_raise(struct ops *o, uint64_t generation)
{
	if (generation <= atomic_load(&o->fence))
		return false;
	atomic_store(&o->fence, generation);
	return true;
}

uint64_t
ops_fence(const struct ops *o)
{
	return atomic_load(&o->fence);
}

size_t
ops_end_older(const struct ops *o, int sig)
{
	size_t count = 0;

	for (size_t i = 0; i < OPS_MAX; i++) {
		const struct op *op = &o->op[i];

		/* One that is new will see the fence by itself. */
		if (op->pid <= 0 || atomic_load(&op->state) != OP_RUNS ||
		    !op_is_older(o, op))
			continue;
		count++;
		if (sig != 0)
			(void)kill(op->pid, sig);
	}
	return count;
}

bool
op_admit(const struct ops *o, struct op *op, uint64_t generation)
{
	if (op == NULL)
		return true;
	atomic_store(&op->generation, generation);
	atomic_store(&op->state, OP_RUNS);
	return !op_is_older(o, op);
}

bool
op_is_older(const struct ops *o, const struct op *op)
{
	return op != NULL &&
	       atomic_load(&op->generation) < atomic_load(&o->fence);
}

void
op_over(struct op *op)
{
	if (op != NULL)
		atomic_store(&op->state, OP_OVER);
}
