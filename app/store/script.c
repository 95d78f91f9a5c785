/* Running the embedded Lua scripts. */
#include "store/script.h"
#include "lib/str.h"
#include "lua.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* EVALSHA or EVAL, the digest or text, and the number of keys come first. */
#define HEAD 3

static const struct {
	const char *name, *sha, *text;
} scripts[] = {
#define S(name, text) {#name, LUA_SHA_##name, lua_##name},
#include "store/scripts.def"
#undef S
};

/* First words of refusals, and the kinds they are. */
static const struct {
	const char *word;
	enum err_kind kind;
} refusals[] = {
    {"RUN_ABSENT ", ERR_RUN_ABSENT},
    {"ABSENT ", ERR_ABSENT},
    {"RUN_NOT_RUNNING ", ERR_RUN_NOT_RUNNING},
    {"CAPACITY ", ERR_CAPACITY},
    {"LEASE_HELD ", ERR_LEASE_HELD},
    {"LEASE_SUPERSEDED ", ERR_LEASE_SUPERSEDED},
    {"LEASE_PENDING ", ERR_LEASE_PENDING},
    {"RUN_BUSY ", ERR_RUN_BUSY},
    {"CONFLICT ", ERR_CONFLICT},
};

void
script_begin(struct script_call *c, enum script script)
{
	c->script = script;
	c->argc = HEAD;
	c->argv[2] = "0";
}

void
script_add(struct script_call *c, const char *text)
{
	if (c->argc == SCRIPT_ARGS)
		abort();
	c->argv[c->argc++] = text;
}

void
script_add_int(struct script_call *c, int64_t number)
{
	if (c->argc == SCRIPT_ARGS)
		abort();
	char *to = c->number[c->argc];
	(void)snprintf(to, sizeof(c->number[0]), "%lld", (long long)number);
	c->argv[c->argc++] = to;
}

void
script_add_real(struct script_call *c, double number)
{
	if (c->argc == SCRIPT_ARGS)
		abort();
	char *to = c->number[c->argc];
	(void)snprintf(to, sizeof(c->number[0]), "%.9g", number);
	c->argv[c->argc++] = to;
}

static void
name_error(const struct script_call *c, struct err *e)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		size_t size = strlen(refusals[i].word);

		if (!str_starts(e->text, refusals[i].word))
			continue;
		e->kind = refusals[i].kind;
		memmove(e->text, e->text + size, strlen(e->text) - size + 1);
		return;
	}
	(void)err_wrap(e, "script %s", scripts[c->script].name);
}

struct redisReply *
script_run(struct redis *r, struct script_call *c, struct err *e)
{
	c->argv[0] = "EVALSHA";
	c->argv[1] = scripts[c->script].sha;
	struct redisReply *reply = redis_command(r, c->argc, c->argv, NULL, e);
	if (reply == NULL && e->kind == ERR_STORE &&
	    str_starts(e->text, "NOSCRIPT ")) {
		c->argv[0] = "EVAL";
		c->argv[1] = scripts[c->script].text;
		reply = redis_command(r, c->argc, c->argv, NULL, e);
	}
	if (reply == NULL && e->kind == ERR_STORE)
		name_error(c, e);
	return reply;
}

int
script_int(
    struct redis *r, struct script_call *c, int64_t *ret_value, struct err *e)
{
	struct redisReply *reply = script_run(r, c, e);

	if (reply == NULL)
		return -1;
	*ret_value = reply_int(reply);
	redis_reply_free(reply);
	return 0;
}

int
script_do(struct redis *r, struct script_call *c, struct err *e)
{
	struct redisReply *reply = script_run(r, c, e);

	redis_reply_free(reply);
	return reply != NULL ? 0 : -1;
}
