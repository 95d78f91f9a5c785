/* The warm cache: volumes of runs, templates of repositories, and what one run
 * sees of another's. */
#include "files.h"
#include "harness.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END_MS 30000
#define ULID "0123456789ABCDEFGHJKMNPQRS"

/* A tree with everything that a file system has, as the image's user may make
 * it: modes, times, links of both kinds, holes, odd names, nothing at all. */
static const char tree[] =
    "umask 022; mkdir -p src/deep/er empty '.git/objects' && "
    "printf '{\"v\":1}' >package-lock.json && "
    "printf 'go 1.22\\n' >go.mod && "
    "echo hello >src/a && ln src/a src/b && ln src/a src/deep/c && "
    "ln -s ../a src/deep/link && ln -s /nowhere/$(seq -s / 200) long && "
    "printf '#!/bin/sh\\necho ran\\n' >run.sh && chmod 4751 run.sh && "
    "dd if=/dev/zero of=sparse bs=1 count=1 seek=8000000 2>/dev/null && "
    "echo odd >\"$(printf 'new\\nline and \\377')\" && "
    "mkdir closed && echo x >closed/x && chmod 0311 closed && "
    "touch -d '2020-02-03 04:05:06' src/a src/deep && chmod 1777 empty && "
    "mkfifo left-out";

/* All of it as text, but what is left out: names, modes, owners, times, links,
 * targets, bytes, holes. How many names a directory has an overlay does not
 * tell. */
static const char look[] =
    "chmod u+r closed; "
    "find . ! -name left-out ! -type d -exec stat -c '%n %A %u %g %h %Y %s' "
    "{} + | sort; "
    "find . -type d -exec stat -c '%n %A %u %g %Y' {} + | sort; "
    "find . -type l | sort | xargs -n 1 readlink; "
    "find . -type f -exec md5sum {} + | sort; "
    "chmod u-r closed; "
    "[ $(du -k sparse | cut -f 1) -lt 100 ] && echo holes";

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	return 0;
}

/* -- short cuts ------------------------------------------------------------ */

/* A run with a warm volume; path NULL: the default. The 201. */
static struct reply
warm_run(const char *image, const char *repo, const char *path,
    char ret_id[ULID_SIZE])
{
	struct reply r = http_json("POST", "/v1/runs",
	    json_pack("{s:s, s:{s:s, s:s*}}", "image", image, "warm", "repo",
		repo, "path", path));

	if (r.status != 201)
		fail_msg("create: %ld %s", r.status, r.body.data);
	(void)snprintf(
	    ret_id, ULID_SIZE, "%s", json_string_value(json_at(r.json, "id")));
	return r;
}

static struct reply
commit(const char *id, const char *repo)
{
	return http_json("POST", run_url(id, "warm-commit"),
	    repo != NULL ? json_pack("{s:s}", "repo", repo) : json_object());
}

static void
commit_ok(const char *id, const char *repo)
{
	REPLY_AUTO r = commit(id, repo);

	if (r.status != 201)
		fail_msg("warm-commit: %ld %s", r.status, r.body.data);
}

static const char *
cache_url(const char *repo)
{
	static char url[400];

	(void)snprintf(url, sizeof(url), "/v1/warmcache/%s", repo);
	return url;
}

static void
drop(const char *repo)
{
	REPLY_AUTO r = http_do("DELETE", cache_url(repo), NULL, NULL);

	if (r.status != 204)
		fail_msg("drop: %ld %s", r.status, r.body.data);
}

static const char *
text_at(const struct reply *r, const char *path)
{
	return json_string_value(json_at(r->json, path));
}

/* What a command says, which must exit with 0; to be freed. */
static char *
say(const char *id, const char *dir, const char *cmd)
{
	char *text;

	assert_true(asprintf(&text, "cd %s && { %s; }", dir, cmd) > 0);
	char *said = file_sh(id, text);
	free(text);
	return said;
}

/* The same lines; else the first that differs is told. */
static void
check_same(const char *a, const char *b)
{
	size_t line = 0;

	for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++)
		if (a[i] == '\n')
			line = i + 1;
	if (strcmp(a, b) != 0)
		fail_msg("\"%.*s\" is not \"%.*s\"",
		    (int)strcspn(a + line, "\n"), a + line,
		    (int)strcspn(b + line, "\n"), b + line);
}

#define SAYS(id, dir, cmd, expected)                    \
	do {                                            \
		char *said_ = say(id, dir, cmd);        \
		assert_string_equal(said_, (expected)); \
		free(said_);                            \
	} while (0)

/* The lock hash as the contract has it, told by the run. */
static char *
hash_of(const char *id, const char *dir, const char *repo_dir)
{
	char cmd[400];

	(void)snprintf(cmd, sizeof(cmd),
	    "{ printf 'dir %s\\n'; for f in go.mod package-lock.json; do "
	    "[ -f \"%s/$f\" ] && echo $f $(sha256sum <\"%s/$f\" | cut -c1-64); "
	    "done; true; } | sha256sum | cut -c1-64 | tr -d '\\n'",
	    repo_dir, repo_dir, repo_dir);
	return say(id, dir, cmd);
}

/* How many entries a directory of the cache has. */
static size_t
entries(const char *below)
{
	char path[400];
	const struct dirent *entry;
	size_t count = 0;

	(void)snprintf(path, sizeof(path), "%s/cache/%s", stack.base, below);
	DIR *dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	if (dir != NULL)
		(void)closedir(dir);
	return count;
}

/* -- cold and warm --------------------------------------------------------- */

static void
a_run_without_a_template_has_an_empty_volume(void **state)
{
	static const char *const paths[] = {NULL, "/srv/checkout", "/opt/x/y/"};
	static const char *const at[] = {"/work", "/srv/checkout", "/opt/x/y"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char id[ULID_SIZE];
		REPLY_AUTO r = warm_run(IMAGE_USER, "Acme/Empty", paths[i], id);
		REPLY_AUTO got = http_do("GET", run_url(id, ""), NULL, NULL);
		char *hash = hash_of(id, at[i], ".");

		assert_string_equal(text_at(&r, "warm.repo"), "acme/empty");
		assert_string_equal(text_at(&r, "warm.path"), at[i]);
		assert_false(json_is_true(json_at(r.json, "warm.booted")));
		assert_string_equal(text_at(&r, "warm.lockHash"), hash);
		assert_string_equal(text_at(&r, "warm.repoDir"), ".");
		assert_true(json_equal(
		    json_at(got.json, "warm"), json_at(r.json, "warm")));
		SAYS(id, at[i], "ls -A; stat -c %u .; echo mine >f; cat f",
		    "1000\nmine\n");
		free(hash);
		run_end(id);
	}
}

/* Made as one user and booted by the same: all of it is there, and its own. */
static void
a_template_is_booted_exactly(void **state)
{
	char cold[ULID_SIZE], warm[ULID_SIZE];

	(void)state;
	REPLY_AUTO first = warm_run(IMAGE_USER, "acme/all", NULL, cold);
	free(say(cold, "/work", tree));
	char *before = say(cold, "/work", look);
	char *hash = hash_of(cold, "/work", ".");
	REPLY_AUTO made = commit(cold, NULL);
	assert_int_equal(made.status, 201);
	assert_string_equal(text_at(&made, "warm.repo"), "acme/all");
	assert_string_equal(text_at(&made, "warm.lockHash"), hash);
	assert_string_equal(text_at(&made, "warm.repoDir"), ".");
	assert_false(json_is_true(json_at(made.json, "warm.booted")));
	assert_string_equal(text_at(&made, "repo"), "acme/all");
	assert_string_equal(text_at(&made, "lockHash"), hash);
	assert_string_equal(text_at(&made, "repoDir"), ".");
	run_end(cold);

	REPLY_AUTO second = warm_run(IMAGE_USER, "acme/all", NULL, warm);
	assert_true(json_is_true(json_at(second.json, "warm.booted")));
	assert_string_equal(text_at(&second, "warm.lockHash"), hash);
	char *after = say(warm, "/work", look);
	check_same(after, before);
	assert_non_null(strstr(after, "holes"));
	SAYS(warm, "/work", "ls left-out 2>/dev/null; ./run.sh", "ran\n");
	free(before);
	free(after);
	free(hash);
	run_end(warm);
}

/* As on any file system: links stay links, what is there is moved as a whole.
 */
static void
a_warm_tree_is_worked_with_like_any_other(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	REPLY_AUTO r = warm_run(IMAGE_USER, "acme/all", "/srv/all", id);
	SAYS(id, "/srv/all", "echo more >>src/a; cat src/b src/deep/c",
	    "hello\nmore\nhello\nmore\n");
	SAYS(id, "/srv/all",
	    "mv src moved && cat moved/deep/c | head -n 1; ls src 2>&1 | wc -l",
	    "hello\n1\n");
	SAYS(id, "/srv/all", "rm -rf moved empty && mkdir empty && ls -A empty",
	    "");
	run_end(id);
}

static void
runs_of_one_template_do_not_see_each_other(void **state)
{
	char a[ULID_SIZE], b[ULID_SIZE], c[ULID_SIZE];

	(void)state;
	REPLY_AUTO ra = warm_run(IMAGE_USER, "acme/all", NULL, a);
	REPLY_AUTO rb = warm_run(IMAGE_USER, "acme/all", NULL, b);
	SAYS(a, "/work", "echo changed >src/a; rm go.mod; echo new >new", "");
	SAYS(b, "/work", "cat src/a go.mod; ls new 2>/dev/null || echo none",
	    "hello\ngo 1.22\nnone\n");
	REPLY_AUTO rc = warm_run(IMAGE_USER, "acme/all", NULL, c);
	SAYS(c, "/work", "cat src/a go.mod; ls new 2>/dev/null || echo none",
	    "hello\ngo 1.22\nnone\n");
	run_end(a);
	SAYS(b, "/work", "cat src/b", "hello\n");
	run_end(b);
	run_end(c);
}

/* Owners are kept: the root of /work alone is given to who works there. */
static void
another_user_finds_the_owners_that_there_were(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	REPLY_AUTO r = warm_run(IMAGE_PLAIN, "acme/all", NULL, id);
	SAYS(id, "/work", "id -u; stat -c %u . src src/a; echo x >src/a",
	    "0\n1000\n1000\n1000\n");
	commit_ok(id, "acme/of-root");
	SAYS(id, "/work", "mkdir mine; chown -R 0:0 .", "");
	commit_ok(id, "acme/of-root");
	run_end(id);
	REPLY_AUTO other = warm_run(IMAGE_USER, "acme/of-root", NULL, id);
	SAYS(id, "/work",
	    "echo mine >new && stat -c %u . new src; "
	    "echo x 2>/dev/null >src/new || echo refused",
	    "1000\n1000\n0\nrefused\n");
	run_end(id);
	drop("acme/of-root");
}

/* -- the volume's hash ----------------------------------------------------- */

static void
the_hash_is_that_of_the_volume_now(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	REPLY_AUTO r = warm_run(IMAGE_USER, "acme/hash", "/srv/h", id);
	SAYS(id, "/srv/h", "mkdir web; echo '{}' >web/package-lock.json", "");
	char *hash = hash_of(id, "/srv/h", "web");
	REPLY_AUTO now = http_do("GET", run_url(id, "warm"), NULL, NULL);
	assert_int_equal(now.status, 200);
	assert_string_equal(text_at(&now, "warm.lockHash"), hash);
	assert_string_equal(text_at(&now, "warm.repoDir"), "web");
	assert_string_equal(text_at(&now, "warm.path"), "/srv/h");
	assert_string_equal(text_at(&now, "repo"), "acme/hash");
	assert_string_equal(text_at(&now, "lockHash"), hash);
	assert_string_equal(text_at(&now, "repoDir"), "web");
	/* The run itself tells what it was booted with. */
	REPLY_AUTO run = http_do("GET", run_url(id, ""), NULL, NULL);
	assert_string_equal(text_at(&run, "warm.repoDir"), ".");
	free(hash);
	run_end(id);
}

/* -- templates ------------------------------------------------------------- */

static void
a_commit_takes_the_place_of_the_one_before(void **state)
{
	char id[ULID_SIZE], old[ULID_SIZE], warm[ULID_SIZE];

	(void)state;
	REPLY_AUTO r = warm_run(IMAGE_USER, "acme/gen", NULL, id);
	SAYS(id, "/work", "echo 1 >v", "");
	commit_ok(id, NULL);
	REPLY_AUTO first = http_do("GET", cache_url("acme/gen"), NULL, NULL);
	REPLY_AUTO before = warm_run(IMAGE_USER, "acme/gen", NULL, old);
	SAYS(id, "/work", "echo 2 >v", "");
	commit_ok(id, "ACME/Gen");
	REPLY_AUTO second = http_do("GET", cache_url("acme/gen"), NULL, NULL);
	assert_int_equal(second.status, 200);
	const char *gen = text_at(&second, "warm.gen");
	assert_true(strcmp(gen, text_at(&first, "warm.gen")) > 0);
	assert_int_equal(strlen(gen), strlen("g-" ULID));
	assert_true(str_starts(gen, "g-"));
	REPLY_AUTO after = warm_run(IMAGE_USER, "acme/gen", NULL, warm);
	SAYS(warm, "/work", "cat v", "2\n");
	/* A generation in use stays what it is. */
	SAYS(old, "/work", "cat v", "1\n");
	run_end(id);
	run_end(old);
	run_end(warm);
	drop("acme/gen");
}

static void
another_repository_can_be_committed_to(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	REPLY_AUTO r = warm_run(IMAGE_USER, "acme/one", NULL, id);
	SAYS(id, "/work", "echo there >f", "");
	REPLY_AUTO made = commit(id, "acme/two/deep.er");
	assert_int_equal(made.status, 201);
	assert_string_equal(text_at(&made, "warm.repo"), "acme/two/deep.er");
	run_end(id);
	REPLY_AUTO none = http_do("GET", cache_url("acme/one"), NULL, NULL);
	check_problem(&none, 404, "not_found", "acme/one");
	REPLY_AUTO warm = warm_run(IMAGE_USER, "acme/two/deep.er", NULL, id);
	SAYS(id, "/work", "cat f", "there\n");
	run_end(id);
	drop("acme/two/deep.er");
}

static void
a_template_is_dropped_under_those_who_use_it(void **state)
{
	char id[ULID_SIZE], cold[ULID_SIZE];

	(void)state;
	REPLY_AUTO r = warm_run(IMAGE_USER, "acme/gone", NULL, id);
	SAYS(id, "/work", "echo there >f; echo too >g", "");
	commit_ok(id, NULL);
	run_end(id);
	REPLY_AUTO warm = warm_run(IMAGE_USER, "acme/gone", NULL, id);
	drop("acme/gone");
	REPLY_AUTO none = http_do("GET", cache_url("acme/gone"), NULL, NULL);
	check_problem(&none, 404, "not_found", "acme/gone");
	REPLY_AUTO again =
	    http_do("DELETE", cache_url("acme/gone"), NULL, NULL);
	check_problem(&again, 404, "not_found", "acme/gone");
	SAYS(id, "/work", "cat f g; echo more >>f; cat f",
	    "there\ntoo\nthere\nmore\n");
	REPLY_AUTO next = warm_run(IMAGE_USER, "acme/gone", NULL, cold);
	assert_false(json_is_true(json_at(next.json, "warm.booted")));
	SAYS(cold, "/work", "ls -A", "");
	run_end(cold);
	/* It goes on from what it has. */
	commit_ok(id, NULL);
	run_end(id);
	drop("acme/gone");
}

/* With its repository's templates in between others'. */
static void
templates_are_listed_in_pages(void **state)
{
	static const char *const names[] = {
	    "list/a", "list/a/b", "list/a.b", "list/c"};
	char id[ULID_SIZE], url[400] = "/v1/warmcache?limit=2",
			    before[300] = "";
	size_t found = 0;

	(void)state;
	REPLY_AUTO r = warm_run(IMAGE_USER, "list/none", NULL, id);
	SAYS(id, "/work", "echo '{}' >package-lock.json; mkdir d", "");
	for (size_t i = 0; i < 4; i++)
		commit_ok(id, names[i]);
	run_end(id);
	for (;;) {
		REPLY_AUTO page = http_do("GET", url, NULL, NULL);
		const json_t *one;
		size_t i;

		assert_int_equal(page.status, 200);
		json_array_foreach(json_at(page.json, "templates"), i, one)
		{
			const char *repo =
			    json_string_value(json_at(one, "repo"));

			assert_true(i < 2 && strcmp(repo, before) > 0);
			(void)snprintf(before, sizeof(before), "%s", repo);
			if (!str_starts(repo, "list/"))
				continue;
			found++;
			assert_int_equal(
			    json_integer_value(json_at(one, "entries")), 2);
			assert_true(
			    json_integer_value(json_at(one, "size")) > 0);
			assert_string_equal(
			    json_string_value(json_at(one, "repoDir")), ".");
			(void)json_at(one, "createdAt");
			(void)json_at(one, "lastUsedAt");
		}
		const json_t *next = json_object_get(page.json, "nextCursor");
		if (next == NULL)
			break;
		(void)snprintf(url, sizeof(url),
		    "/v1/warmcache?limit=2&cursor=%s", json_string_value(next));
	}
	assert_int_equal(found, 4);
	for (size_t i = 0; i < 4; i++)
		drop(names[i]);
}

static void
a_boot_is_a_use(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	REPLY_AUTO before = http_do("GET", cache_url("acme/all"), NULL, NULL);
	REPLY_AUTO r = warm_run(IMAGE_USER, "acme/all", NULL, id);
	REPLY_AUTO after = http_do("GET", cache_url("acme/all"), NULL, NULL);
	run_end(id);
	assert_string_equal(text_at(&after, "warm.createdAt"),
	    text_at(&before, "warm.createdAt"));
	assert_true(strcmp(text_at(&after, "warm.lastUsedAt"),
			text_at(&before, "warm.lastUsedAt")) > 0);
}

/* Redis is emptied: the disk has what counts. */
static void
a_flushed_redis_loses_no_template(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	freeReplyObject(redis_do("FLUSHALL"));
	REPLY_AUTO there = http_do("GET", cache_url("acme/all"), NULL, NULL);
	assert_int_equal(there.status, 200);
	REPLY_AUTO r = warm_run(IMAGE_USER, "acme/all", NULL, id);
	assert_true(json_is_true(json_at(r.json, "warm.booted")));
	SAYS(id, "/work", "cat src/a", "hello\n");
	redisReply *pins = redis_do("ZCARD sbx:warm-pins:acme/all");
	assert_int_equal(pins->integer, 1);
	freeReplyObject(pins);
	run_end(id);
	pins = redis_do("ZCARD sbx:warm-pins:acme/all");
	assert_int_equal(pins->integer, 0);
	freeReplyObject(pins);
}

/* -- the end --------------------------------------------------------------- */

static void
nothing_of_a_volume_outlives_its_run(void **state)
{
	char id[ULID_SIZE], path[200];

	(void)state;
	REPLY_AUTO r = warm_run(IMAGE_USER, "acme/all", NULL, id);
	SAYS(id, "/work", "echo x >upper", "");
	assert_int_equal(entries("runs"), 1);
	(void)snprintf(path, sizeof(path), "/volumes/teploy-sbx-%s-warm", id);
	for (char *at = path; *at != '\0'; at++)
		*at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
	REPLY_AUTO volume = docker_do("GET", path, NULL);
	assert_int_equal(volume.status, 200);
	run_end(id);
	assert_int_equal(entries("runs"), 0);
	REPLY_AUTO gone = docker_do("GET", path, NULL);
	assert_int_equal(gone.status, 404);
}

static void
an_exited_run_has_no_volume_to_look_at(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		REPLY_AUTO r = warm_run(
		    IMAGE_USER, i == 0 ? "acme/all" : "acme/no", NULL, id);
		char path[200];

		(void)snprintf(path, sizeof(path), "/containers/%s/kill",
		    json_string_value(json_at(docker_container(id), "Id")));
		REPLY_AUTO killed = docker_do("POST", path, NULL);
		assert_int_equal(killed.status, 204);
		REPLY_AUTO look_at =
		    http_do("GET", run_url(id, "warm"), NULL, NULL);
		check_problem(&look_at, 409, "run_not_running", "ended");
		REPLY_AUTO made = commit(id, NULL);
		check_problem(&made, 409, "run_not_running", "ended");
		run_end(id);
	}
}

/* -- refusals -------------------------------------------------------------- */

static void
what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *warm, *detail;
	} refused[] = {
	    {"\"x\"", "warm"},
	    {"{\"path\":\"/srv\"}", "warm.repo"},
	    {"{\"repo\":7}", "repo"},
	    {"{\"repo\":\"one\"}", "one"},
	    {"{\"repo\":\"a/../b\"}", "a/../b"},
	    {"{\"repo\":\"a/b.\"}", "a/b."},
	    {"{\"repo\":\"a//b\"}", "a//b"},
	    {"{\"repo\":\"a/b\",\"path\":7}", "path"},
	    {"{\"repo\":\"a/b\",\"path\":\"work\"}", "work"},
	    {"{\"repo\":\"a/b\",\"path\":\"/\"}", "/"},
	    {"{\"repo\":\"a/b\",\"path\":\"/etc/x\"}", "/etc"},
	    {"{\"repo\":\"a/b\",\"path\":\"/a/../etc\"}", "/a/../etc"},
	    {"{\"repo\":\"a/b\",\"path\":\"/.sbx\"}", "/.sbx"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		char body[300];

		(void)snprintf(body, sizeof(body),
		    "{\"image\":\"" IMAGE_PLAIN "\",\"warm\":%s}",
		    refused[i].warm);
		REPLY_AUTO r = http_do("POST", "/v1/runs", body, NULL);
		check_problem(&r, 400, "invalid_input", refused[i].detail);
	}
}

static void
nothing_at_all_counts_as_no_warm_volume(void **state)
{
	static const char *const none[] = {"null", "{}"};
	char id[ULID_SIZE], body[300];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(body, sizeof(body),
		    "{\"image\":\"" IMAGE_PLAIN "\",\"warm\":%s}", none[i]);
		run_from(json_loads(body, 0, NULL), id);
		REPLY_AUTO run = http_do("GET", run_url(id, ""), NULL, NULL);
		assert_null(json_object_get(run.json, "warm"));
		REPLY_AUTO look_at =
		    http_do("GET", run_url(id, "warm"), NULL, NULL);
		check_problem(&look_at, 400, "invalid_input", "no warm volume");
		REPLY_AUTO made = commit(id, "acme/x");
		check_problem(&made, 400, "invalid_input", "no warm volume");
		run_end(id);
	}
}

static void
who_is_not_there_is_not_found(void **state)
{
	static const char absent[] = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

	(void)state;
	REPLY_AUTO look_at =
	    http_do("GET", run_url(absent, "warm"), NULL, NULL);
	check_problem(&look_at, 404, "run_not_found", absent);
	REPLY_AUTO made = commit(absent, NULL);
	check_problem(&made, 404, "run_not_found", absent);
	REPLY_AUTO bad = commit(absent, "one");
	check_problem(&bad, 400, "invalid_input", "one");
	REPLY_AUTO none = http_do("GET", cache_url("no/such"), NULL, NULL);
	check_problem(&none, 404, "not_found", "no/such");
	REPLY_AUTO one = http_do("GET", cache_url("one"), NULL, NULL);
	check_problem(&one, 400, "invalid_input", "one");
	REPLY_AUTO put = http_do("PUT", cache_url("a/b"), NULL, NULL);
	check_problem(&put, 405, "method_not_allowed", "GET, HEAD, DELETE");
	REPLY_AUTO limit = http_do("GET", "/v1/warmcache?limit=0", NULL, NULL);
	check_problem(&limit, 400, "invalid_input", "limit");
	REPLY_AUTO cursor =
	    http_do("GET", "/v1/warmcache?cursor=x", NULL, NULL);
	check_problem(&cursor, 400, "invalid_input", "cursor");
}

/* The last test: it leaves a stack without a cache. */
static void
a_box_without_a_cache_says_so(void **state)
{
	static const char *const urls[] = {
	    "/v1/warmcache", "/v1/warmcache/acme/all"};

	(void)state;
	drop("acme/all");
	stack_set("SBX_CACHE_ROOT=");
	stack_restart(SIGTERM);
	REPLY_AUTO r = http_do("POST", "/v1/runs",
	    "{\"image\":\"" IMAGE_PLAIN "\",\"warm\":{\"repo\":\"a/b\"}}",
	    NULL);
	check_problem(&r, 400, "invalid_input", "SBX_CACHE_ROOT");
	for (size_t i = 0; i < 2; i++) {
		REPLY_AUTO get = http_do("GET", urls[i], NULL, NULL);

		check_problem(&get, 400, "invalid_input", "SBX_CACHE_ROOT");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_run_without_a_template_has_an_empty_volume),
	    cmocka_unit_test(a_template_is_booted_exactly),
	    cmocka_unit_test(a_warm_tree_is_worked_with_like_any_other),
	    cmocka_unit_test(runs_of_one_template_do_not_see_each_other),
	    cmocka_unit_test(another_user_finds_the_owners_that_there_were),
	    cmocka_unit_test(the_hash_is_that_of_the_volume_now),
	    cmocka_unit_test(a_commit_takes_the_place_of_the_one_before),
	    cmocka_unit_test(another_repository_can_be_committed_to),
	    cmocka_unit_test(a_template_is_dropped_under_those_who_use_it),
	    cmocka_unit_test(templates_are_listed_in_pages),
	    cmocka_unit_test(a_boot_is_a_use),
	    cmocka_unit_test(nothing_of_a_volume_outlives_its_run),
	    cmocka_unit_test(an_exited_run_has_no_volume_to_look_at),
	    cmocka_unit_test(what_is_wrong_is_said),
	    cmocka_unit_test(nothing_at_all_counts_as_no_warm_volume),
	    cmocka_unit_test(who_is_not_there_is_not_found),
	    cmocka_unit_test(a_flushed_redis_loses_no_template),
	    cmocka_unit_test(a_box_without_a_cache_says_so),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
