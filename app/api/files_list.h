/* Files as JSON: one of them, or all in a directory. */
#ifndef SBX_API_FILES_LIST_H
#define SBX_API_FILES_LIST_H

#include "api/call.h"
#include "run/files.h"

/* {"entries":[…]}: however many, in the memory of a few. */
int files_list(struct call *c, struct files *f, struct err *e);

/* The members of one entry, and its entity tag. */
int files_stat_answer(struct call *c, struct files *f, struct err *e);

/* The members of an entry. A name or target that is not UTF-8 comes a second
 * time, as base64 of its bytes. */
void files_entry(struct jw *w, const struct wire_stat *st);

#endif
