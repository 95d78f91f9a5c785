/* guest/file against a run's init that the workload may own. */
#include "../check.h"
#include "lib/mem.h"
#include "peer_fixture.h"

#include <stdlib.h>
#include <string.h>

#define LARGE (4u << 20)

static const struct wire_stat stat = {
    .type = WIRE_TYPE_FILE, .mode = 0644, .size = 4, .name = "f", .target = ""};

/* All that comes. */
static int
drain(struct guest_file *f, struct err *e)
{
	const char *bytes;
	size_t size;
	int rc = f != NULL ? 1 : -1;

	while (rc == 1)
		rc = guest_file_next(f, &bytes, &size, e);
	guest_file_free(f);
	return rc;
}

static int
do_get(struct err *e)
{
	struct guest_file *f = peer_file(WIRE_FILE_GET, e);
	struct wire_stat told;

	if (f != NULL && (guest_file_stat(f, &told, e) != 1 ||
			     guest_file_read(f, 0, 4, e) != 0)) {
		guest_file_free(f);
		return -1;
	}
	return drain(f, e);
}

/* -- files ----------------------------------------------------------------- */

static struct guest_file *
begin_put(const struct guest_patience *how, struct err *e)
{
	const struct guest_place at = peer_place(&peer);
	const struct wire_file rq = {.what = WIRE_FILE_PUT,
	    .user = "",
	    .root = "/work",
	    .path = "f",
	    .to = ""};

	peer_play(&peer);
	struct guest_file *f = guest_file_open(NULL, &at, &rq, how, e);
	if (f == NULL)
		fail_msg("%s", e->text);
	return f;
}

static void
upload_is_cut_into_whole_chunks(void **state)
{
	char *bytes = mem_zalloc(LARGE);
	struct err e = ERR_INIT;
	size_t size, all = 0, frames = 0;
	enum wire_type type;

	(void)state;
	say(WIRE_STARTED, "");
	peer.end = PEER_CLOSE;
	peer.hear = SIZE_MAX;
	struct guest_file *f = begin_put(&peer_patience, &e);
	for (size_t at = 0; at < LARGE; at += 1024)
		check_ok(guest_file_send(f, bytes + at, 1024, &e), &e);
	check_ok(guest_file_send(f, bytes, LARGE, &e), &e);
	check_ok(guest_file_send(f, bytes, 10, &e), &e);
	guest_file_free(f);
	peer_join(&peer);
	assert_int_equal(next_heard(&size), WIRE_FILE);
	while ((type = next_heard(&size)) == WIRE_DATA) {
		assert_int_equal(size, WIRE_CHUNK);
		all += size;
		frames++;
	}
	/* The last ten were not at their end. */
	assert_int_equal(type, 0);
	assert_int_equal(all, 2 * LARGE);
	free(bytes);
}

static void
upload_hears_why_it_is_refused(void **state)
{
	char *bytes = mem_zalloc(LARGE);
	struct err e = ERR_INIT;
	int rc = 0;

	(void)state;
	say(WIRE_STARTED, "");
	wire_put_fail(&peer.say, WIRE_FAIL_SPACE, "/host/path: no space");
	struct guest_file *f = begin_put(&peer_patience, &e);
	while (rc == 0) /* its socket holds some */
		rc = guest_file_send(f, bytes, LARGE, &e);
	check_fails(rc, &e, ERR_FILE_SPACE);
	assert_null(strstr(e.text, "/host/path"));
	guest_file_free(f);
	peer_join(&peer);
	free(bytes);
}

static void
upload_that_nobody_takes_is_given_up(void **state)
{
	static const struct guest_patience little = {-1, 50};
	char *bytes = mem_zalloc(LARGE);
	struct err e = ERR_INIT;

	(void)state;
	say(WIRE_STARTED, "");
	peer.end = PEER_STALL;
	struct guest_file *f = begin_put(&little, &e);
	check_fails(guest_file_send(f, bytes, LARGE, &e), &e, ERR_GUEST);
	guest_file_free(f);
	peer_join(&peer);
	free(bytes);
}

static void
upload_is_not_done_before_its_end(void **state)
{
	char *bytes = mem_zalloc(LARGE);
	struct err e = ERR_INIT;
	int rc = 0;

	(void)state;
	say(WIRE_STARTED, "");
	say(WIRE_DONE, "");
	struct guest_file *f = begin_put(&peer_patience, &e);
	while (rc == 0)
		rc = guest_file_send(f, bytes, LARGE, &e);
	check_fails(rc, &e, ERR_GUEST);
	guest_file_free(f);
	peer_join(&peer);
	free(bytes);
}

static void
read_brings_no_more_than_was_asked_for(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	wire_put_stat(&peer.say, &stat);
	say(WIRE_DATA, "dat");
	say(WIRE_DATA, "aa");
	say(WIRE_DATA_END, "");
	peer_play(&peer);
	check_fails(do_get(&e), &e, ERR_GUEST);
	peer_join(&peer);
	/* Nor before it was asked for. */
	wire_put_stat(&peer.say, &stat);
	say(WIRE_DATA, "data");
	peer_play(&peer);
	struct guest_file *f = peer_file(WIRE_FILE_GET, &e);
	struct wire_stat told;
	assert_int_equal(guest_file_stat(f, &told, &e), 1);
	check_fails(guest_file_stat(f, &told, &e), &e, ERR_GUEST);
	guest_file_free(f);
	peer_join(&peer);
}

static void
words_of_a_guest_are_not_a_callers(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	wire_put_fail(&peer.say, WIRE_FAIL_ABSENT, "No such file: /etc/shadow");
	peer_play(&peer);
	check_fails(do_get(&e), &e, ERR_FILE_ABSENT);
	assert_string_equal(e.text, "No such file: f");
	peer_join(&peer);
}

#define PEER_TEST(f) cmocka_unit_test_teardown(f, peer_stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(upload_is_cut_into_whole_chunks),
	    PEER_TEST(upload_hears_why_it_is_refused),
	    PEER_TEST(upload_that_nobody_takes_is_given_up),
	    PEER_TEST(upload_is_not_done_before_its_end),
	    PEER_TEST(read_brings_no_more_than_was_asked_for),
	    PEER_TEST(words_of_a_guest_are_not_a_callers),
	};

	return cmocka_run_group_tests(tests, peer_setup, peer_teardown);
}
