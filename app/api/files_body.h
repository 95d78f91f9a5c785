/* The contents of files, from a run to a client and back. */
#ifndef SBX_API_FILES_BODY_H
#define SBX_API_FILES_BODY_H

#include "api/call.h"
#include "run/files.h"

/* The answer to a GET of content: all of it, a part, or that it is not modified
 * (http/range.h). Where the file does not give what it promised the connection
 * is cut. */
int files_send_content(struct call *c, struct files *f, struct err *e);

/* A tree as a tar archive. */
int files_send_archive(struct call *c, struct files *f, struct err *e);

/* The most bytes that an upload may have, and a refusal of one that announces
 * more. */
uint64_t files_body_max(const struct call *c);
int files_body_check(const struct call *c, struct err *e);

/* The request's body into an opened PUT or UNPACK, to its end; no reply. */
int files_take(struct call *c, struct files *f, struct err *e);

/* The strong entity tag of a file, with its quotes. */
#define FILES_ETAG_SIZE 40
void files_etag(const struct wire_stat *st, char to[FILES_ETAG_SIZE]);

#endif
