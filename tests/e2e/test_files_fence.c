/* Files and leases: changes are fenced and in flight, reads are neither; and
 * what becomes of an upload when its lease, worker or run goes away. */
#include "files.h"
#include "harness.h"
#include "views.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define END_MS 40000 /* the marks of a dead worker lapse within 15 s */

static char run[ULID_SIZE];

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	return 0;
}

static int
with_run(void **state)
{
	(void)state;
	run_new(IMAGE_PLAIN, run);
	file_put(run, "f", "old");
	return 0;
}

static int
without_run(void **state)
{
	(void)state;
	run_end(run);
	return 0;
}

static long
take(const char *body, const char **ret_code)
{
	static char code[64];
	REPLY_AUTO r = http_do("POST", run_url(run, "lease"), body, NULL);
	const char *said = json_string_value(json_object_get(r.json, "code"));

	(void)snprintf(code, sizeof(code), "%s", said != NULL ? said : "");
	*ret_code = code;
	return r.status;
}

static void
check_taken(const char *body)
{
	const char *code;

	if (take(body, &code) != 200)
		fail_msg("%s: %s", body, code);
}

static int64_t
in_flight(void)
{
	REPLY_AUTO r = http_do("GET", run_url(run, ""), NULL, NULL);

	return json_integer_value(json_object_get(r.json, "inFlight"));
}

static char *
expiry(const char *id)
{
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);

	return strdup(json_string_value(json_at(r.json, "expiresAt")));
}

static bool
later(const char *id, const char *than)
{
	char *now = expiry(id);
	bool is = strcmp(now, than) > 0;

	free(now);
	return is;
}

static void
changes_need_the_lease_and_reads_do_not(void **state)
{
	static const struct {
		const char *method, *what;
	} changes[] = {{"PUT", "f"}, {"PUT", "f?archive=tar"},
	    {"POST", "d?mkdir=1"}, {"POST", "f?move=g"}, {"DELETE", "f"}};
	char what[128];

	(void)state;
	check_taken("{\"owner\":\"anna b+c\",\"ttlSec\":600}");
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const char *mark =
		    strchr(changes[i].what, '?') != NULL ? "&" : "?";

		file_fails(changes[i].method, run, changes[i].what, 409,
		    "lease_held", "anna");
		(void)snprintf(what, sizeof(what),
		    "%s%sowner=anna+b%%2Bc&generation=2", changes[i].what,
		    mark);
		file_fails(changes[i].method, run, what, 409,
		    "lease_superseded", "superseded");
	}
	file_is(run, "f", "old");
	REPLY_AUTO list = file_do("GET", run, "?list=1");
	assert_int_equal(list.status, 200);
	file_put(run, "f?owner=anna+b%2Bc&generation=1", "new");
	file_is(run, "f", "new");
	REPLY_AUTO gone =
	    file_do("DELETE", run, "f?owner=anna%20b%2Bc&generation=1");
	assert_int_equal(gone.status, 204);
	file_fails(
	    "PUT", run, "f?generation=x", 400, "invalid_input", "generation");
}

static void
an_upload_is_in_flight_and_a_download_is_not(void **state)
{
	const char *code;

	(void)state;
	free(file_sh(run, "dd if=/dev/zero of=big bs=1M count=100 "
			  "2>/dev/null"));
	int down = download_begin(run, "big");
	check_taken("{\"owner\":\"anna\",\"ttlSec\":600}");
	assert_int_equal(in_flight(), 0);
	struct upload up = upload_begin(run, "f?owner=anna&generation=1", 2000);
	assert_true(upload_more(&up, 1000));
	wait_until(in_flight() == 1, END_MS);
	assert_int_equal(
	    take("{\"owner\":\"anna\",\"ttlSec\":600}", &code), 409);
	assert_string_equal(code, "run_busy");
	assert_true(upload_more(&up, 1000));
	REPLY_AUTO r = upload_end(&up);
	assert_int_equal(r.status, 204);
	assert_int_equal(in_flight(), 0);
	check_taken("{\"owner\":\"anna\",\"ttlSec\":600}");
	assert_true(download_finish(down));
}

static void
force_ends_an_upload_and_the_old_file_stays(void **state)
{
	struct upload up = upload_begin(run, "f", 2000);

	(void)state;
	assert_true(upload_more(&up, 1000));
	wait_until(in_flight() == 1, END_MS);
	check_taken("{\"owner\":\"anna\",\"ttlSec\":600,\"force\":true}");
	file_is(run, "f", "old");
	file_put(run, "f?owner=anna&generation=1", "anna's");
	/* Its client is told without sending more. */
	REPLY_AUTO r = upload_end(&up);
	check_problem(&r, 409, "lease_superseded", "superseded");
	file_is(run, "f", "anna's");
	/* (gVisor has no files without a name, and one was killed there.) */
	REPLY_AUTO list = file_do("GET", run, "?list=1");
	if (!stack_gvisor())
		assert_int_equal(
		    json_array_size(json_at(list.json, "entries")), 1);
}

static void
a_worker_that_dies_in_mid_upload_leaves_the_old_file(void **state)
{
	struct upload up = upload_begin(run, "f", 2000);

	(void)state;
	assert_true(upload_more(&up, 1000));
	wait_until(in_flight() == 1, END_MS);
	stack_kill(STACK_STREAM);
	(void)upload_more(&up, 1000);
	REPLY_AUTO r = upload_end(&up);
	assert_int_equal(r.status, 502);
	wait_until(stack_ready(), END_MS);
	file_is(run, "f", "old");
	wait_until(in_flight() == 0, END_MS);
	char *files = file_sh(run, "ls -A");
	assert_string_equal(files, "f\n");
	free(files);
}

static void
a_run_destroyed_under_an_upload_ends_it(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, id);
	struct upload up = upload_begin(id, "f", 2000);
	assert_true(upload_more(&up, 1000));
	struct reply now = {.status = 0};
	wait_until(
	    (reply_release(&now),
		now = http_do("GET", run_url(id, ""), NULL, NULL),
		json_integer_value(json_object_get(now.json, "inFlight")) == 1),
	    END_MS);
	reply_release(&now);
	run_end(id);
	(void)upload_more(&up, 1000);
	REPLY_AUTO r = upload_end(&up);
	assert_true(r.status >= 400 && r.status < 600);
}

static void
a_run_that_has_exited_takes_no_changes(void **state)
{
	(void)state;
	json_auto_t *container = docker_container(run);
	(void)kill((pid_t)json_integer_value(json_at(container, "State.Pid")),
	    SIGKILL);
	wait_until(str_eq(views_state(run), "exited"), END_MS);
	file_fails("PUT", run, "f", 409, "run_not_running", NULL);
	file_fails("DELETE", run, "f", 409, "run_not_running", NULL);
	file_is(run, "f", "old");
}

/* CONTRACT 2.1: a read that starts, and one that goes on. */
static void
reads_keep_a_run_alive_that_asked_for_it(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_from(json_pack("{s:s,s:i,s:b}", "image", IMAGE_PLAIN, "ttlSec", 20,
		     "autoExtend", 1),
	    id);
	file_put(id, "f", "f");
	char *before = expiry(id);
	file_is(id, "f", "f");
	assert_true(later(id, before));
	free(before);
	free(file_sh(id, "dd if=/dev/zero of=big bs=1M count=100 "
			 "2>/dev/null"));
	int down = download_begin(id, "big");
	before = expiry(id);
	wait_until(later(id, before), END_MS);
	free(before);
	before = expiry(id);
	wait_until(later(id, before), END_MS);
	free(before);
	assert_true(download_finish(down));
	run_end(id);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, with_run, without_run)
	const struct CMUnitTest tests[] = {
	    T(changes_need_the_lease_and_reads_do_not),
	    T(an_upload_is_in_flight_and_a_download_is_not),
	    T(force_ends_an_upload_and_the_old_file_stays),
	    T(a_worker_that_dies_in_mid_upload_leaves_the_old_file),
	    T(a_run_destroyed_under_an_upload_ends_it),
	    T(a_run_that_has_exited_takes_no_changes),
	    cmocka_unit_test(reads_keep_a_run_alive_that_asked_for_it),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
