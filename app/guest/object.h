/*
 * Execs that run already, or are kept, as the host asks the run's init about
 * them (lib/wire_object.h). Needs an init of wire version 3.
 *
 * Failures beside those of guest/guest.h: ERR_EXEC_ABSENT, ERR_EXEC_ENDED,
 * ERR_EXEC_OUTPUT, ERR_INPUT (no terminal to resize), ERR_LEASE_SUPERSEDED.
 */
#ifndef SBX_GUEST_OBJECT_H
#define SBX_GUEST_OBJECT_H

#include "guest/guest.h"
#include "lib/wire_object.h"

#define GUEST_LIST_MAX 600 /* no honest init tells of more */

/* Tell each of them; what info points to is valid during the call. */
int guest_list(struct engine *en, const struct guest_place *place,
    void (*each)(void *arg, const struct wire_info *info), void *arg,
    struct err *e);

/* Do that, not INPUT, and wait until it is done (at most 10 s). */
int guest_act(struct engine *en, const struct guest_place *place,
    const struct wire_act *act, struct err *e);

/*
 * Its output from an offset on, then live: guest_next gives it, GUEST_GAP where
 * bytes were dropped, and GUEST_EXIT. guest_free leaves the exec alone.
 */
struct guest *guest_follow(struct engine *en, const struct guest_place *place,
    const struct wire_attach *attach, struct err *e);

/*
 * Feed it: any number of guest_feed, then guest_feed_end, which returns once
 * the exec's supervisor has all of it. guest_free before that leaves what was
 * fed. guest_feed blocks while the command does not read; ERR_GONE_AWAY where
 * other_fd became readable meanwhile, ERR_GUEST after timeout_ms without
 * progress. After a failure there is no more to feed.
 */
struct guest *guest_input(struct engine *en, const struct guest_place *place,
    const struct wire_act *act, struct err *e);
int guest_feed(struct guest *g, const char *bytes, size_t size, int other_fd,
    int timeout_ms, struct err *e);
int guest_feed_end(
    struct guest *g, int other_fd, int timeout_ms, struct err *e);

#endif
