/* What a stack leaves behind. */
#include "left.h"
#include "../check.h"
#include "left_cache.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "outside.h"
#include "proc.h"
#include "stack.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETTLE_MS 15000 /* for what ends or is removed a moment later */

extern char **environ;

/* Objects of Docker that carry the instance's label; list is the member of the
 * answer that holds them, NULL where it is the answer. */
static size_t
labelled(const char *path, const char *list, struct buf *names)
{
	bool images = str_starts(path, "/images");
	char url[256];

	/* Of images only those that are not parts of others. */
	(void)snprintf(url, sizeof(url),
	    "%s?all=%d&filters=%%7B%%22label%%22%%3A%%5B%%22"
	    "teploy.sandbox.%sinstance%%3D%s%%22%%5D%%7D",
	    path, !images, images ? "snapshot." : "", stack.instance);
	REPLY_AUTO r = docker_do("GET", url, NULL);
	json_t *all = list != NULL ? json_object_get(r.json, list) : r.json;
	json_t *one;
	size_t i;

	json_array_foreach(all, i, one)
	{
		const json_t *id = json_object_get(one, "Id");

		if (id == NULL)
			id = json_object_get(one, "Name");
		buf_addf(names, "%s ", json_string_value(id));
	}
	return json_array_size(all);
}

/* Docker 20.10 to 23 does not let go of a volume once it restarted under a
 * container that has it (live-restore). Removes what it does let go of. */
static bool
engine_keeps(const char *path, const char *name)
{
	char url[160];

	(void)snprintf(url, sizeof(url), "%s/%s", path, name);
	REPLY_AUTO r = docker_do("DELETE", url, NULL);
	return r.body.size > 0 && strstr(r.body.data, "active mounts") != NULL;
}

/* Up to SETTLE_MS for the objects of one sort to be gone. */
static void
check_docker(const char *path, const char *list, struct buf *faults)
{
	int64_t deadline = clock_mono_ms() + SETTLE_MS;
	BUF_AUTO names = BUF_INIT(65536);

	while (labelled(path, list, &names) > 0) {
		if (clock_mono_ms() > deadline)
			break;
		buf_reset(&names);
		(void)poll(NULL, 0, 50);
	}
	if (names.size == 0)
		return;
	for (char *save, *id = strtok_r(names.data, " ", &save); id != NULL;
	     id = strtok_r(NULL, " ", &save))
		if (!engine_keeps(path, id))
			buf_addf(faults, "left in %s: %s\n", path, id);
}

static void
check_run_dirs(struct buf *faults)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/runs", stack.run_dir);
	DIR *d = opendir(path);
	if (d == NULL) {
		buf_addf(faults, "there is no %s\n", path);
		return;
	}
	for (struct dirent *at; (at = readdir(d)) != NULL;)
		if (*at->d_name != '.')
			buf_addf(faults, "left: %s/%s\n", path, at->d_name);
	closedir(d);
}

/* Templates are looked at with the cache. */
static bool
may_last(const char *key)
{
	static const char *const lasting[] = {
	    "sbx:counters", "sbx:schema", "sbx:warms"};

	for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
		if (str_eq(key, lasting[i]))
			return true;
	return str_starts(key, "sbx:warm:");
}

/* Every key that outlives the runs has an expiry. */
static void
check_redis(struct buf *faults)
{
	if (!redis_answers()) {
		buf_addf(faults, "Redis does not answer\n");
		return;
	}
	redisReply *keys = redis_do("KEYS *");
	for (size_t i = 0; i < keys->elements; i++) {
		redisReply *ttl = redis_do("PTTL %s", keys->element[i]->str);

		if (ttl->integer == -1 && !may_last(keys->element[i]->str))
			buf_addf(faults, "left in Redis, for ever: %s\n",
			    keys->element[i]->str);
		freeReplyObject(ttl);
	}
	freeReplyObject(keys);
}

/* Processes of the stack in that state ('Z'), or alive where 0. */
static size_t
descendants(char state, struct buf *names)
{
	static struct proc all[PROC_MOST];
	size_t count = proc_all(all), found = 0;

	for (size_t i = 0; i < count; i++) {
		const struct proc *p = &all[i];

		if (p->pid == getpid() || p->parent == 0 ||
		    (state == 'Z') != (p->state == 'Z') ||
		    (state == 'Z' && p->parent == getpid()) ||
		    !proc_descends(all, count, p->pid, getpid()))
			continue;
		found++;
		buf_addf(
		    names, "%s (pid %d, %c) ", p->name, (int)p->pid, p->state);
	}
	return found;
}

/* Processes that name our directories, descendants or not. */
static size_t
namesakes(struct buf *names)
{
	static struct proc all[PROC_MOST];
	size_t count = proc_all(all), found = 0;

	for (size_t i = 0; i < count; i++) {
		const struct proc *p = &all[i];

		if (p->pid == getpid() || p->state == 'Z' ||
		    (!proc_has(p->pid, "cmdline", stack.base) &&
			!proc_has(p->pid, "environ", stack.base)))
			continue;
		found++;
		buf_addf(names, "%s (pid %d) ", p->name, (int)p->pid);
	}
	return found;
}

/* Of either sort; orphans that have ended are ours to reap. */
static size_t
running(struct buf *names)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return descendants(0, names) + namesakes(names);
}

static void
check_zombies(struct buf *faults)
{
	int64_t deadline = clock_mono_ms() + SETTLE_MS;
	BUF_AUTO names = BUF_INIT(65536);

	while (descendants('Z', &names) > 0) {
		if (clock_mono_ms() > deadline) {
			buf_addf(faults, "zombies: %s\n", names.data);
			return;
		}
		buf_reset(&names);
		(void)poll(NULL, 0, 50);
	}
}

void
left_before_stop(struct buf *faults)
{
	check_docker("/containers/json", NULL, faults);
	check_docker("/volumes", "Volumes", faults);
	check_docker("/images/json", NULL, faults);
	check_docker("/networks", NULL, faults);
	check_run_dirs(faults);
	left_cache(faults);
	check_redis(faults);
	check_zombies(faults);
}

static void
check_mounts(struct buf *faults)
{
	struct err e = ERR_INIT;
	char *mounts = fd_read_file("/proc/self/mountinfo", 1 << 20, NULL, &e);

	if (mounts == NULL || strstr(mounts, stack.base) != NULL)
		buf_addf(faults, "a mount is left in %s\n", stack.base);
	free(mounts);
}

void
left_after_stop(struct buf *faults)
{
	int64_t deadline = clock_mono_ms() + SETTLE_MS;
	BUF_AUTO names = BUF_INIT(65536);

	while (running(&names) > 0) {
		if (clock_mono_ms() > deadline) {
			buf_addf(faults, "left running: %s\n", names.data);
			break;
		}
		buf_reset(&names);
		(void)poll(NULL, 0, 50);
	}
	check_mounts(faults);
}

static void
run_tool(char *const *argv)
{
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0)
		(void)waitpid(pid, NULL, 0);
}

/* What a failed test left of one sort; query: how it is removed by force. */
static void
remove_objects(
    const char *list, const char *member, const char *path, const char *query)
{
	BUF_AUTO names = BUF_INIT(65536);
	char url[160];

	(void)labelled(list, member, &names);
	for (char *save, *id = strtok_r(names.data, " ", &save); id != NULL;
	     id = strtok_r(NULL, " ", &save)) {
		(void)snprintf(url, sizeof(url), "%s/%s%s", path, id, query);
		REPLY_AUTO r = docker_do("DELETE", url, NULL);
		if (r.status != 204 && r.status != 200 && r.status != 404)
			fprintf(stderr, "cannot remove %s\n", id);
	}
}

static void
kill_descendants(void)
{
	static struct proc all[PROC_MOST];
	size_t count = proc_all(all);

	for (size_t i = 0; i < count; i++)
		if (all[i].pid != getpid() &&
		    proc_descends(all, count, all[i].pid, getpid()))
			(void)kill(all[i].pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

void
left_clean(void)
{
	const char *build = getenv("SBX_TEST_BUILD");
	char from[128], out[128], to[512];
	char *make[] = {"mkdir", "-p", to, NULL};
	char *copy[] = {"cp", "-r", from, out, to, NULL};
	char *erase[] = {"rm", "-rf", stack.base, NULL};

	remove_objects("/containers/json", NULL, "/containers", "?force=1&v=1");
	remove_objects("/volumes", "Volumes", "/volumes", "");
	remove_objects("/images/json", NULL, "/images", "?force=1");
	remove_objects("/networks", NULL, "/networks", "");
	kill_descendants();
	(void)snprintf(from, sizeof(from), "%s/log", stack.state_dir);
	(void)snprintf(out, sizeof(out), "%s/serve.out", stack.base);
	(void)snprintf(to, sizeof(to), "%s/test-logs/stack-%s",
	    build != NULL ? build : "build", program_invocation_short_name);
	run_tool(make);
	run_tool(copy);
	if (getenv("SBX_TEST_KEEP") == NULL)
		run_tool(erase);
	stack.base[0] = '\0'; /* there is no stack any more */
}
