/*
 * Snapshots: runs as images (CONTRACT 7).
 */
#ifndef SBX_API_SNAPSHOTS_H
#define SBX_API_SNAPSHOTS_H

#include "api/call.h"

int api_snapshot_take(struct call *c, struct err *e);
int api_snapshot_list(struct call *c, struct err *e);
int api_snapshot_delete(struct call *c, struct err *e);

#endif
