/* run/cache: whether overlays work on its file system. */
#include "../check.h"
#include "lib/str.h"
#include "run/cache.h"
#include "tree_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct config config;
static char root[256];

static void
set_root(const char *path)
{
	struct err e = ERR_INIT;

	(void)snprintf(root, sizeof(root), "%s", path);
	config.cache_root = root;
	check_ok(cache_setup(&config, &e), &e);
}

/* The same question to a process that may not mount. */
static bool
judged_by_type(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(2);
		_exit(cache_overlay(&config) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 1;
}

/* Where this process may, the kernel says whether it can be mounted. */
static void
check_overlay(bool works)
{
	assert_int_equal(cache_overlay(&config), works);
	/* From memory; nothing of it is left but that. */
	assert_int_equal(cache_overlay(&config), works);
	assert_int_equal(rmdir(tree_path("mounted/cache/trash")), 0);
	set_root(tree_path("mounted/cache"));
	(void)unlink(tree_path("mounted/cache/overlay"));
	for (const char *p = root + 1; (p = strchr(p, '/')) != NULL; p++) {
		char part[256];

		(void)snprintf(
		    part, sizeof(part), "%.*s", (int)(p - root), root);
		if (!str_eq(part, "/tmp"))
			assert_int_equal(chmod(part, 0755), 0);
	}
	assert_int_equal(chmod(root, 0755), 0);
	assert_int_equal(chmod(tree_path("mounted/cache/trash"), 0777), 0);
	assert_int_equal(judged_by_type(), works);
}

static void
overlays_work_on_a_file_system_that_can(void **state)
{
	char *kernel = tree_text("/proc/filesystems");
	bool has = strstr(kernel, "\toverlay\n") != NULL;

	(void)state;
	free(kernel);
	tree_dir(tree_path("mounted"), 0755);
	if (!has || !tree_mount(tree_path("mounted"), "mode=0755"))
		skip();
	set_root(tree_path("mounted/cache"));
	check_overlay(true);
	tree_unmount(tree_path("mounted"));
}

/* As in a container whose cache is no volume. */
static void
overlays_do_not_work_on_an_overlay(void **state)
{
	char options[2048];

	(void)state;
	tree_dir(tree_path("mounted"), 0755);
	tree_dir(tree_path("memory"), 0755);
	if (!tree_mount(tree_path("memory"), "mode=0755"))
		skip();
	tree_dir(tree_path("memory/lower"), 0755);
	tree_dir(tree_path("memory/upper"), 0755);
	tree_dir(tree_path("memory/work"), 0755);
	(void)snprintf(options, sizeof(options),
	    "lowerdir=%s,upperdir=%s,workdir=%s", tree_path("memory/lower"),
	    tree_path("memory/upper"), tree_path("memory/work"));
	if (mount("overlay", tree_path("mounted"), "overlay", 0, options) != 0)
		skip();
	set_root(tree_path("mounted/cache"));
	check_overlay(false);
	tree_unmount(tree_path("mounted"));
	tree_unmount(tree_path("memory"));
}

static void
a_root_that_would_end_an_option_makes_copies(void **state)
{
	(void)state;
	set_root(tree_path("a,b"));
	assert_false(cache_overlay(&config));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TREE_TEST(overlays_work_on_a_file_system_that_can),
	    TREE_TEST(overlays_do_not_work_on_an_overlay),
	    TREE_TEST(a_root_that_would_end_an_option_makes_copies),
	};

	return tree_run("cache_overlay", tests);
}
