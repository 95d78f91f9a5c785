/*
 * Files of a run, as a client handles them; what fails a test says so.
 */
#ifndef SBX_E2E_FILES_H
#define SBX_E2E_FILES_H

#include "client.h"
#include "lib/ulid.h"

/* "/v1/runs/ID/files/what" (what may be "", or begin with '?'), in one of a few
 * static buffers. what goes out as it is: escapes are the caller's. */
const char *file_url(const char *id, const char *what);

struct reply file_do(const char *method, const char *id, const char *what);

/* PUT of these bytes; of a text, which must be 204. */
struct reply file_send(
    const char *id, const char *what, const void *bytes, size_t size);
void file_put(const char *id, const char *what, const char *text);

/* GET must be 200 with these bytes; must be that problem. */
void file_is(const char *id, const char *what, const char *text);
void file_fails(const char *method, const char *id, const char *what,
    long status, const char *code, const char *detail);

/* The entry of that name in a list; NULL where there is none. */
const json_t *file_entry(const struct reply *list, const char *name);

/* sh -c cmd must exit with 0; its output, to be freed. */
char *file_sh(const char *id, const char *cmd);

/* A PUT whose body is sent bit by bit. size -1: chunked. */
struct upload {
	int fd;
	bool chunked;
};

struct upload upload_begin(const char *id, const char *what, int64_t size);
/* So many 'x'; false where the server does not listen any more. */
bool upload_more(struct upload *u, size_t size);
/* End a chunked one, read the answer and close. */
struct reply upload_end(struct upload *u);
void upload_cut(struct upload *u); /* leave, in the middle of it */

/* A GET of which no more is read than its first bytes; then all of it: true
 * where it came whole, by its length or its last chunk. */
int download_begin(const char *id, const char *what);
bool download_finish(int fd);

/* So many bytes that tell where they stand, in constant memory: up, */
struct reply bulk_put(const char *id, const char *what, uint64_t size);
/* and down; false where it is not exactly these. */
bool bulk_is(const char *id, const char *what, uint64_t size);

#endif
