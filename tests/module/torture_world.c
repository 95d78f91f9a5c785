/* Redis, engine, worker and reaper of torture. */
#include "torture_world.h"
#include "../wait.h"
#include "config.h"
#include "docker/engine.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "redis_fixture.h"
#include "run/place.h"

#include "../../reaper/sweep.h"
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 20000
#define AGE_MS 120000

struct world world;

static struct redis_fixture fixture;
static struct fake *safe, *failing; /* engines; both the model */
static redisContext *db;
static pid_t worker;
static struct config config[2]; /* of what is safe, and of what may fail */

/* -- start and end -------------------------------------------------------- */

static void
set(const char *name, const char *value, const char *tail)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "%s%s", value, tail);
	(void)setenv(name, text, 1);
}

static void
put_file(const char *name, const char *text)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s%s", world.dir, name);
	check_ok(fd_write_file(path, 0600, text, strlen(text), &e), &e);
}

static void
put_directory(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s%s", world.dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* A model mounts nothing: volumes are copies here (run/cache_overlay.c). */
static void
put_cache(void)
{
	struct utsname kernel;
	char text[160];

	assert_int_equal(uname(&kernel), 0);
	(void)snprintf(
	    text, sizeof(text), "fails on Linux %s\n", kernel.release);
	put_directory("/cache");
	put_file("/cache/overlay", text);
}

/* The environment of what may fail, or may not. */
static void
configure(bool fails)
{
	struct err e = ERR_INIT;

	set("SBX_REDIS_URL", fails ? redis_proxy_url(world.proxy) : fixture.url,
	    "");
	set("SBX_DOCKER_SOCKET", fake_socket(fails ? failing : safe), "");
	check_ok(config_read(&config[fails], &e), &e);
}

static void
exec_worker(void)
{
	const char *build = getenv("SBX_TEST_BUILD");
	char path[512], log[96];

	(void)snprintf(
	    path, sizeof(path), "%s/sbx-app", build != NULL ? build : "build");
	(void)snprintf(log, sizeof(log), "%s/log", world.dir);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	(void)dup2(fd, STDERR_FILENO);
	(void)execl(path, path, "--pool", "stream", (char *)NULL);
	_exit(127);
}

static bool
listens(void)
{
	struct err e = ERR_INIT;
	FD_AUTO fd = fd_connect_unix(world.socket, 100, &e);

	return fd >= 0;
}

int
world_open(void **state)
{
	struct err e = ERR_INIT;
	char program[PATH_MAX];

	(void)state;
	redis_fixture_open(&fixture);
	(void)snprintf(
	    world.dir, sizeof(world.dir), "/dev/shm/sbx-torture-XXXXXX");
	assert_non_null(mkdtemp(world.dir));
	put_directory("/run");
	put_directory("/run/runs");
	put_directory("/state");
	put_cache();
	put_file("/state/instance", WORLD_INSTANCE "\n");
	put_file("/token", WORLD_TOKEN "\n");
	(void)snprintf(world.socket, sizeof(world.socket), "%s/run/stream.sock",
	    world.dir);
	world.proxy = redis_proxy_new(fixture.url + strlen("unix://"));
	world.model = model_new();
	safe = fake_new();
	failing = fake_new();
	model_serve(world.model, safe, false);
	model_serve(world.model, failing, true);
	db = redisConnectUnix(fixture.url + strlen("unix://"));
	assert_true(db != NULL && db->err == 0);
	set("SBX_RUN_DIR", world.dir, "/run");
	set("SBX_STATE_DIR", world.dir, "/state");
	set("SBX_TOKEN_FILE", world.dir, "/token");
	set("SBX_CACHE_ROOT", world.dir, "/cache");
	set("SBX_CACHE_MAX_GB", "1", "");
	set("SBX_DISK_MIN_FREE_GB", "0", "");
	set("SBX_SERVER", "box", "");
	set("SBX_STREAM_THREADS", "4", "");
	set("SBX_GUEST", "exec", ""); /* no socket leads into a model */
	assert_non_null(realpath("tests/fake/proxy", program));
	(void)setenv("SBX_PROXY", program, 1);
	set("SBX_EGRESS_START", "spawn", "");
	set("SBX_EGRESS_MODE", "bridge", ""); /* so that networks are made */
	check_ok(engine_setup(&e), &e);
	configure(false);
	configure(true); /* and so is the worker, by its environment */
	worker = fork();
	assert_true(worker >= 0);
	if (worker == 0)
		exec_worker();
	wait_until(listens(), START_MS);
	return 0;
}

static int
remove_entry(
    const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

int
world_close(void **state)
{
	int status = 0;

	(void)state;
	(void)kill(worker, SIGTERM);
	assert_int_equal(waitpid(worker, &status, 0), worker);
	redisFree(db);
	fake_free(safe);
	fake_free(failing);
	model_free(world.model);
	redis_proxy_free(world.proxy);
	redis_fixture_close(&fixture);
	(void)nftw(world.dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}

/* -- the reaper ----------------------------------------------------------- */

typedef int (*sweep_open)(struct sweeper *s, struct err *e);
typedef int (*sweep_round)(
    struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e);
typedef void (*sweep_close)(struct sweeper *s);

static void
sweep_once(
    struct sweeper *s, sweep_open start, sweep_round round, sweep_close end)
{
	int64_t wait_ms = 1000;
	struct err e = ERR_INIT;

	if (start != NULL)
		check_ok(start(s, &e), &e);
	/* What fails here is made to; what comes of it is looked at. */
	(void)round(s, clock_mono_ms() + 20000, &wait_ms, &e);
	if (end != NULL)
		end(s);
}

/* A reaper's thread, with the ways of the test or with those that may fail. */
static struct sweeper
sweeper_open(bool fails, int stop_fd)
{
	struct err e = ERR_INIT;
	struct sweeper s = {
	    .ctx = {.config = &config[fails],
		.instance = WORLD_INSTANCE,
		.redis = redis_new(config[fails].redis_url, &e),
		.engine = engine_new(config[fails].docker_socket)},
	    .arena = ARENA_INIT,
	    .stop_fd = stop_fd,
	    .wake_fd = -1,
	};

	assert_non_null(s.ctx.redis);
	return s;
}

static void
sweeper_close(struct sweeper *s)
{
	redis_free(s->ctx.redis);
	engine_free(s->ctx.engine);
	arena_release(&s->arena);
}

static void
tick(bool runs_fail, bool cache_fails)
{
	int pipe_fd[2];

	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	struct sweeper s = sweeper_open(runs_fail, pipe_fd[0]);
	sweep_once(&s, expire_open, expire_round, expire_close);
	sweep_once(&s, reconcile_open, reconcile_round, reconcile_close);
	sweep_once(&s, NULL, proxies_round, NULL);
	sweeper_close(&s);
	s = sweeper_open(cache_fails, pipe_fd[0]);
	sweep_once(&s, cache_sweep_open, cache_sweep_round, cache_sweep_close);
	sweep_once(&s, disk_open, disk_round, disk_close);
	sweeper_close(&s);
	fd_close(&pipe_fd[0]);
	fd_close(&pipe_fd[1]);
}

void
world_tick(bool fails)
{
	tick(fails, false);
}

void
world_tick_cache(void)
{
	tick(false, true);
}

/* -- Redis ---------------------------------------------------------------- */

static redisReply *
do_valist(const char *format, va_list ap)
{
	redisReply *reply = redisvCommand(db, format, ap);

	assert_non_null(reply);
	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("Redis: %s", reply->str);
	return reply;
}

redisReply *
world_do(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	redisReply *reply = do_valist(format, ap);
	va_end(ap);
	return reply;
}

int64_t
world_number(const char *format, ...)
{
	va_list ap;
	int64_t number = 0;

	va_start(ap, format);
	redisReply *reply = do_valist(format, ap);
	va_end(ap);
	if (reply->type == REDIS_REPLY_INTEGER)
		number = reply->integer;
	else if (reply->str != NULL)
		(void)str_to_int(reply->str, INT64_MIN, INT64_MAX, &number);
	freeReplyObject(reply);
	return number;
}

const char *
world_text(const char *format, ...)
{
	static char text[512];
	va_list ap;

	va_start(ap, format);
	redisReply *reply = do_valist(format, ap);
	va_end(ap);
	(void)snprintf(
	    text, sizeof(text), "%s", reply->str != NULL ? reply->str : "");
	freeReplyObject(reply);
	return text;
}

/* -- time ----------------------------------------------------------------- */

static const char age_script[] =
    "local ms = ARGV[1] "
    "for _, key in ipairs(redis.call('KEYS', 'sbx:run:*')) do "
    "  local id = string.sub(key, 9) "
    "  local state = redis.call('HGET', key, 'state') "
    "  if state == 'creating' or state == 'destroying' then "
    "    redis.call('ZINCRBY', 'sbx:runs', -ms, id) "
    "  end "
    "  for _, mark in ipairs({'leaseWaiterUntil', 'holdUntil'}) do "
    "    if redis.call('HEXISTS', key, mark) == 1 then "
    "      redis.call('HINCRBY', key, mark, -ms) "
    "    end "
    "  end "
    "end "
    "for _, key in ipairs(redis.call('KEYS', 'sbx:warm-pins:*')) do "
    "  for _, pin in ipairs(redis.call('ZRANGE', key, 0, -1)) do "
    "    redis.call('ZINCRBY', key, -ms, pin) "
    "  end "
    "end "
    "for _, key in ipairs(redis.call('KEYS', 'sbx:inflight:*')) do "
    "  for _, op in ipairs(redis.call('ZRANGE', key, 0, -1)) do "
    "    redis.call('ZINCRBY', key, -ms, op) "
    "  end "
    "end "
    "for _, key in ipairs(redis.call('KEYS', 'sbx:idem:*')) do "
    "  if redis.call('PTTL', key) < tonumber(ms) then "
    "    redis.call('DEL', key) "
    "  end "
    "end "
    "return 0";

static int
age_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};

	(void)type, (void)where;
	times[1].tv_sec -= AGE_MS / 1000;
	return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

void
world_age(void)
{
	char path[128];

	model_age(world.model, AGE_MS);
	freeReplyObject(world_do("EVAL %s 0 %d", age_script, AGE_MS));
	(void)snprintf(path, sizeof(path), "%s/run/runs", world.dir);
	(void)nftw(path, age_entry, 8, FTW_PHYS);
	(void)snprintf(path, sizeof(path), "%s/cache", world.dir);
	(void)nftw(path, age_entry, 8, FTW_PHYS);
}
