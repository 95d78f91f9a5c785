/* The warm cache: volumes of runs, templates of repositories, and what one run
 * sees of another's. */
#include "harness.h"
#include "templates.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
 * targets, bytes. How many names a directory has an overlay does not
 * tell. */
static const char look[] =
    "chmod u+r closed; "
    "find . ! -name left-out ! -type d -exec stat -c '%n %A %u %g %h %Y %s' "
    "{} + | sort; "
    "find . -type d -exec stat -c '%n %A %u %g %Y' {} + | sort; "
    "find . -type l | sort | xargs -n 1 readlink; "
    "find . -type f -exec md5sum {} + | sort; "
    "chmod u-r closed";

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	return 0;
}

/* -- looking --------------------------------------------------------------- */

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
	return template_sh(id, dir, cmd);
}

/* -- cold and warm --------------------------------------------------------- */

static void
a_run_without_a_template_has_an_empty_volume(void **state)
{
	static const char *const paths[] = {NULL, "/opt/x/y/"};
	static const char *const at[] = {"/work", "/opt/x/y"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char id[ULID_SIZE];
		REPLY_AUTO r =
		    template_run(IMAGE_USER, "Acme/Empty", paths[i], id);
		REPLY_AUTO got = http_do("GET", run_url(id, ""), NULL, NULL);
		char *hash = hash_of(id, at[i], ".");

		assert_string_equal(text_at(&r, "warm.repo"), "acme/empty");
		assert_string_equal(text_at(&r, "warm.path"), at[i]);
		assert_false(json_is_true(json_at(r.json, "warm.booted")));
		assert_string_equal(text_at(&r, "warm.lockHash"), hash);
		assert_string_equal(text_at(&r, "warm.repoDir"), ".");
		assert_true(json_equal(
		    json_at(got.json, "warm"), json_at(r.json, "warm")));
		template_says(id, at[i],
		    "ls -A; stat -c %u .; echo mine >f; cat f", "1000\nmine\n");
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
	template_new(IMAGE_USER, "acme/all", NULL, cold);
	free(template_sh(cold, "/work", tree));
	char *before = template_sh(cold, "/work", look);
	char *hash = hash_of(cold, "/work", ".");
	REPLY_AUTO made = template_commit(cold, NULL);
	assert_int_equal(made.status, 201);
	assert_string_equal(text_at(&made, "warm.repo"), "acme/all");
	assert_string_equal(text_at(&made, "warm.lockHash"), hash);
	assert_string_equal(text_at(&made, "warm.repoDir"), ".");
	assert_false(json_is_true(json_at(made.json, "warm.booted")));
	assert_string_equal(text_at(&made, "repo"), "acme/all");
	assert_string_equal(text_at(&made, "lockHash"), hash);
	assert_string_equal(text_at(&made, "repoDir"), ".");
	run_end(cold);

	REPLY_AUTO second = template_run(IMAGE_USER, "acme/all", NULL, warm);
	assert_true(json_is_true(json_at(second.json, "warm.booted")));
	assert_string_equal(text_at(&second, "warm.lockHash"), hash);
	char *after = template_sh(warm, "/work", look);
	check_same(after, before);
	assert_true(template_blocks("acme+all/g-*/tree/sparse") < 200);
	template_says(
	    warm, "/work", "ls left-out 2>/dev/null; ./run.sh", "ran\n");
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
	template_new(IMAGE_USER, "acme/all", "/srv/all", id);
	template_says(id, "/srv/all", "echo more >>src/a; cat src/b src/deep/c",
	    "hello\nmore\nhello\nmore\n");
	template_says(id, "/srv/all",
	    "mv src moved && cat moved/deep/c | head -n 1; ls src 2>&1 | wc -l",
	    "hello\n1\n");
	template_says(id, "/srv/all",
	    "rm -rf moved empty && mkdir empty && ls -A empty", "");
	run_end(id);
}

static void
runs_of_one_template_do_not_see_each_other(void **state)
{
	char a[ULID_SIZE], b[ULID_SIZE], c[ULID_SIZE];

	(void)state;
	template_new(IMAGE_USER, "acme/all", NULL, a);
	template_new(IMAGE_USER, "acme/all", NULL, b);
	template_says(
	    a, "/work", "echo changed >src/a; rm go.mod; echo new >new", "");
	template_says(b, "/work",
	    "cat src/a go.mod; ls new 2>/dev/null || echo none",
	    "hello\ngo 1.22\nnone\n");
	template_new(IMAGE_USER, "acme/all", NULL, c);
	template_says(c, "/work",
	    "cat src/a go.mod; ls new 2>/dev/null || echo none",
	    "hello\ngo 1.22\nnone\n");
	run_end(a);
	template_says(b, "/work", "cat src/b", "hello\n");
	run_end(b);
	run_end(c);
}

/* Owners are kept: the root of /work alone is given to who works there. */
static void
another_user_finds_the_owners_that_there_were(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	template_new(IMAGE_PLAIN, "acme/all", NULL, id);
	template_says(id, "/work",
	    "id -u; stat -c %u . src src/a; echo x >src/a",
	    "0\n1000\n1000\n1000\n");
	template_made(id, "acme/of-root");
	template_says(id, "/work", "mkdir mine; chown -R 0:0 .", "");
	template_made(id, "acme/of-root");
	run_end(id);
	template_new(IMAGE_USER, "acme/of-root", NULL, id);
	template_says(id, "/work",
	    "echo mine >new && stat -c %u . new src; "
	    "echo x 2>/dev/null >src/new || echo refused",
	    "1000\n1000\n0\nrefused\n");
	run_end(id);
	template_drop("acme/of-root");
}

/* -- the volume's hash ----------------------------------------------------- */

static void
the_hash_is_that_of_the_volume_now(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	template_new(IMAGE_USER, "acme/hash", "/srv/h", id);
	template_says(
	    id, "/srv/h", "mkdir web; echo '{}' >web/package-lock.json", "");
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
	template_new(IMAGE_USER, "list/none", NULL, id);
	template_says(id, "/work", "echo '{}' >package-lock.json; mkdir d", "");
	for (size_t i = 0; i < 4; i++)
		template_made(id, names[i]);
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
		template_drop(names[i]);
}

/* Redis is emptied: the disk has what counts. */
static void
a_flushed_redis_loses_no_template(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	freeReplyObject(redis_do("FLUSHALL"));
	REPLY_AUTO there = template_do("GET", "acme/all");
	assert_int_equal(there.status, 200);
	REPLY_AUTO r = template_run(IMAGE_USER, "acme/all", NULL, id);
	assert_true(json_is_true(json_at(r.json, "warm.booted")));
	template_says(id, "/work", "cat src/a", "hello\n");
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
a_boot_is_a_use_and_nothing_of_the_volume_outlives_its_run(void **state)
{
	char id[ULID_SIZE], path[200];

	(void)state;
	REPLY_AUTO before = template_do("GET", "acme/all");
	template_new(IMAGE_USER, "acme/all", NULL, id);
	REPLY_AUTO after = template_do("GET", "acme/all");
	assert_string_equal(text_at(&after, "warm.createdAt"),
	    text_at(&before, "warm.createdAt"));
	assert_true(strcmp(text_at(&after, "warm.lastUsedAt"),
			text_at(&before, "warm.lastUsedAt")) > 0);
	template_says(id, "/work", "echo x >upper", "");
	assert_int_equal(template_files("runs/*"), 1);
	(void)snprintf(path, sizeof(path), "/volumes/teploy-sbx-%s-warm", id);
	for (char *at = path; *at != '\0'; at++)
		*at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
	REPLY_AUTO volume = docker_do("GET", path, NULL);
	assert_int_equal(volume.status, 200);
	run_end(id);
	assert_int_equal(template_files("runs/*"), 0);
	REPLY_AUTO gone = docker_do("GET", path, NULL);
	assert_int_equal(gone.status, 404);
}

static void
an_exited_run_has_no_volume_to_look_at(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		template_new(
		    IMAGE_USER, i == 0 ? "acme/all" : "acme/no", NULL, id);
		char path[200];

		(void)snprintf(path, sizeof(path), "/containers/%s/kill",
		    json_string_value(json_at(docker_container(id), "Id")));
		REPLY_AUTO killed = docker_do("POST", path, NULL);
		assert_int_equal(killed.status, 204);
		REPLY_AUTO look_at =
		    http_do("GET", run_url(id, "warm"), NULL, NULL);
		check_problem(&look_at, 409, "run_not_running", "ended");
		REPLY_AUTO made = template_commit(id, NULL);
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
a_run_without_a_warm_volume_has_none_to_look_at(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_from(json_pack("{s:s, s:{}}", "image", IMAGE_PLAIN, "warm"), id);
	REPLY_AUTO run = http_do("GET", run_url(id, ""), NULL, NULL);
	assert_null(json_object_get(run.json, "warm"));
	REPLY_AUTO look_at = http_do("GET", run_url(id, "warm"), NULL, NULL);
	check_problem(&look_at, 400, "invalid_input", "no warm volume");
	REPLY_AUTO made = template_commit(id, "acme/x");
	check_problem(&made, 400, "invalid_input", "no warm volume");
	run_end(id);
}

static void
who_is_not_there_is_not_found(void **state)
{
	static const char absent[] = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

	(void)state;
	REPLY_AUTO look_at =
	    http_do("GET", run_url(absent, "warm"), NULL, NULL);
	check_problem(&look_at, 404, "run_not_found", absent);
	REPLY_AUTO made = template_commit(absent, NULL);
	check_problem(&made, 404, "run_not_found", absent);
	REPLY_AUTO bad = template_commit(absent, "one");
	check_problem(&bad, 400, "invalid_input", "one");
	REPLY_AUTO none = template_do("GET", "no/such");
	check_problem(&none, 404, "not_found", "no/such");
	REPLY_AUTO one = template_do("GET", "one");
	check_problem(&one, 400, "invalid_input", "one");
	REPLY_AUTO put = template_do("PUT", "a/b");
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
	template_drop("acme/all");
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
	    cmocka_unit_test(templates_are_listed_in_pages),
	    cmocka_unit_test(
		a_boot_is_a_use_and_nothing_of_the_volume_outlives_its_run),
	    cmocka_unit_test(an_exited_run_has_no_volume_to_look_at),
	    cmocka_unit_test(what_is_wrong_is_said),
	    cmocka_unit_test(a_run_without_a_warm_volume_has_none_to_look_at),
	    cmocka_unit_test(who_is_not_there_is_not_found),
	    cmocka_unit_test(a_flushed_redis_loses_no_template),
	    cmocka_unit_test(a_box_without_a_cache_says_so),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
