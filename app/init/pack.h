/*
 * A tree as a tar archive, and an archive as a tree (lib/tar.h).
 *
 * Below the request's path, by descriptors alone: nothing outside of it is
 * read or written, whoever swaps what meanwhile.
 */
#ifndef SBX_INIT_PACK_H
#define SBX_INIT_PACK_H

#include "init/file.h"

/*
 * WIRE_FILE_PACK: WIRE_STARTED, WIRE_DATA, WIRE_DATA_END.
 *
 * What is in the directory, under names that are relative to it, but not the
 * directory itself; of a path that is a file, that under its own name. Modes,
 * times, owners and links are kept as they are; a hard link becomes a file of
 * its own. Sockets, fifos and devices are left out, and what vanishes
 * meanwhile. A file that changes its size meanwhile is cut, or filled up with
 * zeros, to the size that it had. What cannot be read is WIRE_FAIL in the
 * middle: an archive that ends well has everything.
 */
int pack_run(struct file_op *f);

/*
 * WIRE_FILE_UNPACK: WIRE_STARTED, takes WIRE_DATA, WIRE_DATA_END: WIRE_DONE.
 *
 * The path, and what is above it, is made where it is not there. Files and
 * links replace what has their name, each at once, but not directories;
 * directories are kept, with what is in them. Modes (of others than root
 * without set-id and sticky bits) and times are kept, owners are the request's
 * user. The path itself ("./") keeps its own.
 *
 * Refused are: absolute names and those with ".."; what would be written
 * through a link that leads out of the path; symbolic links that say that they
 * lead out of the root; hard links to what is not below the path; sparse files,
 * devices and whatever else is not a file, directory or link; files of more
 * than `limit` bytes together; more than a million entries. What was unpacked
 * until then, or until the host left, stays; a file of which not all came does
 * not.
 */
int unpack_run(struct file_op *f);

#endif
