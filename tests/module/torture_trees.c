/* Trees of one stamp. */
#include "torture_trees.h"
#include "../check.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/place.h"
#include "torture_client.h"
#include "torture_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 4
#define PATH_SIZE 400

static int stamps; /* given so far */

/* A lockfile, and others a directory deeper. */
static void
file_path(const char *dir, int i, char to[PATH_SIZE + 32])
{
	if (i == 0)
		(void)snprintf(to, PATH_SIZE + 32, "%s/yarn.lock", dir);
	else
		(void)snprintf(to, PATH_SIZE + 32, "%s/src/%d", dir, i);
}

static void
write_tree(const char *dir, int stamp)
{
	char path[PATH_SIZE + 32], text[16];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/src", dir);
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	(void)snprintf(text, sizeof(text), "%d\n", stamp);
	for (int i = 0; i < FILES; i++) {
		file_path(dir, i, path);
		check_ok(fd_write_file(path, 0644, text, strlen(text), &e), &e);
	}
}

static int
read_tree(const char *dir)
{
	char path[PATH_SIZE + 32];
	int stamp = 0;

	for (int i = 0; i < FILES; i++) {
		struct err e = ERR_INIT;

		file_path(dir, i, path);
		char *text = fd_read_file(path, 16, NULL, &e);
		int is = text != NULL ? (int)strtol(text, NULL, 10) : 0;
		free(text);
		if (i > 0 && is != stamp)
			return -1;
		stamp = is;
	}
	return stamp;
}

/* A copy of a template lies in the cache, anything else where the engine has
 * it. */
static bool
volume_of(const char *id, char to[PATH_SIZE])
{
	char name[RUN_VOLUME_SIZE];

	(void)snprintf(to, PATH_SIZE, "%s/cache/runs/%s/tree", world.dir, id);
	run_volume(id, "warm", name);
	return access(to, F_OK) == 0 || model_volume(world.model, name, to);
}

int
tree_of_run(const char *id)
{
	char dir[PATH_SIZE];

	return volume_of(id, dir) ? read_tree(dir) : 0;
}

bool
tree_generation(char to[PATH_SIZE])
{
	SAID_AUTO s = ask_calm("GET", "/v1/warmcache/" TREE_REPO, NULL, NULL);

	if (s.status != 200)
		return false;
	(void)snprintf(to, PATH_SIZE, "%s/cache/repos/acme+web/%s", world.dir,
	    said_text(&s, "warm.gen"));
	return true;
}

int
tree_of_template(void)
{
	char dir[PATH_SIZE], tree[PATH_SIZE + 8];

	if (!tree_generation(dir))
		return 0;
	(void)snprintf(tree, sizeof(tree), "%s/tree", dir);
	/* An empty one is torn. */
	int stamp = read_tree(tree);
	return stamp != 0 ? stamp : -1;
}

int
tree_run(char ret_id[ULID_SIZE])
{
	char dir[PATH_SIZE];
	SAID_AUTO s = ask_calm("POST", "/v1/runs", TREE_RUN, NULL);

	assert_int_equal(s.status, 201);
	(void)snprintf(ret_id, ULID_SIZE, "%s", said_text(&s, "id"));
	assert_true(volume_of(ret_id, dir));
	write_tree(dir, ++stamps);
	return stamps;
}

int
tree_template(void)
{
	char id[ULID_SIZE];
	int stamp = tree_run(id);
	SAID_AUTO made =
	    ask_calm("POST", target_of(id, "warm-commit"), "{}", NULL);
	SAID_AUTO gone = ask_calm("DELETE", target_of(id, ""), NULL, NULL);

	if (made.status != 201)
		fail_msg("%s", made.raw.data);
	assert_int_equal(gone.status, 204);
	return stamp;
}
