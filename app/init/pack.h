/*
 * A tree as a tar archive, and an archive as a tree (lib/tar.h).
 *
 * Below the request's path, by descriptors alone (init/beneath.h). Unpacking
 * refuses what is absolute or has "..", what would go through a link that leads
 * out, hard links to what is outside, and devices; sockets, fifos and devices
 * are left out of archives.
 */
#ifndef SBX_INIT_PACK_H
#define SBX_INIT_PACK_H

#include "init/file.h"

/* WIRE_FILE_PACK: WIRE_STARTED, WIRE_DATA, WIRE_DATA_END. */
int pack_run(struct file_op *f);

/* WIRE_FILE_UNPACK: WIRE_STARTED, takes WIRE_DATA, WIRE_DATA_END: WIRE_DONE. */
int unpack_run(struct file_op *f);

#endif
