/* The warm cache in Redis: arguments in, replies out. */
#include "store/warm.h"
#include "store/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER_SIZE (ULID_SIZE * 2)
#define COMMIT "commit"

/* -- what is current ------------------------------------------------------- */

static char *
copy_text(const struct redisReply *reply, size_t i, struct arena *a)
{
	const char *text = reply_text(reply_at(reply, i));

	return arena_strdup(a, text != NULL ? text : "");
}

int
warm_boot(struct redis *r, const char *repo, const char *run,
    char ret_gen[ULID_SIZE], struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_warm_boot);
	script_add(&c, repo);
	script_add(&c, run);
	script_add_int(&c, WARM_PIN_MS);
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	const char *gen = reply_text(reply);
	(void)snprintf(ret_gen, ULID_SIZE, "%s", gen != NULL ? gen : "");
	redis_reply_free(reply);
	return 0;
}

int
warm_learn(struct redis *r, const struct warm *warm, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_warm_learn);
	script_add(&c, warm->repo);
	script_add(&c, warm->gen);
	script_add(&c, warm->lock_hash);
	script_add(&c, warm->repo_dir);
	script_add_int(&c, warm->created_ms);
	script_add_int(&c, warm->bytes);
	script_add_int(&c, warm->entries);
	script_add_int(&c, warm->used_ms);
	return script_do(r, &c, e);
}

int
warm_drop(struct redis *r, const char *repo, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_warm_drop);
	script_add(&c, repo);
	return script_do(r, &c, e);
}

static int
evict(struct redis *r, const char *repo, const char *gen, const char *gone,
    bool *ret_evicted, struct err *e)
{
	struct script_call c;
	int64_t yes;

	script_begin(&c, SCRIPT_warm_evict);
	script_add(&c, repo);
	script_add(&c, gen);
	script_add(&c, gone);
	if (script_int(r, &c, &yes, e) != 0)
		return -1;
	*ret_evicted = yes == 1;
	return 0;
}

int
warm_evict(struct redis *r, const char *repo, const char *gen,
    bool *ret_evicted, struct err *e)
{
	return evict(r, repo, gen, "0", ret_evicted, e);
}

int
warm_forget(struct redis *r, const char *repo, const char *gen, struct err *e)
{
	bool forgotten;

	return evict(r, repo, gen, "1", &forgotten, e);
}

/* -- pins ------------------------------------------------------------------ */

static int
pin(struct redis *r, const char *repo, const char *gen, const char *who,
    int64_t mark_ms, struct err *e)
{
	struct script_call c;
	char member[MEMBER_SIZE];

	(void)snprintf(member, sizeof(member), "%s %s", gen, who);
	script_begin(&c, SCRIPT_warm_pin);
	script_add(&c, repo);
	script_add(&c, member);
	script_add_int(&c, mark_ms);
	return script_do(r, &c, e);
}

int
warm_pin(struct redis *r, const char *repo, const char *gen, const char *who,
    struct err *e)
{
	return pin(r, repo, gen, who, WARM_PIN_MS, e);
}

int
warm_committing(
    struct redis *r, const char *repo, const char *gen, struct err *e)
{
	return pin(r, repo, gen, COMMIT, WARM_COMMIT_MS, e);
}

int
warm_unpin(struct redis *r, const char *repo, const char *gen, const char *who,
    struct err *e)
{
	char key[256], member[MEMBER_SIZE];
	const char *argv[] = {"ZREM", key, member};

	(void)snprintf(key, sizeof(key), "sbx:warm-pins:%s", repo);
	(void)snprintf(member, sizeof(member), "%s %s", gen, who);
	struct redisReply *reply = redis_command(r, 3, argv, NULL, e);
	redis_reply_free(reply);
	return reply != NULL ? 0 : -1;
}

int
warm_pins(struct redis *r, const char *repo, struct arena *a,
    struct warm_pins *ret_pins, struct err *e)
{
	struct warm_pins pins = {NULL, 0};
	struct script_call c;

	script_begin(&c, SCRIPT_warm_pins);
	script_add(&c, repo);
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	pins.item =
	    arena_alloc(a, (reply_count(reply) + 1) * sizeof(*pins.item));
	for (size_t i = 0; i < reply_count(reply); i++) {
		char *gen = copy_text(reply, i, a);
		char *who = strchr(gen, ' ');

		if (who == NULL)
			continue;
		*who = '\0';
		pins.item[pins.count++] = (struct warm_pinned){gen, who + 1};
	}
	redis_reply_free(reply);
	*ret_pins = pins;
	return 0;
}

static int
by_repo(const void *a, const void *b)
{
	const struct warm_known *one = a, *other = b;

	return strcmp(one->repo, other->repo);
}

int
warm_all(
    struct redis *r, struct arena *a, struct warm_list *ret_list, struct err *e)
{
	struct warm_list list = {NULL, 0};
	struct script_call c;

	script_begin(&c, SCRIPT_warm_all);
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	list.item =
	    arena_alloc(a, (reply_count(reply) / 3 + 1) * sizeof(*list.item));
	for (size_t i = 0; i + 2 < reply_count(reply); i += 3)
		list.item[list.count++] = (struct warm_known){
		    copy_text(reply, i, a), copy_text(reply, i + 1, a),
		    reply_int(reply_at(reply, i + 2))};
	redis_reply_free(reply);
	qsort(list.item, list.count, sizeof(*list.item), by_repo);
	*ret_list = list;
	return 0;
}
