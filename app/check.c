/* The checks of sbx-app --check, one function each. */
#include "check.h"
#include "docker/info.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/cache.h"
#include "store/redis.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define ENGINE_MS 5000
#define FREE_LOW_GB 5

struct check {
	const struct config *config;
	int faults;
};

enum verdict { OK, NOTE, FAULT };

/* remedy is NULL where there is nothing to do. */
static void say(struct check *k, enum verdict v, const char *what,
    const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

static void
say(struct check *k, enum verdict v, const char *what, const char *remedy,
    const char *fmt, ...)
{
	static const char *const word[] = {"ok", "note", "FAULT"};
	va_list ap;

	(void)printf("%-5s  %-10s  ", word[v], what);
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	(void)putchar('\n');
	if (remedy != NULL && v != OK)
		(void)printf("%-19s%s\n", "", remedy);
	k->faults += v == FAULT;
}

/* -- files ----------------------------------------------------------------- */

static void
check_token(struct check *k)
{
	const char *path = k->config->token_file;
	struct stat st;

	if (stat(path, &st) != 0) {
		say(k, errno == ENOENT ? NOTE : FAULT, "token",
		    "`teploy-sandbox token mint` makes it, and so does serve",
		    "%s: %s", path, strerror(errno));
		return;
	}
	if ((st.st_mode & 077) != 0)
		say(k, FAULT, "token", "chmod 600 it, and rotate the token",
		    "%s can be read by others", path);
	else if (st.st_size < 16)
		say(k, FAULT, "token",
		    "put a token of 16 characters or more in it, a line each",
		    "%s holds no token worth the name", path);
	else
		say(k, OK, "token", NULL, "in %s", path);
}

static void
check_run_dir(struct check *k)
{
	const char *path = k->config->run_dir;
	struct statfs fs;

	if (statfs(path, &fs) != 0)
		say(k, errno == ENOENT ? NOTE : FAULT, "run dir",
		    "serve, or the units, make it", "%s: %s", path,
		    strerror(errno));
	else if (fs.f_type != TMPFS_MAGIC)
		say(k, NOTE, "run dir",
		    "mount a tmpfs there, or set SBX_RUN_DIR to a directory on "
		    "one",
		    "%s is not on a tmpfs: env values would reach a disk",
		    path);
	else
		say(k, OK, "run dir", NULL, "%s", path);
}

static void
check_program(
    struct check *k, const char *what, const char *path, const char *variable)
{
	char remedy[256];

	(void)snprintf(remedy, sizeof(remedy),
	    "build it (`make`), or set %s to where it is", variable);
	if (access(path, X_OK) == 0)
		say(k, OK, what, NULL, "%s", path);
	else
		say(k, FAULT, what, remedy, "%s: %s", path, strerror(errno));
}

/* -- Redis ----------------------------------------------------------------- */

/* A setting of Redis, "" where it does not tell (it may be renamed away). */
static void
redis_setting(struct redis *r, const char *name, char to[64])
{
	const char *const argv[] = {"CONFIG", "GET", name};
	struct err ignored = ERR_INIT;
	struct redisReply *reply = redis_command(r, 3, argv, NULL, &ignored);
	const char *text = reply_text(reply_at(reply, 1));

	(void)snprintf(to, 64, "%s", text != NULL ? text : "");
	redis_reply_free(reply);
}

static void
check_redis(struct check *k)
{
	struct err e = ERR_INIT;
	char policy[64], append[64];
	struct redis *r = redis_new(k->config->redis_url, &e);

	if (r == NULL || redis_ping(r, &e) != 0) {
		say(k, FAULT, "redis",
		    "start it (serve and sbx-redis.service do), or set "
		    "SBX_REDIS_URL to where it is",
		    "%s", e.text);
		redis_free(r);
		return;
	}
	redis_setting(r, "maxmemory-policy", policy);
	redis_setting(r, "appendonly", append);
	redis_free(r);
	say(k, OK, "redis", NULL, "answers");
	if (*policy != '\0' && !str_eq(policy, "noeviction"))
		say(k, FAULT, "redis", "set maxmemory-policy noeviction",
		    "it may evict what it holds (%s): runs would be lost",
		    policy);
	if (str_eq(append, "no"))
		say(k, NOTE, "redis", "set appendonly yes",
		    "it does not write what it is told to disk: leases and "
		    "deadlines are lost with it");
}

/* -- Docker ---------------------------------------------------------------- */

static void
check_limits(struct check *k, const struct engine_info *info)
{
	static const char remedy[] =
	    "enable that cgroup controller in the kernel, or at its boot";

	if (!info->limits_memory)
		say(k, FAULT, "memory", remedy, "cannot be limited");
	else if (!info->limits_swap)
		say(k, NOTE, "swap", "boot with swapaccount=1, or without swap",
		    "is not counted: a run may use some beside its memory");
	if (!info->limits_pids)
		say(k, FAULT, "processes", remedy, "cannot be limited");
	if (!info->limits_cpu)
		say(k, FAULT, "cpus", remedy, "cannot be limited");
}

static void
check_isolation(struct check *k, const struct engine_info *info)
{
	const char *runtime = k->config->runtime;

	if (info->rootless)
		say(k, FAULT, "docker", "use an engine that root runs",
		    "it is rootless, which is not supported");
	if (info->userns_remap)
		say(k, FAULT, "docker", "run dockerd without --userns-remap",
		    "it remaps users, which is not supported");
	if (!info->has_runtime)
		say(k, FAULT, "runtime",
		    "register it in /etc/docker/daemon.json, or correct "
		    "SBX_RUNTIME",
		    "Docker knows no runtime %s", runtime);
	else
		say(k, OK, "runtime", NULL, "%s",
		    *runtime != '\0' ? runtime : info->runtime);
	if (strstr(runtime, "runsc") != NULL)
		say(k, NOTE, "gvisor",
		    "register it with --host-uds=all (faster execs) and "
		    "--overlay2=none (snapshots)",
		    "what it can do depends on how it is registered");
}

static void
check_docker(struct check *k)
{
	struct engine *en = engine_new(k->config->docker_socket);
	struct err e = ERR_INIT;
	struct engine_info info;
	const char *version = engine_version(en, ENGINE_MS, &e);

	if (version == NULL ||
	    engine_info(en, k->config->runtime, &info, &e) != 0) {
		say(k, FAULT, "docker",
		    "start it (apt-get install docker.io), or set "
		    "SBX_DOCKER_SOCKET to its socket",
		    "%s", e.text);
		engine_free(en);
		return;
	}
	say(k, OK, "docker", NULL, "%s, API %s, storage %s, cgroup v%s, on %s",
	    info.version, engine_version(en, ENGINE_MS, &e), info.driver,
	    *info.cgroup != '\0' ? info.cgroup : "1", k->config->docker_socket);
	engine_free(en);
	check_limits(k, &info);
	check_isolation(k, &info);
}

/* -- the cache, the network ------------------------------------------------ */

static void
check_space(struct check *k, const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) != 0)
		return;
	double gb = (double)fs.f_bavail * (double)fs.f_bsize / (1 << 30);
	if (gb < FREE_LOW_GB)
		say(k, NOTE, "disk", "free some, or move SBX_CACHE_ROOT",
		    "%.1f GiB are free under %s", gb, path);
	else
		say(k, OK, "disk", NULL, "%.0f GiB are free under %s", gb,
		    path);
}

static void
check_cache(struct check *k)
{
	const char *root = k->config->cache_root;
	struct err e = ERR_INIT;

	if (!cache_on(k->config)) {
		say(k, NOTE, "cache", "set SBX_CACHE_ROOT",
		    "is off: runs cannot be warm");
		return;
	}
	if (cache_setup(k->config, &e) != 0) {
		say(k, FAULT, "cache",
		    "let root write there, or move SBX_CACHE_ROOT", "%s",
		    e.text);
		return;
	}
	if (cache_overlay(k->config))
		say(k, OK, "cache", NULL, "%s, by overlays", root);
	else
		say(k, NOTE, "cache",
		    "move SBX_CACHE_ROOT to ext4, xfs or btrfs",
		    "no overlay works on %s: each warm boot copies the tree",
		    root);
	check_space(k, root);
}

static void
check_names(struct check *k)
{
	const char *path = k->config->egress_resolv;

	if (access(path, R_OK) == 0)
		say(k, OK, "names", NULL, "proxies ask the servers in %s",
		    path);
	else
		say(k, FAULT, "names",
		    "set SBX_EGRESS_RESOLV to a file with name servers",
		    "%s: %s; allowlist runs would reach nothing", path,
		    strerror(errno));
}

/* A slip of the pen, most likely. */
static void
check_unknown(struct check *k)
{
	char name[CONFIG_NAME], remedy[128];
	const char *meant;
	size_t at = 0;

	while (config_unknown(&at, name, &meant)) {
		(void)snprintf(remedy, sizeof(remedy), "%s%s",
		    meant != NULL ? "perhaps this is meant: "
				  : "sbx-app --help lists those that have",
		    meant != NULL ? meant : "");
		say(k, NOTE, "settings", remedy, "%s has no effect", name);
	}
}

int
check_run(const struct config *config)
{
	struct check k = {config, 0};

	say(&k, OK, "settings", NULL, "make sense");
	check_unknown(&k);
	if (geteuid() != 0)
		say(&k, NOTE, "user", "run this as root",
		    "not root: what follows may not be what workers see");
	check_token(&k);
	check_run_dir(&k);
	check_program(&k, "sbx-init", config->init, "SBX_INIT");
	check_program(&k, "sbx-proxy", config->proxy, "SBX_PROXY");
	check_redis(&k);
	check_docker(&k);
	check_cache(&k);
	check_names(&k);
	return k.faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
