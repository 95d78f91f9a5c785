/* docker/commit on a scripted engine. */
#include "../wait.h"
#include "docker/commit.h"
#include "docker_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ID        \
	"sha256:" \
	"6666666666666666666666666666666666666666666666666666666666666666"
#define EXPORT "/containers/box/export"
#define IMPORT "/images/create?fromSrc=-*"

static const struct commit_watch patient = {NULL, NULL};

static bool
at_once(void *arg)
{
	(void)arg;
	return true;
}

static const struct commit_watch impatient = {at_once, NULL};

static int
refuse_once(struct docker_fixture *f, int status, const char *words)
{
	static char body[300];

	(void)snprintf(body, sizeof(body), "{\"message\":\"%s\"}", words);
	fake_on(f->fake, (struct fake_rule){.method = "POST",
			     .path = "/commit?*",
			     .times = 1,
			     .status = status,
			     .body = body});
	return 0;
}

static int
commit(struct docker_fixture *f, char id[IMAGE_ID_SIZE], struct err *e)
{
	return commit_container(
	    f->engine, "a/b", "{\"User\":\"x\"}", &patient, id, e);
}

/* -- commit ---------------------------------------------------------------- */

static void
a_commit_says_all_and_does_not_pause(void **state)
{
	struct docker_fixture *f = *state;
	char id[IMAGE_ID_SIZE];
	struct err e = ERR_INIT;

	fake_on(f->fake, (struct fake_rule){.method = "POST",
			     .path = "/commit?*",
			     .status = 201,
			     .body = "{\"Id\":\"" ID "\"}"});
	check_ok(commit(f, id, &e), &e);
	assert_string_equal(id, ID);
	const struct fake_request r =
	    fake_request(f->fake, fake_request_count(f->fake) - 1);
	assert_string_equal(r.path, "/commit?pause=0&container=a%2Fb");
	assert_string_equal(r.body, "{\"User\":\"x\"}");
}

static void
a_commit_that_met_another_is_tried_again(void **state)
{
	struct docker_fixture *f = *state;
	char id[IMAGE_ID_SIZE];
	struct err e = ERR_INIT;

	fake_on(f->fake, (struct fake_rule){.path = "/commit?*",
			     .status = 201,
			     .body = "{\"Id\":\"" ID "\"}"});
	refuse_once(f, 500, "snapshot x: already exists");
	check_ok(commit(f, id, &e), &e);
	assert_int_equal(fake_seen(f->fake, "POST", "/commit?*"), 2);
	fake_on(f->fake, (struct fake_rule){.path = "/commit?*",
			     .status = 500,
			     .body = "{\"message\":\"already exists\"}"});
	check_fails(commit(f, id, &e), &e, ERR_ENGINE);
	assert_int_equal(fake_seen(f->fake, "POST", "/commit?*"), 5);
}

static void
what_the_engine_refuses_has_a_kind(void **state)
{
	static const struct {
		int status;
		const char *words;
		enum err_kind kind;
	} rows[] = {
	    {404, "No such container: x", ERR_ABSENT},
	    {409, "removal in progress", ERR_CONFLICT},
	    {500, "write /x: no space left on device", ERR_FILE_SPACE},
	    {500, "disk quota exceeded", ERR_FILE_SPACE},
	    {500, "something", ERR_ENGINE},
	};
	struct docker_fixture *f = *state;
	char id[IMAGE_ID_SIZE];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		refuse_once(f, rows[i].status, rows[i].words);
		check_fails(commit(f, id, &e), &e, rows[i].kind);
		/* No path of the host in what a caller may read. */
		if (rows[i].kind == ERR_FILE_SPACE)
			assert_null(strstr(e.text, "/x"));
	}
}

static void
an_answer_without_an_id_is_none(void **state)
{
	static const char *const bodies[] = {
	    "", "{}", "{\"Id\":\"\"}", "{\"Id\":7}", "[]", "x"};
	struct docker_fixture *f = *state;
	char id[IMAGE_ID_SIZE];

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct err e = ERR_INIT;

		fake_on(f->fake,
		    (struct fake_rule){
			.path = "/commit?*", .status = 201, .body = bodies[i]});
		check_fails(commit(f, id, &e), &e, ERR_ENGINE);
	}
}

static void
who_leaves_is_not_kept(void **state)
{
	struct docker_fixture *f = *state;
	char id[IMAGE_ID_SIZE];
	struct err e = ERR_INIT;

	fake_on(
	    f->fake, (struct fake_rule){
			 .path = "/commit?*", .raw = "", .end = FAKE_STALL});
	check_fails(
	    commit_container(f->engine, "box", "{}", &impatient, id, &e), &e,
	    ERR_GONE_AWAY);
}

/* -- export into import ---------------------------------------------------- */

#define BLOCK 65536u

struct source {
	size_t blocks; /* what comes of it, then it ends */
	size_t sent;
	bool broken; /* or breaks off */
};

static void
send_tar(void *arg, int fd)
{
	struct source *s = arg;
	static char block[BLOCK];
	char head[120];

	(void)snprintf(head, sizeof(head),
	    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
	    s->blocks * BLOCK + (s->broken ? 1 : 0));
	(void)send(fd, head, strlen(head), MSG_NOSIGNAL);
	for (s->sent = 0; s->sent < s->blocks; s->sent++) {
		memset(block, (int)('a' + s->sent % 26), BLOCK);
		for (size_t at = 0; at < BLOCK;) {
			ssize_t n =
			    send(fd, block + at, BLOCK - at, MSG_NOSIGNAL);
			if (n <= 0)
				return;
			at += (size_t)n;
		}
	}
}

static void
script_move(struct docker_fixture *f, struct source *s, const char *answer)
{
	fake_on(f->fake, (struct fake_rule){.method = "GET",
			     .path = EXPORT,
			     .raw = "",
			     .stream = send_tar,
			     .arg = s});
	fake_on(f->fake, (struct fake_rule){.method = "POST",
			     .path = IMPORT,
			     .status = 200,
			     .body = answer});
}

static const struct label flat_labels[] = {
    {"a.b", "plain"}, {"c", "a \"quoted\" $HOME \\ [\"/x\"]"}};

static int
flatten(struct docker_fixture *f, const struct commit_watch *watch,
    char id[IMAGE_ID_SIZE], struct err *e)
{
	return commit_flat(f->engine, "box", flat_labels, 2, watch, id, e);
}

static void
a_file_system_moves_whole_and_in_order(void **state)
{
	struct docker_fixture *f = *state;
	struct source s = {.blocks = 12};
	char id[IMAGE_ID_SIZE];
	struct err e = ERR_INIT;

	script_move(
	    f, &s, "{\"status\":\"Importing\"}\r\n{\"status\":\"" ID "\"}\r\n");
	check_ok(flatten(f, &patient, id, &e), &e);
	assert_string_equal(id, ID);
	const struct fake_request r =
	    fake_request(f->fake, fake_request_count(f->fake) - 1);
	assert_string_equal(r.path,
	    "/images/create?fromSrc=-"
	    "&changes=LABEL%20a.b%3D%22plain%22"
	    "&changes=LABEL%20c%3D%22a%20%5C%22quoted%5C%22%20%5C%24HOME%20"
	    "%5C%5C%20%5B%5C%22%2Fx%5C%22%5D%22");
	assert_int_equal(strlen(r.body), 12 * BLOCK);
	for (size_t i = 0; i < 12 * BLOCK; i++)
		if (r.body[i] != (char)('a' + i / BLOCK % 26))
			fail_msg("byte %zu is wrong", i);
}

/* In pieces, of which few are here at a time. */
static void
a_large_one_takes_no_memory(void **state)
{
	struct docker_fixture *f = *state;
	struct source s = {.blocks = 4096}; /* 256 MiB */
	struct rusage before, after;
	char id[IMAGE_ID_SIZE];
	struct err e = ERR_INIT;

	script_move(f, &s, "{\"status\":\"" ID "\"}");
	(void)getrusage(RUSAGE_SELF, &before);
	check_ok(flatten(f, &patient, id, &e), &e);
	(void)getrusage(RUSAGE_SELF, &after);
	assert_int_equal(s.sent, 4096);
	assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 32 * 1024);
}

static void
one_that_breaks_off_is_no_image(void **state)
{
	struct docker_fixture *f = *state;
	struct source s = {.blocks = 3, .broken = true};
	char id[IMAGE_ID_SIZE];
	struct err e = ERR_INIT;

	script_move(f, &s, "{\"status\":\"" ID "\"}");
	check_fails(flatten(f, &patient, id, &e), &e, ERR_ENGINE_AWAY);
	assert_non_null(strstr(e.text, "import"));
}

static void
what_fails_behind_a_200_is_told(void **state)
{
	static const struct {
		const char *body;
		enum err_kind kind;
	} rows[] = {
	    {"{\"status\":\"x\"}\r\n{\"errorDetail\":{\"message\":\"bad\"},"
	     "\"error\":\"bad\"}\r\n",
		ERR_ENGINE},
	    {"{\"error\":\"write: no space left on device\"}", ERR_FILE_SPACE},
	    {"", ERR_ENGINE},
	    {"{\"status\":", ERR_ENGINE},
	    {"no JSON", ERR_ENGINE},
	};
	struct docker_fixture *f = *state;
	struct source s = {.blocks = 1};
	char id[IMAGE_ID_SIZE];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		script_move(f, &s, rows[i].body);
		check_fails(flatten(f, &patient, id, &e), &e, rows[i].kind);
	}
}

static void
a_container_that_is_gone_is_not_exported(void **state)
{
	struct docker_fixture *f = *state;
	char id[IMAGE_ID_SIZE];
	struct err e = ERR_INIT;

	fake_on(f->fake, (struct fake_rule){.path = EXPORT,
			     .status = 404,
			     .body = "{\"message\":\"No such container\"}"});
	check_fails(flatten(f, &patient, id, &e), &e, ERR_ABSENT);
	assert_int_equal(fake_seen(f->fake, "POST", IMPORT), 0);
}

static void
who_leaves_ends_both(void **state)
{
	struct docker_fixture *f = *state;
	char id[IMAGE_ID_SIZE];
	struct err e = ERR_INIT;

	fake_on(
	    f->fake, (struct fake_rule){.path = EXPORT,
			 .raw = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
			 .end = FAKE_STALL});
	fake_on(f->fake,
	    (struct fake_rule){.path = IMPORT, .status = 200, .body = "{}"});
	check_fails(flatten(f, &impatient, id, &e), &e, ERR_GONE_AWAY);
}

/* -- names and lists ------------------------------------------------------- */

static void
a_name_is_given_and_taken(void **state)
{
	struct docker_fixture *f = *state;
	struct err e = ERR_INIT;

	fake_on(f->fake, (struct fake_rule){.method = "POST",
			     .path = "/images/sha256%3A12/tag?repo=a&tag=b",
			     .status = 201});
	check_ok(image_tag(f->engine, "sha256:12", "a", "b", &e), &e);
	fake_on(f->fake, (struct fake_rule){.method = "DELETE",
			     .path = "/images/a%3Ab",
			     .status = 200,
			     .body = "[]"});
	check_ok(image_remove(f->engine, "a:b", &e), &e);
	check_fails(image_remove(f->engine, "a:c", &e), &e, ERR_ABSENT);
	fake_on(f->fake, (struct fake_rule){.method = "DELETE",
			     .path = "/images/a%3Ab",
			     .status = 409,
			     .body = "{\"message\":\"in use\"}"});
	check_fails(image_remove(f->engine, "a:b", &e), &e, ERR_CONFLICT);
}

static void
an_image_that_somebody_else_removes_too_is_removed(void **state)
{
	struct docker_fixture *f = *state;
	struct err e = ERR_INIT;

	fake_on(f->fake,
	    (struct fake_rule){.method = "DELETE",
		.path = "/images/a%3Ab",
		.status = 500,
		.body = "{\"message\":\"unrecognized image ID sha256:12\"}"});
	check_ok(image_remove(f->engine, "a:b", &e), &e);
	fake_on(f->fake, (struct fake_rule){.method = "DELETE",
			     .path = "/images/a%3Ab",
			     .status = 500,
			     .body = "{\"message\":\"no\"}"});
	check_fails(image_remove(f->engine, "a:b", &e), &e, ERR_ENGINE);
}

static void
a_list_has_names_labels_and_sizes(void **state)
{
	struct docker_fixture *f = *state;
	struct image_list list;
	struct err e = ERR_INIT;

	fake_on(
	    f->fake, (struct fake_rule){.method = "GET",
			 .path = "/images/json?filters=*",
			 .status = 200,
			 .body = "[{\"Id\":\"sha256:1\",\"RepoTags\":[\"a:b\","
				 "\"c:d\"],\"Labels\":{\"k\":\"v\"},"
				 "\"Created\":7,\"Size\":9},"
				 "{\"Id\":\"sha256:2\",\"RepoTags\":"
				 "[\"<none>:<none>\"],\"Labels\":null},"
				 "{\"Id\":\"sha256:3\",\"RepoTags\":null}]"});
	check_ok(image_list(f->engine, "k", "v", &list, &e), &e);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.item[0].id, "sha256:1");
	assert_string_equal(list.item[0].tags[1], "c:d");
	assert_null(list.item[0].tags[2]);
	assert_string_equal(image_label(&list.item[0], "k"), "v");
	assert_null(image_label(&list.item[0], "x"));
	assert_int_equal(list.item[0].created_ms, 7000);
	assert_int_equal(list.item[0].bytes, 9);
	assert_null(list.item[1].tags[0]);
	assert_null(list.item[2].tags[0]);
	image_list_release(&list);
	fake_on(f->fake, (struct fake_rule){.path = "/images/json?filters=*",
			     .status = 200,
			     .body = "[{\"RepoTags\":[]}]"});
	check_fails(image_list(f->engine, "k", "v", &list, &e), &e, ERR_ENGINE);
	fake_on(f->fake,
	    (struct fake_rule){
		.path = "/images/json?filters=*", .status = 200, .body = "{}"});
	check_fails(image_list(f->engine, "k", "v", &list, &e), &e, ERR_ENGINE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    docker_test(a_commit_says_all_and_does_not_pause),
	    docker_test(a_commit_that_met_another_is_tried_again),
	    docker_test(what_the_engine_refuses_has_a_kind),
	    docker_test(an_answer_without_an_id_is_none),
	    docker_test(who_leaves_is_not_kept),
	    docker_test(a_file_system_moves_whole_and_in_order),
	    docker_test(a_large_one_takes_no_memory),
	    docker_test(one_that_breaks_off_is_no_image),
	    docker_test(what_fails_behind_a_200_is_told),
	    docker_test(a_container_that_is_gone_is_not_exported),
	    docker_test(who_leaves_ends_both),
	    docker_test(a_name_is_given_and_taken),
	    docker_test(an_image_that_somebody_else_removes_too_is_removed),
	    docker_test(a_list_has_names_labels_and_sizes),
	};

	return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
