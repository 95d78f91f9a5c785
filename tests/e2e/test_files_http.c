/* Files over HTTP: ranges, conditions, bodies of every kind, clients that
 * leave, stop and hurry. */
#include "files.h"
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MB 3
#define LIMIT ((size_t)LIMIT_MB << 20)
#define END_MS 30000

static char run[ULID_SIZE];

static int
setup(void **state)
{
	static const char *const env[] = {
	    "SBX_MAX_UPLOAD_MB=3", "SBX_CLIENT_STALL_SEC=4", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
	run_new(IMAGE_PLAIN, run);
	return 0;
}

static int
teardown(void **state)
{
	run_end(run);
	return stack_stop(state);
}

/* A reply's header as a copy; "" where absent. */
static char *
header(const struct reply *r, const char *name)
{
	const char *value = http_header(&r->headers, name);

	return strdup(value != NULL ? value : "");
}

/* -- down ---------------------------------------------------------------- */

static void
a_get_tells_length_version_and_date(void **state)
{
	(void)state;
	file_put(run, "f", "0123456789");
	free(file_sh(run, "touch -d '2001-02-03 04:05:06' f"));
	REPLY_AUTO r = file_do("GET", run, "f");
	assert_string_equal(http_header(&r.headers, "Content-Length"), "10");
	assert_string_equal(http_header(&r.headers, "Accept-Ranges"), "bytes");
	assert_string_equal(http_header(&r.headers, "Last-Modified"),
	    "Sat, 03 Feb 2001 04:05:06 GMT");
	assert_null(http_header(&r.headers, "Content-Range"));
	char *etag = header(&r, "ETag");
	assert_int_equal(etag[0], '"');
	REPLY_AUTO head = file_do("HEAD", run, "f");
	assert_int_equal(head.status, 200);
	assert_int_equal(head.body.size, 0);
	assert_string_equal(http_header(&head.headers, "Content-Length"), "10");
	assert_string_equal(http_header(&head.headers, "ETag"), etag);
	/* Another version has another tag: other bytes, or another file. */
	free(file_sh(run, "printf 9876543210 >f"));
	REPLY_AUTO other = file_do("HEAD", run, "f");
	assert_string_not_equal(http_header(&other.headers, "ETag"), etag);
	free(etag);
	REPLY_AUTO none = file_do("HEAD", run, "none");
	assert_int_equal(none.status, 404);
}

static void
check_range(const char *range, const char *more, long status,
    const char *content_range, const char *body)
{
	char line[200];

	(void)snprintf(line, sizeof(line), "Range: %s", range);
	REPLY_AUTO r =
	    http_do("GET", file_url(run, "r"), NULL, line, more, NULL);
	char *got = header(&r, "Content-Range");
	if (r.status != status || !str_eq(got, content_range))
		fail_msg("%s: %ld %s %s", range, r.status, got, r.body.data);
	free(got);
	if (body == NULL)
		check_problem(&r, status, "range_not_satisfiable", "10 bytes");
	else
		assert_string_equal(r.body.data, body);
}

static void
ranges_are_parts_of_a_file(void **state)
{
	char line[100];

	(void)state;
	file_put(run, "r", "0123456789");
	check_range("bytes=0-0", NULL, 206, "bytes 0-0/10", "0");
	check_range("bytes=2-4", NULL, 206, "bytes 2-4/10", "234");
	check_range("bytes=7-", NULL, 206, "bytes 7-9/10", "789");
	check_range("bytes=-3", NULL, 206, "bytes 7-9/10", "789");
	check_range("bytes=0-", NULL, 206, "bytes 0-9/10", "0123456789");
	check_range("bytes=5-99", NULL, 206, "bytes 5-9/10", "56789");
	check_range("bytes=-99", NULL, 206, "bytes 0-9/10", "0123456789");
	check_range("bytes=10-", NULL, 416, "bytes */10", NULL);
	check_range("bytes=-0", NULL, 416, "bytes */10", NULL);
	check_range("bytes=4-2", NULL, 200, "", "0123456789");
	check_range("bytes=0-1,4-5", NULL, 200, "", "0123456789");
	check_range("chars=0-1", NULL, 200, "", "0123456789");
	REPLY_AUTO r = file_do("HEAD", run, "r");
	(void)snprintf(line, sizeof(line), "If-Range: %s",
	    http_header(&r.headers, "ETag"));
	check_range("bytes=2-4", line, 206, "bytes 2-4/10", "234");
	check_range("bytes=2-4", "If-Range: \"other\"", 200, "", "0123456789");
	(void)snprintf(line, sizeof(line), "If-Range: %s",
	    http_header(&r.headers, "Last-Modified"));
	check_range("bytes=2-4", line, 200, "", "0123456789");
	/* Of a HEAD there are no parts. */
	REPLY_AUTO head =
	    http_do("HEAD", file_url(run, "r"), NULL, "Range: bytes=2-4", NULL);
	assert_int_equal(head.status, 200);
	assert_string_equal(http_header(&head.headers, "Content-Length"), "10");
}

static void
an_empty_file_has_no_parts(void **state)
{
	(void)state;
	file_put(run, "empty", "");
	REPLY_AUTO r = http_do(
	    "GET", file_url(run, "empty"), NULL, "Range: bytes=0-", NULL);
	check_problem(&r, 416, "range_not_satisfiable", NULL);
	assert_string_equal(
	    http_header(&r.headers, "Content-Range"), "bytes */0");
	REPLY_AUTO last = http_do(
	    "GET", file_url(run, "empty"), NULL, "Range: bytes=-5", NULL);
	assert_int_equal(last.status, 200);
	assert_int_equal(last.body.size, 0);
	assert_string_equal(http_header(&last.headers, "Content-Length"), "0");
}

static void
what_is_not_modified_is_not_sent(void **state)
{
	char line[100];

	(void)state;
	file_put(run, "m", "m");
	free(file_sh(run, "touch -d '2001-02-03 04:05:06' m"));
	REPLY_AUTO r = file_do("GET", run, "m");
	char *etag = header(&r, "ETag");
	(void)snprintf(line, sizeof(line), "If-None-Match: \"x\", W/%s", etag);
	const struct {
		const char *a, *b;
		long status;
	} conditions[] = {{line, NULL, 304}, {"If-None-Match: *", NULL, 304},
	    {"If-None-Match: \"x\"", NULL, 200},
	    {"If-Modified-Since: Sat, 03 Feb 2001 04:05:06 GMT", NULL, 304},
	    {"If-Modified-Since: Sat, 03 Feb 2001 04:05:05 GMT", NULL, 200},
	    {"If-Modified-Since: yesterday", NULL, 200},
	    /* The tag decides where there is one. */
	    {"If-Modified-Since: Sat, 03 Feb 2001 04:05:06 GMT",
		"If-None-Match: \"x\"", 200}};
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]);
	     i++) {
		REPLY_AUTO got = http_do("GET", file_url(run, "m"), NULL,
		    conditions[i].a, conditions[i].b, NULL);

		if (got.status != conditions[i].status)
			fail_msg("%s: %ld", conditions[i].a, got.status);
		assert_string_equal(http_header(&got.headers, "ETag"), etag);
		assert_int_equal(got.body.size, got.status == 200);
	}
	free(etag);
}

/* -- up ------------------------------------------------------------------ */

static void
an_upload_over_the_limit_is_refused_and_changes_nothing(void **state)
{
	char *bytes = calloc(1, LIMIT + 1);

	(void)state;
	file_put(run, "l", "old");
	REPLY_AUTO over = file_send(run, "l", bytes, LIMIT + 1);
	check_problem(&over, 413, "content_too_large", "SBX_MAX_UPLOAD_MB");
	file_is(run, "l", "old");
	/* At once, not after the body. */
	struct upload announced = upload_begin(run, "l", 1LL << 40);
	REPLY_AUTO early = upload_end(&announced);
	assert_int_equal(early.status, 413);
	struct upload chunked = upload_begin(run, "l", -1);
	while (upload_more(&chunked, 1 << 20) && early.took_ms++ < 4)
		;
	REPLY_AUTO late = upload_end(&chunked);
	assert_int_equal(late.status, 413);
	file_is(run, "l", "old");
	REPLY_AUTO all = file_send(run, "l", bytes, LIMIT);
	assert_int_equal(all.status, 204);
	char *size = file_sh(run, "stat -c %s l; ls -A | grep -c tmp; :");
	assert_string_equal(size, "3145728\n0\n");
	free(size);
	free(bytes);
}

static void
a_body_comes_with_a_length_or_in_chunks(void **state)
{
	static const size_t sizes[] = {0, 1, 8192, 65536, 1000000};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (int chunked = 0; chunked < 2; chunked++) {
			struct upload u = upload_begin(
			    run, "c", chunked ? -1 : (int64_t)sizes[i]);

			if (sizes[i] > 0)
				assert_true(upload_more(&u, sizes[i]));
			REPLY_AUTO r = upload_end(&u);
			assert_int_equal(r.status, 204);
			REPLY_AUTO got = file_do("GET", run, "c");
			assert_int_equal(got.body.size, sizes[i]);
			assert_int_equal(strspn(got.body.data, "x"), sizes[i]);
		}
	}
}

/* RFC 9110, 14.5; and no condition is passed over in silence. */
static void
changes_with_headers_that_are_not_served_are_refused(void **state)
{
	static const char *const lines[] = {"If-Match: *", "If-None-Match: *",
	    "If-Unmodified-Since: yesterday", "Content-Range: bytes 0-0/3"};
	static const char *const changes[][2] = {{"PUT", "h"},
	    {"PUT", "?archive=tar"}, {"POST", "h?move=i"},
	    {"POST", "j?mkdir=1"}, {"DELETE", "h"}};

	(void)state;
	file_put(run, "h", "old");
	for (size_t i = 0; i < 4 * 5; i++) {
		const char *const *change = changes[i / 4];
		char *name = strdup(lines[i % 4]);

		if (i < 2) { /* PUT serves those */
			free(name);
			continue;
		}
		REPLY_AUTO r = http_do(change[0], file_url(run, change[1]), "x",
		    lines[i % 4], NULL);
		*strchr(name, ':') = '\0';
		check_problem(&r, 400, "invalid_input", name);
		free(name);
	}
	file_is(run, "h", "old");
}

static void
put_if(const char *what, const char *line, long status)
{
	REPLY_AUTO r = http_do("PUT", file_url(run, what), "new", line, NULL);

	if (status == 412)
		check_problem(&r, 412, "precondition_failed", what);
	else if (status == 400)
		check_problem(&r, 400, "invalid_input", "If-");
	else
		assert_int_equal(r.status, status);
}

static void
an_upload_may_depend_on_what_is_there(void **state)
{
	char line[200];

	(void)state;
	put_if("cond", "If-Match: *", 412);
	put_if("cond", "If-Match: \"a-1\", W/\"b\"", 412);
	put_if("cond", "If-None-Match: *", 204);
	put_if("cond", "If-None-Match: *", 412);
	REPLY_AUTO r = file_do("HEAD", run, "cond");
	char *etag = header(&r, "ETag");
	(void)snprintf(line, sizeof(line), "If-Match: W/%s", etag);
	put_if("cond", line, 412);
	(void)snprintf(line, sizeof(line), "If-Match: \"other\" , %s", etag);
	put_if("cond", line, 204);
	put_if("cond", line, 412);
	put_if("cond", "If-Match: *", 204);
	file_is(run, "cond", "new");
	put_if("cond", "If-Match: a-1", 400);
	put_if("cond", "If-None-Match: \"a-1\"", 400);
	put_if("cond",
	    "If-Match: \"1-1\",\"2-1\",\"3-1\",\"4-1\",\"5-1\","
	    "\"6-1\",\"7-1\",\"8-1\",\"9-1\"",
	    400);
	free(etag);
}

static void
mistakes_are_called_by_their_names(void **state)
{
	(void)state;
	free(file_sh(run, "mkdir -p in/e && ln -s in li"));
	file_fails("POST", run, "in?move=in/e/x", 400, "invalid_input",
	    "into itself, or to a place below itself: in -> in/e/x");
	file_fails("POST", run, "in?move=li/x", 400, "invalid_input", "itself");
	file_fails("DELETE", run, "in?owner=%00", 400, "invalid_input", "NUL");
	REPLY_AUTO r = http_do("POST", run_url(run, "exec"),
	    "{\"cmd\":\"true\",\"timeoutSec\":9223372036854775808}", NULL);
	check_problem(&r, 400, "invalid_json",
	    "timeoutSec at line 1, column 46 is out of range: whole numbers go "
	    "from "
	    "-9223372036854775808 to 9223372036854775807");
}

/* Nothing of it is seen before its end, and nothing is left of it. */
static void
an_upload_that_is_cut_off_leaves_the_old_file(void **state)
{
	(void)state;
	free(file_sh(run, "mkdir cut"));
	file_put(run, "cut/f", "old");
	for (int chunked = 0; chunked < 2; chunked++) {
		struct upload u =
		    upload_begin(run, "cut/f", chunked ? -1 : 2000000);

		assert_true(upload_more(&u, 500000));
		file_is(run, "cut/f", "old");
		upload_cut(&u);
	}
	struct upload fresh = upload_begin(run, "cut/new/g", 10);
	assert_true(upload_more(&fresh, 5));
	upload_cut(&fresh);
	struct reply in_flight = {.status = 1};
	int64_t count = 1;
	wait_until(
	    (reply_release(&in_flight),
		in_flight = http_do("GET", run_url(run, ""), NULL, NULL),
		count = json_integer_value(json_at(in_flight.json, "inFlight")),
		count == 0),
	    END_MS);
	reply_release(&in_flight);
	file_is(run, "cut/f", "old");
	file_fails("GET", run, "cut/new/g", 404, "file_not_found", NULL);
	char *left = file_sh(run, "find cut -type f");
	assert_string_equal(left, "cut/f\n");
	free(left);
}

static void
a_slow_upload_is_waited_for_and_a_stopped_one_is_not(void **state)
{
	int64_t begun = clock_mono_ms();
	struct upload slow = upload_begin(run, "slow", 6);

	(void)state;
	/* Longer than SBX_CLIENT_STALL_SEC together, each piece within it. */
	for (int64_t i = 1; i <= 6; i++) {
		assert_true(upload_more(&slow, 1));
		wait_until(clock_mono_ms() > begun + i * 1000, END_MS);
	}
	REPLY_AUTO r = upload_end(&slow);
	assert_int_equal(r.status, 204);
	file_is(run, "slow", "xxxxxx");
	struct upload stopped = upload_begin(run, "slow", 6);
	assert_true(upload_more(&stopped, 3));
	REPLY_AUTO late = upload_end(&stopped);
	check_problem(&late, 400, "invalid_input", "in time");
	file_is(run, "slow", "xxxxxx");
}

/* -- at once ------------------------------------------------------------- */

#define SWAP_SIZE 200000

static atomic_bool stop;

static void *
write_versions(void *arg)
{
	char *bytes = malloc(SWAP_SIZE);

	(void)arg;
	for (int i = 0; !atomic_load(&stop); i++) {
		memset(bytes, 'a' + i % 26, SWAP_SIZE);
		REPLY_AUTO r =
		    file_send(run, "swap", bytes, SWAP_SIZE - (size_t)(i % 26));
		if (r.status != 204)
			break;
	}
	free(bytes);
	return NULL;
}

static void
a_reader_sees_one_version_whole(void **state)
{
	pthread_t writer[2];

	(void)state;
	file_put(run, "swap", "a");
	atomic_store(&stop, false);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    pthread_create(&writer[i], NULL, write_versions, NULL), 0);
	for (int i = 0; i < 200; i++) {
		REPLY_AUTO r = file_do("GET", run, "swap");

		assert_int_equal(r.status, 200);
		assert_true(r.body.size > 0);
		const char same[2] = {r.body.data[0], '\0'};
		assert_int_equal(strspn(r.body.data, same), r.body.size);
		if (r.body.size > 1)
			assert_int_equal(
			    r.body.size, SWAP_SIZE - (r.body.data[0] - 'a'));
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(writer[i], NULL), 0);
}

/* A client may trust the length: what shrinks under it is a broken reply. */
static void
a_file_that_shrinks_under_a_reader_cuts_the_reply(void **state)
{
	(void)state;
	free(file_sh(run, "dd if=/dev/zero of=s bs=1M count=200 2>/dev/null"));
	int fd = download_begin(run, "s");
	free(file_sh(run, ": >s"));
	assert_false(download_finish(fd));
}

/* Whoever sends it: what is open of it keeps nothing of the run. */
static void
a_run_that_is_deleted_under_a_reader_cuts_the_reply(void **state)
{
	char other[ULID_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, other);
	free(
	    file_sh(other, "dd if=/dev/zero of=s bs=1M count=200 2>/dev/null"));
	int fd = download_begin(other, "s");
	run_end(other);
	assert_false(download_finish(fd));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_get_tells_length_version_and_date),
	    cmocka_unit_test(ranges_are_parts_of_a_file),
	    cmocka_unit_test(an_empty_file_has_no_parts),
	    cmocka_unit_test(what_is_not_modified_is_not_sent),
	    cmocka_unit_test(
		an_upload_over_the_limit_is_refused_and_changes_nothing),
	    cmocka_unit_test(a_body_comes_with_a_length_or_in_chunks),
	    cmocka_unit_test(
		changes_with_headers_that_are_not_served_are_refused),
	    cmocka_unit_test(an_upload_may_depend_on_what_is_there),
	    cmocka_unit_test(mistakes_are_called_by_their_names),
	    cmocka_unit_test(an_upload_that_is_cut_off_leaves_the_old_file),
	    cmocka_unit_test(
		a_slow_upload_is_waited_for_and_a_stopped_one_is_not),
	    cmocka_unit_test(a_reader_sees_one_version_whole),
	    cmocka_unit_test(a_file_that_shrinks_under_a_reader_cuts_the_reply),
	    cmocka_unit_test(
		a_run_that_is_deleted_under_a_reader_cuts_the_reply),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
