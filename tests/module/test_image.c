/* docker/image on a scripted engine. */
#include "docker/image.h"
#include "docker_fixture.h"
#include "lib/fd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PULL_PATH "/images/create*"

struct listener {
	int calls, gone_after; /* gone_after 0: never */
	int64_t current, total;
	int answer;
};

static int
progress(void *arg, int64_t current, int64_t total)
{
	struct listener *l = arg;

	l->calls++;
	l->current = current;
	l->total = total;
	return l->answer;
}

static bool
gone(void *arg)
{
	struct listener *l = arg;

	return l->gone_after > 0 && --l->gone_after == 0;
}

static int
pull(struct docker_fixture *d, const char *reference, struct listener *l,
    struct err *e)
{
	const struct image_pull how = {"", progress, gone, l};

	return image_pull(d->engine, reference, &how, e);
}

/* -- inspect -------------------------------------------------------------- */

static void
an_image_is_looked_at(void **state)
{
	struct docker_fixture *d = *state;
	struct image_info info;
	struct err e = ERR_INIT;

	fake_on(d->fake,
	    (struct fake_rule){.path = "/images/h.example%2Fa%2Fb%3Ac/json",
		.status = 200,
		.body = "{\"Id\":\"sha256:1\",\"Config\":"
			"{\"User\":\"app:app\"}}"});
	check_ok(image_inspect(d->engine, "h.example/a/b:c", &info, &e), &e);
	assert_string_equal(info.id, "sha256:1");
	assert_string_equal(info.user, "app:app");
	image_info_release(&info);
	/* Imported images may have no configuration at all. */
	fake_on(d->fake, (struct fake_rule){.path = "/images/x/json",
			     .status = 200,
			     .body = "{\"Id\":\"sha256:2\",\"Config\":null}"});
	check_ok(image_inspect(d->engine, "x", &info, &e), &e);
	assert_string_equal(info.user, "");
	image_info_release(&info);
}

static void
an_image_that_is_not_here_is_told_from_a_bad_reference(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum err_kind kind;
	} rows[] = {
	    {404, "{\"message\":\"No such image: x:latest\"}",
		ERR_IMAGE_ABSENT},
	    {400,
		"{\"message\":\"no such image: X/x: invalid reference "
		"format: repository name must be lowercase\"}",
		ERR_INPUT},
	    {500, "{\"message\":\"no\"}", ERR_ENGINE},
	    {200, "{}", ERR_ENGINE},
	};
	struct docker_fixture *d = *state;
	struct image_info info;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		fake_on(d->fake, (struct fake_rule){.path = "/images/*",
				     .status = rows[i].status,
				     .body = rows[i].body});
		check_fails(image_inspect(d->engine, "X/x", &info, &e), &e,
		    rows[i].kind);
	}
	struct err e = ERR_INIT;
	size_t before = fake_request_count(d->fake);
	check_fails(image_inspect(d->engine, "../containers/x", &info, &e), &e,
	    ERR_INPUT);
	assert_int_equal(fake_request_count(d->fake), before);
}

/* -- pull ----------------------------------------------------------------- */

static void
a_pull_tells_how_it_goes(void **state)
{
	static const char *const lines[] = {
	    "{\"status\":\"Pulling from a/b\",\"id\":\"c\"}\r\n{\"status\":"
	    "\"Downloading\",\"progressDetail\":{\"current\":1,",
	    "\"total\":10},\"id\":\"l1\"}\r\n",
	    "{\"status\":\"Download complete\",\"id\":\"l1\"}\r\n",
	    "{\"status\":\"Status: Downloaded newer image for a/b:c\"}\r\n",
	    NULL};
	struct docker_fixture *d = *state;
	struct listener l = {0};
	struct err e = ERR_INIT;

	fake_on(
	    d->fake, (struct fake_rule){
			 .path = PULL_PATH, .status = 200, .chunks = lines});
	check_ok(pull(d, "a/b:c", &l, &e), &e);
	assert_int_equal(l.total, 10);
	assert_int_equal(l.current, 10);
	assert_in_range(l.calls, 1, 2);
	assert_string_equal(fake_request(d->fake, 1).path,
	    "/images/create?fromImage=a%2Fb&tag=c");
	assert_null(strstr(fake_request(d->fake, 1).head, "X-Registry-Auth"));
}

static void
a_pull_names_one_image_never_all_its_tags(void **state)
{
	static const struct {
		const char *reference, *path;
	} rows[] = {
	    {"busybox", "/images/create?fromImage=busybox&tag=latest"},
	    {"h.example:5000/a:t@sha256:"
	     "0123456789abcdef0123456789abcdef"
	     "0123456789abcdef0123456789abcdef",
		"/images/create?fromImage=h.example%3A5000%2Fa&tag=sha256%3A"
		"0123456789abcdef0123456789abcdef"
		"0123456789abcdef0123456789abcdef"},
	};
	struct docker_fixture *d = *state;
	struct listener l = {0};
	struct err e = ERR_INIT;

	fake_on(d->fake, (struct fake_rule){.path = PULL_PATH, .status = 200});
	for (size_t i = 0; i < 2; i++) {
		check_ok(pull(d, rows[i].reference, &l, &e), &e);
		assert_string_equal(
		    fake_request(d->fake, i + 1).path, rows[i].path);
	}
}

/* The whole answers of Docker 20.10 to pulls that cannot work. */
static void
failed_pulls_are_told_apart(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum err_kind kind;
	} rows[] = {
	    {404,
		"{\"message\":\"manifest for 127.0.0.1:1/a:b not found: "
		"manifest unknown: manifest unknown\"}",
		ERR_IMAGE_ABSENT},
	    {404,
		"{\"message\":\"pull access denied for a, repository does "
		"not exist or may require 'docker login'\"}",
		ERR_IMAGE_ABSENT},
	    {400, "{\"message\":\"invalid reference format\"}", ERR_INPUT},
	    {500, "{\"message\":\"unauthorized: authentication required\"}",
		ERR_IMAGE_ABSENT},
	    {500,
		"{\"message\":\"Get \\\"http://127.0.0.1:1/v2/\\\": dial tcp "
		"127.0.0.1:1: connect: connection refused\"}",
		ERR_REGISTRY},
	    {500, "", ERR_REGISTRY},
	    {200,
		"{\"status\":\"Pulling from a\",\"id\":\"b\"}\r\n"
		"{\"errorDetail\":{\"message\":\"unexpected EOF\"},"
		"\"error\":\"unexpected EOF\"}\r\n",
		ERR_REGISTRY},
	    {200, "{\"error\":\"manifest unknown\"}", ERR_IMAGE_ABSENT},
	    {200, "{\"error\":\"no space left on device\"}\n", ERR_ENGINE},
	    {200, "<html>\n", ERR_ENGINE},
	    {200, "<html>", ERR_ENGINE},
	};
	struct docker_fixture *d = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct listener l = {0};
		struct err e = ERR_INIT;

		fake_on(d->fake, (struct fake_rule){.path = PULL_PATH,
				     .status = rows[i].status,
				     .body = rows[i].body});
		check_fails(pull(d, "a:b", &l, &e), &e, rows[i].kind);
		assert_non_null(strstr(e.text, "\"a:b\""));
	}
}

static void
what_cannot_be_pulled_is_not_asked_for(void **state)
{
	struct docker_fixture *d = *state;
	struct listener l = {0};
	struct err e = ERR_INIT;

	check_fails(pull(d, "a b", &l, &e), &e, ERR_INPUT);
	check_fails(pull(d,
			"sha256:0123456789abcdef0123456789abcdef"
			"0123456789abcdef0123456789abcdef",
			&l, &e),
	    &e, ERR_IMAGE_ABSENT);
	assert_int_equal(fake_request_count(d->fake), 0);
}

static void
a_pull_stops_when_its_caller_does(void **state)
{
	static const char line[] = "{\"status\":\"Downloading\",\"id\":\"l\","
				   "\"progressDetail\":{\"current\":1,"
				   "\"total\":9}}\n";
	struct docker_fixture *d = *state;
	struct listener stops = {.answer = -1}, leaves = {.gone_after = 2};
	struct err e = ERR_INIT;

	fake_on(d->fake,
	    (struct fake_rule){.path = PULL_PATH, .status = 200, .body = line});
	check_fails(pull(d, "a", &stops, &e), &e, ERR_GONE_AWAY);
	fake_on(d->fake, (struct fake_rule){.path = PULL_PATH,
			     .status = 200,
			     .body = line,
			     .end = FAKE_STALL,
			     .bytes = 20});
	check_fails(pull(d, "a", &leaves, &e), &e, ERR_GONE_AWAY);
}

static void
an_engine_that_is_lost_in_a_pull_is_not_the_registry(void **state)
{
	static const char *const lines[] = {"{}\n", "{}\n", NULL};
	struct docker_fixture *d = *state;
	struct listener l = {0};
	struct err e = ERR_INIT;

	fake_on(d->fake, (struct fake_rule){.path = PULL_PATH,
			     .status = 200,
			     .chunks = lines,
			     .end = FAKE_CLOSE,
			     .bytes = 60});
	check_fails(pull(d, "a", &l, &e), &e, ERR_ENGINE_AWAY);
	fake_down(d->fake);
	check_fails(pull(d, "a", &l, &e), &e, ERR_ENGINE_AWAY);
}

static void
credentials_go_to_their_own_registry_only(void **state)
{
	static const char config[] =
	    "{\"auths\":{\"127.0.0.1:5000\":{\"auth\":\"Ym9iOnMzOmNyZXQ=\"}}}";
	struct docker_fixture *d = *state;
	char path[] = "/tmp/sbx-config-XXXXXX";
	struct image_pull how = {path, NULL, NULL, NULL};
	struct err e = ERR_INIT;
	FD_AUTO fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(
	    write(fd, config, sizeof(config) - 1), (ssize_t)sizeof(config) - 1);
	fake_on(d->fake, (struct fake_rule){.path = PULL_PATH, .status = 200});
	check_ok(image_pull(d->engine, "127.0.0.1:5000/a", &how, &e), &e);
	check_ok(image_pull(d->engine, "127.0.0.1:5001/a", &how, &e), &e);
	assert_non_null(strstr(fake_request(d->fake, 1).head,
	    "\r\nX-Registry-Auth: eyJ1c2VybmFtZSI6ImJvYiIs"));
	assert_null(strstr(fake_request(d->fake, 2).head, "X-Registry-Auth"));
	assert_int_equal(unlink(path), 0);
	check_fails(image_pull(d->engine, "a", &how, &e), &e, ERR_INTERNAL);
	assert_int_equal(fake_request_count(d->fake), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    docker_test(an_image_is_looked_at),
	    docker_test(an_image_that_is_not_here_is_told_from_a_bad_reference),
	    docker_test(a_pull_tells_how_it_goes),
	    docker_test(a_pull_names_one_image_never_all_its_tags),
	    docker_test(failed_pulls_are_told_apart),
	    docker_test(what_cannot_be_pulled_is_not_asked_for),
	    docker_test(a_pull_stops_when_its_caller_does),
	    docker_test(an_engine_that_is_lost_in_a_pull_is_not_the_registry),
	    docker_test(credentials_go_to_their_own_registry_only),
	};
	struct err e = ERR_INIT;

	if (engine_setup(&e) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
