/* A run as callers see it. */
#ifndef SBX_API_RUN_VIEW_H
#define SBX_API_RUN_VIEW_H

#include "lib/jw.h"
#include "store/run.h"

/* The members of the 201, without `server`, into an open object. */
void run_view(struct jw *w, const struct run *run);

/* What GET /v1/runs/{id} adds to them: limits, and the exit where it ended. */
void run_view_more(struct jw *w, const struct run *run);

#endif
