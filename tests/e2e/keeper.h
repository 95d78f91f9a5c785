/*
 * A client that keeps its connection, for many short calls from a thread. As
 * with client.h nothing here fails a test.
 */
#ifndef SBX_E2E_KEEPER_H
#define SBX_E2E_KEEPER_H

#include <stdint.h>

struct keeper;

struct keeper *keeper_new(void);
void keeper_free(struct keeper *k);

/* One call with the stack's token; the status, or 0 where no answer came. */
long keeper_ask(
    struct keeper *k, const char *method, const char *path, const char *body);

/* Of the last answer: a member of its JSON by path, "lease.generation"; 0 or ""
 * where absent. Text is valid until the next call. */
int64_t keeper_number(const struct keeper *k, const char *path);
const char *keeper_text(const struct keeper *k, const char *path);

#endif
