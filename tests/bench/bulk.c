/* What benches of large trees have in common. */
#include "bulk.h"
#include "../e2e/templates.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "spawned.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DIRS 300
#define FILES 100 /* in each */
#define BYTES 35800
#define KEPT 32 /* runs, images */
#define NEEDS_GIB 20

struct bulk bulk;

static struct kept {
	char name[KEPT][80];
	size_t count;
} runs, images;

double
bulk_since(int64_t start_us)
{
	return (double)(clock_mono_us() - start_us) / 1000;
}

void
bulk_row(const char *measure, const struct contender *ours,
    const struct contender *beside, double times, const char *name)
{
	struct row row = {"", "", "", "", NO_GOAL};
	double a = samples_at(&ours->ms, 0.5), b = samples_at(&beside->ms, 0.5);

	(void)snprintf(row.ours, sizeof(row.ours), "%.0f ms", a);
	(void)snprintf(row.beside, sizeof(row.beside), "%s %.0f ms", name, b);
	row_judge(&row, a, b, times, name);
	row_add(measure, &row);
}

/* -- what is kept ---------------------------------------------------------- */

static void
keep(struct kept *k, const char *name)
{
	assert_true(k->count < KEPT);
	(void)snprintf(k->name[k->count++], sizeof(k->name[0]), "%s", name);
}

void
bulk_keep_run(const char *id)
{
	keep(&runs, id);
}

void
bulk_keep_image(const char *image)
{
	keep(&images, image);
}

static void
drop_all(void)
{
	char path[200];

	while (runs.count > 0)
		run_end(runs.name[--runs.count]);
	while (images.count > 0) {
		(void)snprintf(path, sizeof(path), "/images/%s",
		    images.name[--images.count]);
		REPLY_AUTO r = docker_do("DELETE", path, NULL);
		assert_int_equal(r.status, 200);
	}
}

/* -- the tree -------------------------------------------------------------- */

void
bulk_tree(const char *to, int dirs)
{
	char path[200], *bytes = mem_alloc(BYTES);
	struct err e = ERR_INIT;

	assert_int_equal(mkdir(to, 0755), 0);
	memset(bytes, 'x', BYTES);
	for (int d = 0; d < dirs; d++) {
		(void)snprintf(path, sizeof(path), "%s/%d", to, d);
		assert_int_equal(mkdir(path, 0755), 0);
		for (int f = 0; f < FILES; f++) {
			(void)snprintf(
			    path, sizeof(path), "%s/%d/%d", to, d, f);
			int fd = open(path, O_WRONLY | O_CREAT, 0644);
			assert_true(fd >= 0);
			assert_int_equal(write(fd, bytes, BYTES), BYTES);
			(void)close(fd);
		}
	}
	free(bytes);
	(void)snprintf(path, sizeof(path), "%s/package-lock.json", to);
	check_ok(fd_write_file(path, 0644, "{}", 2, &e), &e);
	sync();
}

void
bulk_volume(const char *id, char to[256])
{
	char path[128], name[ULID_SIZE];

	(void)snprintf(name, sizeof(name), "%s", id);
	str_lower(name);
	(void)snprintf(path, sizeof(path), "/volumes/teploy-sbx-%s-warm", name);
	REPLY_AUTO r = docker_do("GET", path, NULL);
	(void)snprintf(
	    to, 256, "%s", json_string_value(json_at(r.json, "Mountpoint")));
}

double
bulk_copy(const char *from, const char *to)
{
	char all[200];
	const char *argv[] = {"cp", "-a", all, to, NULL};

	(void)snprintf(all, sizeof(all), "%s/.", from);
	return spawned(argv, NULL, 0);
}

void
bulk_run(const char *repo, const char *tree, char ret_id[ULID_SIZE])
{
	char place[256];
	REPLY_AUTO r = template_run(IMAGE_PLAIN, repo, NULL, ret_id);

	bulk_volume(ret_id, place);
	(void)bulk_copy(tree, place);
	bulk_keep_run(ret_id);
	sync();
}

/* ext4 thinks an inode used just now for as long as the block that it was in
 * stays in memory. */
void
bulk_settle(const char *path)
{
	char script[600];
	const char *argv[] = {"sh", "-c", script, NULL};

	(void)snprintf(script, sizeof(script),
	    "sync && echo 1 >/proc/sys/vm/drop_caches && tar -cf - -C %s . | "
	    "cat >/dev/null",
	    path);
	(void)spawned(argv, NULL, 0);
}

/* -- the stack ------------------------------------------------------------- */

int
bulk_open(void **state)
{
	char cache[160];
	struct statvfs st;
	/* Nothing is to be tidied up amid a measurement. */
	const char *env[] = {"SBX_REAP_INTERVAL=3600",
	    "SBX_DISK_SAMPLE_SEC=3600", "SBX_STREAM_THREADS=4",
	    "SBX_CACHE_MAX_GB=0", cache, NULL};

	(void)state;
	(void)snprintf(bulk.dir, sizeof(bulk.dir), "/var/tmp/sbx-bench-XXXXXX");
	assert_non_null(mkdtemp(bulk.dir));
	assert_int_equal(statvfs(bulk.dir, &st), 0);
	if (st.f_bavail * st.f_frsize >> 30 < NEEDS_GIB)
		fail_msg("%s has not the %d GiB free that this takes", bulk.dir,
		    NEEDS_GIB);
	(void)snprintf(bulk.source, sizeof(bulk.source), "%s/source", bulk.dir);
	(void)snprintf(
	    cache, sizeof(cache), "SBX_CACHE_ROOT=%s/cache", bulk.dir);
	stack_start(env);
	(void)snprintf(
	    bulk.docker, sizeof(bulk.docker), "unix://%s", stack.docker);
	image_need(IMAGE_PLAIN);
	bulk_tree(bulk.source, DIRS);
	return 0;
}

int
bulk_close(void **state)
{
	const char *argv[] = {"rm", "-rf", bulk.dir, NULL};

	drop_all();
	/* What was left for later. */
	stack_set("SBX_REAP_INTERVAL=1");
	stack_restart(SIGTERM);
	int rc = stack_stop(state);
	assert_true(str_starts(bulk.dir, "/var/tmp/sbx-bench-"));
	(void)spawned(argv, NULL, 0);
	return rc;
}
