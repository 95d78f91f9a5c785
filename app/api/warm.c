/* Warm volumes of runs, and the templates of repositories. */
#include "api/warm.h"
#include "lib/str.h"
#include "run/warm.h"
#include "json/read.h"

#include <string.h>

#define LIST_MAX 1000

int
warm_possible(const struct config *config, struct err *e)
{
	if (cache_on(config))
		return 0;
	return err_set(e, ERR_INPUT,
	    "This box keeps no warm cache: SBX_CACHE_ROOT is empty.");
}

/* -- of a run -------------------------------------------------------------- */

/* At the top level too: there are clients of both spellings. */
static void
put_hash(struct jw *w, const char *repo, const struct lock_hash *lock)
{
	jw_str(w, "repo", repo);
	jw_str(w, "lockHash", lock->hash);
	jw_str(w, "repoDir", lock->dir);
}

/* path is NULL where it is not told. */
static int
answer_run(struct call *c, int status, const struct run *run, const char *repo,
    const char *path, const struct lock_hash *lock, struct err *e)
{
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);
	struct jw w = call_json(&body);

	jw_key(&w, "warm");
	jw_open(&w, '{');
	put_hash(&w, repo, lock);
	if (path != NULL)
		jw_str(&w, "path", path);
	jw_bool(&w, "booted", run->warm_booted);
	jw_close(&w, '}');
	put_hash(&w, repo, lock);
	return call_answer(c, &w, status, e);
}

int
api_warm_commit(struct call *c, struct err *e)
{
	json_auto_t *body = NULL;
	struct cache_manifest made;
	char repo[WARM_REPO_SIZE] = "";
	const char *text;
	struct run run;

	if (call_body(c, &body, e) != 0 ||
	    read_string(body, "repo", &text, e) != 0 ||
	    (text != NULL && warm_repo_read(text, repo, e) != 0) ||
	    warm_possible(c->ctx.config, e) != 0 || call_run(c, &run, e) != 0 ||
	    warm_commit(&c->ctx, &run, repo, &made, e) != 0)
		return -1;
	return answer_run(c, 201, &run, made.repo, NULL, &made.lock, e);
}

int
api_warm_look(struct call *c, struct err *e)
{
	struct lock_hash lock;
	struct run run;

	if (call_run(c, &run, e) != 0 ||
	    warm_look(&c->ctx, &run, &lock, e) != 0)
		return -1;
	return answer_run(c, 200, &run, run.warm_repo, run.warm_path, &lock, e);
}

/* -- of a repository ------------------------------------------------------- */

static int
get_repo(struct call *c, char to[WARM_REPO_SIZE], struct err *e)
{
	if (warm_possible(c->ctx.config, e) != 0)
		return -1;
	return warm_repo_read(router_param(c->route, c->x, "repo"), to, e);
}

static void
put_template(struct jw *w, const struct cache_manifest *m)
{
	char gen[ULID_SIZE + 2] = "g-";

	memcpy(gen + 2, m->gen, ULID_SIZE);
	put_hash(w, m->repo, &m->lock);
	jw_str(w, "gen", gen);
	jw_time(w, "createdAt", m->created_ms);
	jw_time(w, "lastUsedAt", m->used_ms);
	jw_int(w, "size", m->bytes);
	jw_int(w, "entries", m->entries);
}

int
api_warm_get(struct call *c, struct err *e)
{
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);
	char repo[WARM_REPO_SIZE];
	struct cache_manifest m;

	if (get_repo(c, repo, e) != 0 ||
	    warm_template(c->ctx.config, repo, &m, e) != 0)
		return -1;
	struct jw w = call_json(&body);
	jw_key(&w, "warm");
	jw_open(&w, '{');
	put_template(&w, &m);
	jw_close(&w, '}');
	put_hash(&w, repo, &m.lock);
	return call_answer(c, &w, 200, e);
}

int
api_warm_drop(struct call *c, struct err *e)
{
	char repo[WARM_REPO_SIZE];

	if (get_repo(c, repo, e) != 0 ||
	    warm_drop_template(&c->ctx, repo, e) != 0)
		return -1;
	return exchange_reply(c->x, 204, NULL, NULL, 0, e);
}

/* A cursor is the last name of the page before. */
static int
list_query(struct call *c, int64_t *ret_limit, char cursor[WARM_REPO_SIZE],
    struct err *e)
{
	const char *limit, *after;

	*ret_limit = INT64_MAX;
	cursor[0] = '\0';
	if (call_query(c, "limit", &limit, e) != 0 ||
	    call_query(c, "cursor", &after, e) != 0)
		return -1;
	if (limit != NULL && str_to_int(limit, 1, LIST_MAX, ret_limit) != 0)
		return err_set(e, ERR_INPUT,
		    "limit must be a whole number from 1 to %d.", LIST_MAX);
	if (after != NULL && warm_repo_read(after, cursor, e) != 0)
		return err_set(e, ERR_INPUT,
		    "cursor must be the nextCursor of an earlier page.");
	return 0;
}

int
api_warm_list(struct call *c, struct err *e)
{
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);
	char cursor[WARM_REPO_SIZE];
	struct cache_list list;
	int64_t limit;
	size_t i = 0;

	if (warm_possible(c->ctx.config, e) != 0 ||
	    list_query(c, &limit, cursor, e) != 0 ||
	    cache_list(c->ctx.config, c->x->arena, &list, e) != 0)
		return -1;
	while (i < list.count && strcmp(list.item[i].repo, cursor) <= 0)
		i++;
	struct jw w = call_json(&body);
	jw_key(&w, "templates");
	jw_open(&w, '[');
	for (; i < list.count && limit > 0; i++, limit--) {
		jw_open(&w, '{');
		put_template(&w, &list.item[i]);
		jw_close(&w, '}');
	}
	jw_close(&w, ']');
	if (i > 0 && i < list.count)
		jw_str(&w, "nextCursor", list.item[i - 1].repo);
	return call_answer(c, &w, 200, e);
}
