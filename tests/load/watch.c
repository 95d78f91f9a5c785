/* Memory, descriptors and time of the stack's processes. */
#include "watch.h"
#include "../e2e/harness.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 96 /* processes of a kind */

struct watch {
	pid_t master[WATCHED]; /* workers are children of theirs */
	_Atomic int64_t most_kb[WATCHED];
	atomic_bool over;
	pthread_t thread;
};

/* A file of /proc, "" where the process is gone. */
static char *
read_proc(int pid, const char *name)
{
	char path[64];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	char *text = fd_read_file(path, 1 << 20, NULL, &e);
	return text != NULL ? text : mem_strndup("", 0);
}

int64_t
watch_pss_kb(int pid)
{
	char *text = read_proc(pid, "smaps_rollup");
	const char *pss = strstr(text, "\nPss:");
	int64_t kb = pss != NULL ? strtoll(pss + 5, NULL, 10) : 0;

	free(text);
	return kb;
}

static int64_t
cpu_ms(int pid)
{
	char *text = read_proc(pid, "stat");
	const char *at = strrchr(text, ')');
	unsigned long user = 0, kernel = 0;

	if (at != NULL)
		(void)sscanf(at,
		    ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		    &user, &kernel);
	free(text);
	return (int64_t)(user + kernel) * 1000 / sysconf(_SC_CLK_TCK);
}

/* Linux 6.2 and later tell it as the directory's size. */
static int64_t
count_files(int pid)
{
	char path[64];
	struct stat st;
	int64_t count = -2; /* . and .. */

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	if (stat(path, &st) != 0)
		return 0;
	if (st.st_size > 0)
		return st.st_size;
	DIR *d = opendir(path);
	while (d != NULL && readdir(d) != NULL)
		count++;
	if (d != NULL)
		(void)closedir(d);
	return count > 0 ? count : 0;
}

size_t
watch_children(int pid, int *to, size_t most)
{
	char name[32];
	size_t count = 0;

	(void)snprintf(name, sizeof(name), "task/%d/children", pid);
	char *text = read_proc(pid, name);
	char *at = text, *end;
	while (count < most) {
		long child = strtol(at, &end, 10);

		if (end == at)
			break;
		to[count++] = (int)child;
		at = end;
	}
	free(text);
	return count;
}

struct watch_sample
watch_now(const struct watch *w)
{
	struct watch_sample s = {.processes = {0}};

	for (int kind = 0; kind < WATCHED; kind++) {
		int pid[MOST + 1] = {(int)w->master[kind]};
		size_t count = 1 + watch_children(pid[0], pid + 1, MOST);

		for (size_t i = 0; i < count; i++) {
			int64_t kb = watch_pss_kb(pid[i]);

			s.processes[kind] += kb > 0;
			s.kb[kind] += kb;
			s.files[kind] += count_files(pid[i]);
			s.cpu_ms[kind] += cpu_ms(pid[i]);
		}
	}
	return s;
}

int64_t
watch_most_kb(const struct watch *w, enum watched kind)
{
	return w->most_kb[kind];
}

static void *
look(void *arg)
{
	struct watch *w = arg;

	while (!w->over) {
		struct watch_sample s = watch_now(w);

		for (int kind = 0; kind < WATCHED; kind++)
			if (s.kb[kind] > w->most_kb[kind])
				w->most_kb[kind] = s.kb[kind];
		(void)poll(NULL, 0, 1000);
	}
	return NULL;
}

struct watch *
watch_start(void)
{
	static const enum stack_kind kinds[WATCHED] = {
	    [WATCH_WORKERS] = STACK_MASTER,
	    [WATCH_NGINX] = STACK_NGINX,
	    [WATCH_REDIS] = STACK_REDIS,
	};
	struct watch *w = mem_zalloc(sizeof(*w));

	for (int kind = 0; kind < WATCHED; kind++)
		assert_int_equal(
		    stack_pids(kinds[kind], &w->master[kind], 1), 1);
	assert_int_equal(pthread_create(&w->thread, NULL, look, w), 0);
	return w;
}

void
watch_stop(struct watch *w)
{
	w->over = true;
	(void)pthread_join(w->thread, NULL);
	free(w);
}
