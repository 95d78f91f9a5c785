/* The operations that PID 1 serves, in memory shared with their supervisors. */
#include "init/ops.h"
#include "init/object.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096u

enum state { OP_NEW, OP_RUNS, OP_OVER };

struct op {
	/* PID 1's alone: */
	pid_t pid;	       /* 0: none, -1: about to be forked */
	bool kept;	       /* what is told of it outlives the process */
	struct object *object; /* once taken */
	_Atomic uint64_t generation;
	_Atomic int state;
};

struct ops {
	_Atomic uint64_t fence;
	uint64_t taken; /* as counted */
	size_t high;	/* past the last object that was touched */
	struct op op[OPS_MAX];
	struct object object[OPS_MAX]; /* not touched before they are needed */
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

		if (op->pid != 0 || op->kept)
			continue;
		op->pid = -1;
		op->object = &o->object[i];
		o->high = o->high > i ? o->high : i + 1;
		object_clear(op->object, ++o->taken);
		atomic_store(&op->generation, 0);
		atomic_store(&op->state, OP_NEW);
		return op;
	}
	return NULL;
}

static void
ended(struct op *op)
{
	op->pid = 0;
	op->kept = object_outlives(op->object);
	if (!op->kept)
		object_release(op->object);
}

void
op_forked(struct op *op, pid_t pid)
{
	op->pid = pid;
	if (pid <= 0)
		ended(op);
}

/* After many were there at once, most of their memory is of no use. */
static void
give_back(struct ops *o)
{
	size_t used = OPS_MAX;

	while (used > 0 && o->op[used - 1].pid == 0 && !o->op[used - 1].kept)
		used--;
	if (o->high < used + 64)
		return;
	uintptr_t from = (uintptr_t)&o->object[used] + PAGE - 1;
	uintptr_t to = (uintptr_t)&o->object[o->high];
	from = from / PAGE * PAGE;
	if (from < to)
		(void)madvise(
		    (void *)from, (to - from) / PAGE * PAGE, MADV_REMOVE);
	o->high = used;
}

bool
ops_reaped(struct ops *o, pid_t pid)
{
	bool was_one = false;

	for (size_t i = 0; i < OPS_MAX; i++) {
		if (o->op[i].pid != pid)
			continue;
		ended(&o->op[i]);
		was_one = true;
	}
	give_back(o);
	return was_one;
}

bool
ops_has(const struct ops *o, pid_t pid)
{
	for (size_t i = 0; i < OPS_MAX; i++)
		if (o->op[i].pid == pid)
			return true;
	return false;
}

void
ops_resume(const struct ops *o)
{
	for (size_t i = 0; i < OPS_MAX; i++) {
		siginfo_t si = {.si_pid = 0};
		pid_t pid = o->op[i].pid;

		/* Asked of each: who stops one all the time, or a child that is
		 * no operation, hides no other. */
		if (pid > 0 &&
		    waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOHANG) == 0 &&
		    si.si_pid == pid)
			(void)kill(pid, SIGCONT);
	}
}

struct op *
ops_next(struct ops *o, const struct op *after)
{
	for (size_t i = after != NULL ? (size_t)(after - o->op) + 1 : 0;
	     i < OPS_MAX; i++)
		if (o->op[i].pid != 0 || o->op[i].kept)
			return &o->op[i];
	return NULL;
}

struct op *
ops_find(struct ops *o, const char *id)
{
	for (struct op *op = ops_next(o, NULL); op; op = ops_next(o, op))
		if (atomic_load(&op->object->listed) &&
		    strcmp(op->object->id, id) == 0)
			return op;
	return NULL;
}

struct object *
op_object(struct op *op)
{
	return op->object;
}

pid_t
op_pid(const struct op *op)
{
	return op->pid;
}

void
op_forget(struct op *op)
{
	op->kept = false;
	object_release(op->object);
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
	atomic_store(&op->state, OP_OVER);
}
