/* Short cuts for tests of the warm cache. */
#include "templates.h"
#include "../check.h"
#include "files.h"
#include "outside.h"
#include "sandbox.h"
#include "stack.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *
text_at(const struct reply *r, const char *path)
{
	return json_string_value(json_at(r->json, path));
}

struct reply
template_run(const char *image, const char *repo, const char *path,
    char ret_id[ULID_SIZE])
{
	struct reply r = http_json("POST", "/v1/runs",
	    json_pack("{s:s, s:{s:s, s:s*}}", "image", image, "warm", "repo",
		repo, "path", path));

	if (r.status != 201)
		fail_msg("create: %ld %s", r.status, r.body.data);
	(void)snprintf(ret_id, ULID_SIZE, "%s", text_at(&r, "id"));
	return r;
}

void
template_new(const char *image, const char *repo, const char *path,
    char ret_id[ULID_SIZE])
{
	struct reply r = template_run(image, repo, path, ret_id);

	reply_release(&r);
}

struct reply
template_commit(const char *id, const char *repo)
{
	return http_json("POST", run_url(id, "warm-commit"),
	    repo != NULL ? json_pack("{s:s}", "repo", repo) : json_object());
}

void
template_made(const char *id, const char *repo)
{
	REPLY_AUTO r = template_commit(id, repo);

	if (r.status != 201)
		fail_msg("warm-commit: %ld %s", r.status, r.body.data);
}

struct reply
template_do(const char *method, const char *repo)
{
	char url[400];

	(void)snprintf(url, sizeof(url), "/v1/warmcache/%s", repo);
	return http_do(method, url, NULL, NULL);
}

void
template_drop(const char *repo)
{
	REPLY_AUTO r = template_do("DELETE", repo);

	if (r.status != 204)
		fail_msg("drop: %ld %s", r.status, r.body.data);
}

char *
template_sh(const char *id, const char *dir, const char *cmd)
{
	char *text;

	assert_true(asprintf(&text, "cd %s && { %s; }", dir, cmd) > 0);
	char *said = file_sh(id, text);
	free(text);
	return said;
}

void
template_says(
    const char *id, const char *dir, const char *cmd, const char *expected)
{
	char *said = template_sh(id, dir, cmd);

	if (strcmp(said, expected) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", cmd, said, expected);
	free(said);
}

static void
find(const char *below, const char *form, glob_t *ret_found)
{
	char pattern[400];

	(void)snprintf(
	    pattern, sizeof(pattern), "%s/cache/%s%s", stack.base, below, form);
	if (glob(pattern, 0, NULL, ret_found) != 0)
		ret_found->gl_pathc = 0;
}

size_t
template_files(const char *form)
{
	glob_t found;

	find("", form, &found);
	size_t count = found.gl_pathc;
	globfree(&found);
	return count;
}

int64_t
template_blocks(const char *form)
{
	glob_t found;
	struct stat st;

	find("repos/", form, &found);
	assert_int_equal(found.gl_pathc, 1);
	assert_int_equal(lstat(found.gl_pathv[0], &st), 0);
	globfree(&found);
	return st.st_blocks;
}
