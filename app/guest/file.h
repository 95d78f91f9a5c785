/*
 * One operation on files in a run, through its init (lib/wire_file.h). Needs an
 * init of wire version 3.
 *
 * The host trusts no size and no name that it is told: what comes is bounded,
 * and no path is made of it. Failures beside those of guest/guest.h:
 * ERR_FILE_*, ERR_TOO_LARGE, ERR_INPUT (an archive or a name), with a sentence
 * for the caller; ERR_LEASE_SUPERSEDED.
 */
#ifndef SBX_GUEST_FILE_H
#define SBX_GUEST_FILE_H

#include "guest/guest.h"
#include "lib/wire_file.h"

struct guest_file;

/*
 * Begin it; guest_file_free ends it, done or not. A PUT, UNPACK or PACK was
 * admitted by the guest when this returns. What request points to must outlive
 * it.
 */
struct guest_file *guest_file_open(struct engine *en,
    const struct guest_place *place, const struct wire_file *request,
    const struct guest_patience *patience, struct err *e);
void guest_file_free(struct guest_file *f); /* takes NULL */

/* GET, LIST, STAT: the next stat, 1; 0 after the last one. Valid until the next
 * call. GET has exactly one. */
int guest_file_stat(
    struct guest_file *f, struct wire_stat *ret_stat, struct err *e);

/* GET, once, after its stat: which bytes. */
int guest_file_read(
    struct guest_file *f, uint64_t offset, uint64_t size, struct err *e);

/*
 * GET, after its stat, in place of guest_file_read and guest_file_next: the
 * open file itself, to be read from where one likes; it stays f's. -1 where the
 * run's side passed none, or something else than a file of a file system that
 * answers by itself. It may become shorter, or other, at any time.
 * guest_file_check tells whether the run is still there.
 */
int guest_file_opened(const struct guest_file *f);

/* GET, PACK: the next bytes, 1, valid until the next call; 0 after the last. A
 * GET never has more than it was asked for. */
int guest_file_next(struct guest_file *f, const char **ret_bytes,
    size_t *ret_size, struct err *e);

/* PUT, UNPACK: send, in pieces of any size; the end returns once it is done. */
int guest_file_send(
    struct guest_file *f, const char *bytes, size_t size, struct err *e);
int guest_file_end(struct guest_file *f, struct err *e);

/* While there is nothing to send, or to be asked: what becomes readable once
 * the run's side has given up, and then -1 with why. */
int guest_file_fd(const struct guest_file *f);
int guest_file_check(struct guest_file *f, struct err *e);

/* MKDIR, MOVE, REMOVE: until it is done. */
int guest_file_done(struct guest_file *f, struct err *e);

#endif
