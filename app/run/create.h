/*
 * Making a run: image, record, directory, container, start; undone in reverse
 * where a step fails or the client leaves.
 */
#ifndef SBX_RUN_CREATE_H
#define SBX_RUN_CREATE_H

#include "lib/arena.h"
#include "run/context.h"
#include "run/init_command.h"
#include "store/idem.h"
#include "store/run.h"

#include <stdbool.h>

struct run_request {
	const char *image, *network;
	const char *labels;	  /* JSON object text, or "" */
	const char *egress_allow; /* run/egress_policy.h's own, or "" */
	const char *const *env;	  /* NULL-terminated NAME=value */
	int64_t ttl_sec, memory_mb, pids;
	double cpus;
	bool auto_extend;
	struct init_command init;
	/* run/warm_name.h's, or "" */
	const char *warm_repo, *warm_path;
	const struct idem *idem; /* NULL: none */
};

/* Told while it works; both may be NULL. */
struct run_watch {
	/* phase: "pull", "create", "start", "init"; total 0: unknown */
	int (*progress)(
	    void *arg, const char *phase, int64_t current, int64_t total);
	bool (*gone)(void *arg); /* true: undo and return ERR_GONE_AWAY */
	void *arg;
};

/* Everything in rq is valid by CONTRACT 2. Strings of *ret_run live in a. */
int run_make(const struct run_ctx *ctx, const struct run_request *rq,
    const struct run_watch *watch, struct arena *a, struct run *ret_run,
    struct err *e);

#endif
