/*
 * The Lua scripts of store/lua/, built into the program and run by digest.
 *
 * Each is atomic and takes its clock from Redis. A Redis that does not know one
 * yet (fresh, restarted, flushed) is sent its text in the same call.
 */
#ifndef SBX_STORE_SCRIPT_H
#define SBX_STORE_SCRIPT_H

#include "store/redis.h"

#define SCRIPT_ARGS 64

enum script {
#define S(name, text) SCRIPT_##name,
#include "store/scripts.def"
#undef S
};

/* A script and its arguments, which must live until it ran (numbers are
 * kept here). Start with script_begin. */
struct script_call {
	enum script script;
	int argc;
	const char *argv[SCRIPT_ARGS];
	char number[SCRIPT_ARGS][24];
};

void script_begin(struct script_call *c, enum script script);
void script_add(struct script_call *c, const char *text);
void script_add_int(struct script_call *c, int64_t number);
void script_add_real(struct script_call *c, double number);

/*
 * The script's reply, freed with redis_reply_free, or NULL. A refusal has the
 * kind that the script meant and a sentence for the caller of the API;
 * anything else that fails is as redis_command says.
 */
struct redisReply *script_run(
    struct redis *r, struct script_call *c, struct err *e);

/* As script_run, for scripts that reply with a number. */
int script_int(
    struct redis *r, struct script_call *c, int64_t *ret_value, struct err *e);

/* As script_run, for scripts whose reply says nothing. */
int script_do(struct redis *r, struct script_call *c, struct err *e);

#endif
