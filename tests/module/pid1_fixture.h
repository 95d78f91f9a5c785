/*
 * The built sbx-init, run as `sbx-init run` in a pid namespace and an all but
 * empty root of its own. Needs root; skips the test otherwise.
 */
#ifndef SBX_TESTS_MODULE_PID1_FIXTURE_H
#define SBX_TESTS_MODULE_PID1_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PID1_SOCKET "/guest.sock"

struct pid1 {
	char root[64];
	/* To be set before it starts: */
	bool abstract; /* it has no PID1_SOCKET but the abstract name; the
			* test is in a network of its own (unshare(2)) */
	bool alone;    /* its kernel has no subreapers, as gVisor's */
	bool box;      /* it sees the files of this box, below its own root */
	unsigned memory_mib; /* of the run; 0: unknown */
	pid_t parent;	     /* a child of ours, the parent of: */
	pid_t pid;	     /* PID 1, as seen from here */
};

/* A root with nothing in it but the program. */
struct pid1 pid1_root(void);

/* The path of what is at path in it, in a static buffer. */
const char *pid1_inside(const struct pid1 *r, const char *path);
void pid1_put_file(const struct pid1 *r, const char *path, const void *bytes,
    size_t size, unsigned mode);

/* Debian's static busybox, as /bin/sh and /bin/busybox. */
void pid1_put_shell(const struct pid1 *r);

/* Start it, serving on PID1_SOCKET; and until it is ready. */
void pid1_start(struct pid1 *r, const char *user);
void pid1_start_ready(struct pid1 *r, const char *user);

/* Call act in a process of that run; it has ended when this returns. */
void pid1_do_inside(const struct pid1 *r, void (*act)(void));

/* How many children PID 1 has; each gets the signal. */
int pid1_signal_children(const struct pid1 *r, int number);
int pid1_children(const struct pid1 *r);

/* Its only child does nothing from now on, until that is let go. (PID 1 lets a
 * child that was stopped go on at once.) */
pid_t pid1_hold_child(const struct pid1 *r);
void pid1_let_go(pid_t child);

/* Its exit status, once it has ended. */
int pid1_end_status(struct pid1 *r);

/* End it, which must go well, and remove the root, which must be empty but for
 * what is known. */
void pid1_finish(struct pid1 *r);

#endif
