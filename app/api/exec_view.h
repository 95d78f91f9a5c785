/* An exec as callers see it. */
#ifndef SBX_API_EXEC_VIEW_H
#define SBX_API_EXEC_VIEW_H

#include "lib/jw.h"
#include "lib/wire_object.h"

/* Its members, into an open object. */
void exec_view(struct jw *w, const struct wire_info *info);

/* Why it has no exit code of its own; NULL where it has, or ran out of time. */
const char *exec_view_error(const struct wire_exit *x);

#endif
