/*
 * The proxy of a run with network "allowlist" (DESIGN 5), seen from the host:
 * one sbx-proxy per run, which listens inside the run, holds it to its policy
 * (run/egress_policy.h), and ends when the run's init does.
 *
 * Such a run has loopback and nothing else, and its proxy listens there. Where
 * the runtime has a network stack of its own that does not work: there the run
 * has a Docker network for itself alone (run/egress_network.h), whose link the
 * proxy closes (proxy/link.h), so that it leads to the proxy and nowhere else.
 *
 * In the host's directory of the run:
 *
 *	egress		the policy text that the proxy was told last
 *	egress.next	one that it is being told
 *	egress.sock	its control socket (proxy/control.h)
 *	egress.log	what it said, where it was spawned; under systemd the
 *			journal has that
 *
 * The record's egressAllow decides; whoever changes it tells the proxy, and the
 * reaper does so where that failed, or where SBX_EGRESS_* have changed.
 */
#ifndef SBX_RUN_EGRESS_H
#define SBX_RUN_EGRESS_H

#include "docker/container.h"
#include "lib/address.h"
#include "lib/arena.h"
#include "run/context.h"
#include "run/egress_policy.h"
#include "store/run.h"

#include <stdbool.h>
#include <stdint.h>

/* The run has a proxy: its network is "allowlist". */
bool egress_has(const struct run *run);

/* Before the container is created: make the network of a run that takes one
 * (SBX_EGRESS_MODE). Fills run->subnet, "" where there is none. */
int egress_prepare(
    const struct run_ctx *ctx, struct run *run, struct arena *a, struct err *e);

/* Say so in what the container is created by. */
void egress_attach(
    const struct run *run, struct arena *a, struct container_spec *spec);

/* The run reaches its proxy at that address, at port 3128. */
void egress_address(const struct run *run, char to[ADDRESS_TEXT]);

/* Once the container runs: write the policy, start the proxy, and wait until it
 * listens. ERR_PROXY where it does not. */
int egress_start(
    const struct run_ctx *ctx, const struct run *run, struct err *e);

/* Of a run that is recorded as running (the reaper): start the proxy again
 * where it does not answer, and tell it the policy where that has changed.
 * *ret_done says what was done, as a word for a log; NULL: nothing. */
int egress_keep(const struct run_ctx *ctx, const char *id,
    const char **ret_done, struct err *e);

/* Before something begins in a run that is recorded as running: a restart by
 * hand gives one that has a link another, which is open until there is a proxy
 * again. ERR_PROXY where there cannot be one. */
int egress_confine(
    const struct run_ctx *ctx, const struct run *run, struct err *e);

/* Its container is gone: wait until the proxy is too, ending it if it must be
 * (almost always it has ended already), and remove the run's network. */
int egress_end(const struct run_ctx *ctx, const char *id, struct err *e);

/* Of a run whose record is lost: its own entries as they were last, from its
 * directory; where that does not tell, run->egress_allow stays. */
void egress_restore(
    const struct config *config, struct run *run, struct arena *a);

/*
 * From here on the run's own entries are these (egress_own): recorded, and in
 * force when this returns; connections that they do not admit have ended.
 * ERR_RUN_ABSENT, ERR_RUN_NOT_RUNNING; ERR_PROXY where it is recorded but the
 * proxy did not take it: the reaper tells it again.
 */
int egress_set(
    const struct run_ctx *ctx, struct run *run, const char *own, struct err *e);

/* What the proxy has counted, a JSON object (proxy/ledger.h's ledger_counts),
 * in the arena. ERR_PROXY; ERR_RUN_NOT_RUNNING. */
int egress_counts(const struct run_ctx *ctx, struct run *run, struct arena *a,
    const char **ret_json, struct err *e);

/* -- the log of decisions -------------------------------------------------- */

struct egress_log;

/* From that position on (0: the oldest there is); follow: and then as they
 * come, until the run ends. Failures as of egress_counts. */
struct egress_log *egress_log_open(const struct run_ctx *ctx, struct run *run,
    uint64_t position, bool follow, struct err *e);
void egress_log_free(struct egress_log *l); /* takes NULL */

enum egress_log_event {
	EGRESS_LOG_LINE,    /* a JSON object */
	EGRESS_LOG_NONE,    /* nothing came in time, or other_fd is readable */
	EGRESS_LOG_END,	    /* there will be no more */
	EGRESS_LOG_REFUSED, /* so many follow it already */
};

/* The next line, without its end, valid until the next call. Waits for
 * timeout_ms, or until other_fd (-1: none) is readable. */
enum egress_log_event egress_log_next(struct egress_log *l, int other_fd,
    int timeout_ms, const char **ret_line, size_t *ret_size);

#endif
