/* A run's warm volume becomes a generation of a repository. */
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/hold.h"
#include "run/warm.h"
#include "store/warm.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define KEEP_MS 5000 /* of the pin, WARM_COMMIT_MS long */
#define LOOK_MS 50
#define LOCK_MS 20000 /* for who publishes there as well */
#define LOCK_TRY_MS 500
#define DROP_LOCK_MS 1000

struct commit {
	const struct run_ctx *ctx;
	struct run *run;
	struct hold hold;
	struct cache_manifest made;
	char gen[ULID_SIZE];  /* of the copy; made's may be a later one */
	int64_t kept, looked; /* monotonic ms */
	bool given_up;
};

static bool
left(const struct run_ctx *ctx)
{
	return ctx->gone != NULL && ctx->gone(ctx->arg);
}

/* A pin that is not kept for a while lapses; the copy is of use all the same.
 */
static void
keep(struct commit *c)
{
	struct err ignored = ERR_INIT;

	(void)warm_committing(c->ctx->redis, c->made.repo, c->gen, &ignored);
	c->kept = clock_mono_ms();
}

static bool
give_up(void *arg)
{
	struct commit *c = arg;
	int64_t now = clock_mono_ms();

	if (now - c->looked < LOOK_MS)
		return c->given_up;
	c->looked = now;
	if (now - c->kept > KEEP_MS)
		keep(c);
	c->given_up = hold_lost(&c->hold) || left(c->ctx);
	return c->given_up;
}

/* On Redis' clock. */
static int
new_gen(struct redis *r, char to[ULID_SIZE], int64_t *ret_ms, struct err *e)
{
	unsigned char random[10];

	if (store_now(r, ret_ms, e) != 0)
		return -1;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, ERR_INTERNAL, "no random bytes");
	ulid_format(*ret_ms, random, to);
	return 0;
}

/* -- the copy -------------------------------------------------------------- */

static int
copy_tree(struct commit *c, int to, struct err *e)
{
	const struct tree_watch watch = {give_up, c};
	struct tree_sum sum;
	int tree = -1;

	if (warm_open(c->ctx, c->run, &tree, e) != 0)
		return -1;
	int rc = tree_copy(tree, to, &watch, &sum, e);
	fd_close(&tree);
	if (rc != 0)
		return -1;
	c->made.bytes = sum.bytes;
	c->made.entries = sum.entries;
	return 0;
}

/* While the run is still: its end, or somebody who made it go on, makes the
 * copy worthless. */
static int
copy_still(struct commit *c, int to, struct err *e)
{
	struct err held = ERR_INIT;

	if (hold_freeze(&c->hold, e) != 0)
		return -1;
	int rc = copy_tree(c, to, e);
	if ((rc == 0 || e->kind == ERR_GONE_AWAY) && !left(c->ctx) &&
	    hold_check(&c->hold, &held) != 0) {
		*e = held;
		rc = -1;
	}
	hold_thaw(&c->hold);
	return rc;
}

static int
copy(struct commit *c, struct err *e)
{
	int to;

	if (cache_begin(c->ctx->config, c->made.repo, c->gen, &to, e) != 0)
		return -1;
	int rc = copy_still(c, to, e);
	if (rc == 0)
		rc = lock_hash(to, &c->made.lock, e);
	fd_close(&to);
	return rc;
}

/* -- publishing ------------------------------------------------------------ */

static int
lock_repo(struct commit *c, int *ret_lock, struct err *e)
{
	int64_t deadline = clock_mono_ms() + LOCK_MS;

	do {
		keep(c);
		if (left(c->ctx))
			return err_set(e, ERR_GONE_AWAY, "the client left");
		if (cache_lock(c->ctx->config, c->made.repo, LOCK_TRY_MS,
			ret_lock, e) == 0)
			return 0;
	} while (e->kind == ERR_BUSY && clock_left(deadline) > 0);
	return -1;
}

/* On disk first: that is what counts, and Redis is told again where it was not
 * told now. */
static int
publish(struct commit *c, struct err *e)
{
	int lock = -1;

	if (lock_repo(c, &lock, e) != 0)
		return -1;
	int rc = cache_publish(c->ctx->config, &c->made, e);
	if (rc == 0)
		rc = warm_teach(c->ctx, &c->made, e);
	cache_unlock(lock);
	return rc;
}

static int
commit(struct commit *c, struct err *e)
{
	struct err ignored = ERR_INIT;
	struct redis *r = c->ctx->redis;

	if (warm_committing(r, c->made.repo, c->gen, e) != 0)
		return -1;
	c->kept = clock_mono_ms();
	int rc = copy(c, e) == 0 ? publish(c, e) : -1;
	if (rc != 0)
		cache_abandon(c->ctx->config, c->made.repo, c->gen);
	(void)warm_unpin(r, c->made.repo, c->gen, "commit", &ignored);
	return rc;
}

int
warm_commit(const struct run_ctx *ctx, struct run *run, const char *repo,
    struct cache_manifest *ret_manifest, struct err *e)
{
	struct commit c = {.ctx = ctx, .run = run};

	if (warm_check(ctx, run, e) != 0 || cache_setup(ctx->config, e) != 0 ||
	    new_gen(ctx->redis, c.gen, &c.made.created_ms, e) != 0 ||
	    hold_take(ctx, run, "warm-commit", &c.hold, e) != 0)
		return -1;
	c.made.used_ms = c.made.created_ms;
	memcpy(c.made.gen, c.gen, sizeof(c.gen));
	(void)snprintf(c.made.repo, sizeof(c.made.repo), "%s",
	    *repo != '\0' ? repo : run->warm_repo);
	int rc = commit(&c, e);
	hold_release(&c.hold);
	if (rc == 0)
		*ret_manifest = c.made;
	return rc;
}

/* -- templates ------------------------------------------------------------- */

int
warm_template(const struct config *config, const char *repo,
    struct cache_manifest *ret_manifest, struct err *e)
{
	if (cache_current(config, repo, ret_manifest, e) == 0)
		return 0;
	if (e->kind != ERR_ABSENT)
		return -1;
	return err_set(e, ERR_ABSENT,
	    "There is no template of %s; a warm-commit of a run makes one.",
	    repo);
}

/* Redis first: it knows whether a commit is on its way. Until the disk follows,
 * who boots waits for the lock to hear what counts. */
static int
drop(const struct run_ctx *ctx, const char *repo, struct err *e)
{
	if (warm_drop(ctx->redis, repo, e) != 0 && e->kind != ERR_ABSENT)
		return -1;
	return cache_drop(ctx->config, repo, e);
}

int
warm_drop_template(const struct run_ctx *ctx, const char *repo, struct err *e)
{
	struct cache_manifest current;
	int lock;

	if (warm_template(ctx->config, repo, &current, e) != 0)
		return -1;
	if (cache_lock(ctx->config, repo, DROP_LOCK_MS, &lock, e) != 0) {
		if (e->kind != ERR_BUSY)
			return -1;
		return err_set(e, ERR_CONFLICT,
		    "A template of %s is being published; try again when "
		    "that is done.",
		    repo);
	}
	int rc = drop(ctx, repo, e);
	cache_unlock(lock);
	return rc;
}
