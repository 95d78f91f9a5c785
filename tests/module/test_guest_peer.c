/* guest/ against a run's init that the workload may own: cut anywhere, out of
 * order, too much, nothing. */
#include "../fake/peer.h"
#include "../wait.h"
#include "guest/file.h"
#include "guest/object.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define PATIENCE_MS 30000
#define LARGE (4u << 20)

static struct peer peer;
static const struct guest_patience patience = {-1, PATIENCE_MS};
static const struct wire_exit ended = {.code = 3};
static const struct wire_info info = {.id = "01J", .cmd = "true"};
static const struct wire_stat stat = {
    .type = WIRE_TYPE_FILE, .mode = 0644, .size = 4, .name = "f", .target = ""};

static int
open_peer(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	peer_open(&peer);
	return 0;
}

static int
close_peer(void **state)
{
	(void)state;
	peer_close(&peer);
	return 0;
}

/* A test that failed leaves it playing. */
static int
stop_peer(void **state)
{
	(void)state;
	peer_join(&peer);
	return 0;
}

static void
say(enum wire_type type, const char *bytes)
{
	wire_put(&peer.say, type, bytes, strlen(bytes));
}

static void
say_nothing(void)
{
	buf_reset(&peer.say);
	peer.cue = 0;
}

/* Once that was heard. */
static void
say_after(enum wire_type cue, enum wire_type type)
{
	peer.cue = cue;
	peer.pause = peer.say.size;
	say(type, "");
}

static struct guest *
start(bool keep, const char *text, struct err *e)
{
	static const char *const env[] = {NULL};
	const struct guest_place at = peer_place(&peer);
	const struct wire_exec x = {.script = "true",
	    .env = env,
	    .cwd = "/",
	    .user = "",
	    .id = "01J",
	    .keep = keep,
	    .open_stdin = text != NULL};
	const struct guest_order order = {.exec = &x,
	    .stdin_text = text,
	    .stdin_size = text != NULL ? strlen(text) : 0};

	return guest_exec(NULL, &at, &order, e);
}

/* -- each operation to its end --------------------------------------------- */

/* Until its last event; -1 unless that is an exit. */
static int
to_exit(struct guest *g, struct err *e)
{
	struct guest_event ev = {.type = GUEST_NOTHING};
	int rc = g != NULL ? 0 : -1;

	while (rc == 0 && ev.type != GUEST_EXIT && ev.type != GUEST_LOST)
		rc = guest_next(g, -1, PATIENCE_MS, &ev, e);
	if (rc == 0 && ev.type == GUEST_LOST)
		rc = err_set(e, ERR_GUEST, "lost");
	guest_free(g);
	return rc;
}

static void
say_exec(void)
{
	say(WIRE_STARTED, "");
	say(WIRE_STDOUT, "out");
	say(WIRE_STDERR, "err");
	wire_put_exit(&peer.say, &ended);
}

static int
do_exec(const struct guest_place *at, struct err *e)
{
	(void)at;
	return to_exit(start(false, NULL, e), e);
}

static void
say_detach(void)
{
	say(WIRE_STARTED, "");
	say(WIRE_STDOUT, "out");
	say_after(WIRE_DETACH, WIRE_DONE);
}

static int
do_detach(const struct guest_place *at, struct err *e)
{
	struct guest *g = start(true, NULL, e);
	int rc = g != NULL ? guest_detach(g, PATIENCE_MS, e) : -1;

	(void)at;
	guest_free(g);
	return rc;
}

static void
say_follow(void)
{
	say(WIRE_STARTED, "");
	wire_put_gap(&peer.say, 9);
	say(WIRE_STDOUT, "out");
	wire_put_exit(&peer.say, &ended);
}

static int
do_follow(const struct guest_place *at, struct err *e)
{
	static const struct wire_attach attach = {"01J", 0};

	return to_exit(guest_follow(NULL, at, &attach, e), e);
}

static void
say_input(void)
{
	say(WIRE_STARTED, "");
	say_after(WIRE_STDIN_END, WIRE_DONE);
}

static int
do_input(const struct guest_place *at, struct err *e)
{
	static const struct wire_act act = {
	    .what = WIRE_ACT_INPUT, .id = "01J", .generation = 1};
	struct guest *g = guest_input(NULL, at, &act, e);
	int rc = g != NULL ? guest_feed(g, "in", 2, -1, PATIENCE_MS, e) : -1;

	if (rc == 0)
		rc = guest_feed_end(g, -1, PATIENCE_MS, e);
	guest_free(g);
	return rc;
}

static void
say_list(void)
{
	wire_put_info(&peer.say, &info);
	wire_put_info(&peer.say, &info);
	say(WIRE_DONE, "");
}

static void
count_one(void *arg, const struct wire_info *told)
{
	int *count = arg;

	assert_string_equal(told->id, "01J");
	(*count)++;
}

static int
do_list(const struct guest_place *at, struct err *e)
{
	int count = 0;

	return guest_list(NULL, at, count_one, &count, e);
}

static void
say_done(void)
{
	say(WIRE_DONE, "");
}

static int
do_act(const struct guest_place *at, struct err *e)
{
	static const struct wire_act act = {
	    .what = WIRE_ACT_END, .id = "01J", .generation = 1};

	return guest_act(NULL, at, &act, e);
}

static void
say_fence(void)
{
	wire_put_fenced(&peer.say, &(struct wire_fenced){true, 7});
}

static int
do_fence(const struct guest_place *at, struct err *e)
{
	uint64_t known;
	bool done;

	return guest_fence(NULL, at, 7, &done, &known, e);
}

static struct guest_file *
open_file(enum wire_file_what what, const struct guest_place *at, struct err *e)
{
	const struct wire_file rq = {
	    .what = what, .user = "", .root = "/work", .path = "f", .to = ""};

	return guest_file_open(NULL, at, &rq, &patience, e);
}

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

static void
say_get(void)
{
	wire_put_stat(&peer.say, &stat);
	say(WIRE_DATA, "da");
	say(WIRE_DATA, "ta");
	say(WIRE_DATA_END, "");
}

static int
do_get(const struct guest_place *at, struct err *e)
{
	struct guest_file *f = open_file(WIRE_FILE_GET, at, e);
	struct wire_stat told;

	if (f != NULL && (guest_file_stat(f, &told, e) != 1 ||
			     guest_file_read(f, 0, 4, e) != 0)) {
		guest_file_free(f);
		return -1;
	}
	return drain(f, e);
}

static void
say_stats(void)
{
	wire_put_stat(&peer.say, &stat);
	wire_put_stat(&peer.say, &stat);
	say(WIRE_DONE, "");
}

static int
do_stats(const struct guest_place *at, struct err *e)
{
	struct guest_file *f = open_file(WIRE_FILE_LIST, at, e);
	struct wire_stat told;
	int rc = f != NULL ? 1 : -1;

	while (rc == 1)
		rc = guest_file_stat(f, &told, e);
	guest_file_free(f);
	return rc;
}

static int
do_mkdir(const struct guest_place *at, struct err *e)
{
	struct guest_file *f = open_file(WIRE_FILE_MKDIR, at, e);
	int rc = f != NULL ? guest_file_done(f, e) : -1;

	guest_file_free(f);
	return rc;
}

static void
say_put(void)
{
	say(WIRE_STARTED, "");
	say_after(WIRE_DATA_END, WIRE_DONE);
}

static int
do_put(const struct guest_place *at, struct err *e)
{
	struct guest_file *f = open_file(WIRE_FILE_PUT, at, e);
	int rc = f != NULL ? guest_file_send(f, "data", 4, e) : -1;

	if (rc == 0)
		rc = guest_file_end(f, e);
	guest_file_free(f);
	return rc;
}

static void
say_pack(void)
{
	say(WIRE_STARTED, "");
	say(WIRE_DATA, "archive");
	say(WIRE_DATA_END, "");
}

static int
do_pack(const struct guest_place *at, struct err *e)
{
	return drain(open_file(WIRE_FILE_PACK, at, e), e);
}

static const struct {
	const char *name;
	void (*say)(void);
	int (*act)(const struct guest_place *at, struct err *e);
} operations[] = {
    {"exec", say_exec, do_exec},
    {"detach", say_detach, do_detach},
    {"follow", say_follow, do_follow},
    {"input", say_input, do_input},
    {"list", say_list, do_list},
    {"act", say_done, do_act},
    {"fence", say_fence, do_fence},
    {"get", say_get, do_get},
    {"stats", say_stats, do_stats},
    {"put", say_put, do_put},
    {"mkdir", say_done, do_mkdir},
    {"pack", say_pack, do_pack},
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static void
what_is_whole_is_done_and_what_is_cut_is_not(void **state)
{
	const struct guest_place at = peer_place(&peer);

	(void)state;
	for (size_t i = 0; i < OPERATIONS; i++) {
		say_nothing();
		operations[i].say();
		size_t whole = peer.say.size;
		for (size_t size = 0; size <= whole; size++) {
			struct err e = ERR_INIT;

			say_nothing();
			operations[i].say();
			peer.say.size = size;
			peer_play(&peer);
			int rc = operations[i].act(&at, &e);
			peer_join(&peer);
			if (rc != (size == whole ? 0 : -1) ||
			    (rc != 0 && e.kind != ERR_GUEST))
				fail_msg("%s, %zu of %zu: %d kind %d %s",
				    operations[i].name, size, whole, rc, e.kind,
				    e.text);
		}
	}
}

static void
bytes_one_by_one_are_the_same(void **state)
{
	const struct guest_place at = peer_place(&peer);

	(void)state;
	for (size_t i = 0; i < OPERATIONS; i++) {
		struct err e = ERR_INIT;

		operations[i].say();
		peer.step = 1;
		peer_play(&peer);
		check_ok(operations[i].act(&at, &e), &e);
		peer_join(&peer);
	}
}

/* Frames that are right for another operation, without end. */
static void
floods_are_not_listened_to(void **state)
{
	static const char *const frames[] = {"", "x"};
	static const enum wire_type types[] = {
	    WIRE_STDOUT, WIRE_DATA, WIRE_STARTED, WIRE_KILL};
	const struct guest_place at = peer_place(&peer);

	(void)state;
	for (size_t i = 0; i < OPERATIONS; i++)
		for (size_t k = 0; k < 8; k++) {
			struct err e = ERR_INIT;

			/* What is heard as output is for the next test. */
			if (types[k / 2] == WIRE_STDOUT && k % 2 == 1)
				continue;
			if (types[k / 2] == WIRE_DATA && k % 2 == 1 &&
			    operations[i].act == do_pack)
				continue;
			say_nothing();
			operations[i].say();
			/* Behind all but its last frame, which is small. */
			peer.say.size -= operations[i].say == say_fence ? 14
					 : operations[i].say == say_exec ||
						 operations[i].say == say_follow
					     ? 11
					     : 5;
			size_t before = peer.say.size;
			say(types[k / 2], frames[k % 2]);
			if (peer.say.over) /* such a frame there is not */
				continue;
			peer.flood = peer.say.size - before;
			peer.end = PEER_FLOOD;
			peer_play(&peer);
			check_fails(operations[i].act(&at, &e), &e, ERR_GUEST);
			peer_join(&peer);
		}
	say_nothing();
}

static void
list_has_an_end(void **state)
{
	const struct guest_place at = peer_place(&peer);
	struct err e = ERR_INIT;
	int count = 0;

	(void)state;
	wire_put_info(&peer.say, &info);
	peer.flood = peer.say.size;
	peer.end = PEER_FLOOD;
	peer_play(&peer);
	check_fails(
	    guest_list(NULL, &at, count_one, &count, &e), &e, ERR_GUEST);
	assert_int_equal(count, GUEST_LIST_MAX);
	peer_join(&peer);
}

static long
resident_kb(void)
{
	struct rusage use;

	assert_int_equal(getrusage(RUSAGE_SELF, &use), 0);
	return use.ru_maxrss;
}

static void
output_without_end_takes_no_memory(void **state)
{
	static const struct wire_attach attach = {"01J", 0};
	const struct guest_place at = peer_place(&peer);
	char *chunk = mem_zalloc(WIRE_CHUNK);
	struct err e = ERR_INIT;
	struct guest_event ev;
	uint64_t heard = 0;

	(void)state;
	say(WIRE_STARTED, "");
	wire_put(&peer.say, WIRE_STDOUT, chunk, WIRE_CHUNK);
	peer.flood = WIRE_HEAD + WIRE_CHUNK;
	peer.end = PEER_FLOOD;
	peer_play(&peer);
	struct guest *g = guest_follow(NULL, &at, &attach, &e);
	assert_non_null(g);
	long before = resident_kb();
	while (heard < (256u << 20)) {
		check_ok(guest_next(g, -1, PATIENCE_MS, &ev, &e), &e);
		assert_int_equal(ev.type, GUEST_STDOUT);
		heard += ev.size;
	}
	assert_true(resident_kb() - before < 4096);
	guest_free(g);
	peer_join(&peer);
	free(chunk);
}

/* -- events of their own --------------------------------------------------- */

static void
gap_tells_where_output_goes_on(void **state)
{
	static const struct wire_attach attach = {"01J", 5};
	const struct guest_place at = peer_place(&peer);
	struct err e = ERR_INIT;
	struct guest_event ev;

	(void)state;
	say_follow();
	peer_play(&peer);
	struct guest *g = guest_follow(NULL, &at, &attach, &e);
	assert_non_null(g);
	check_ok(guest_next(g, -1, PATIENCE_MS, &ev, &e), &e);
	assert_int_equal(ev.type, GUEST_GAP);
	assert_int_equal(ev.offset, 9);
	check_ok(guest_next(g, -1, PATIENCE_MS, &ev, &e), &e);
	assert_int_equal(ev.type, GUEST_STDOUT);
	check_ok(guest_next(g, -1, PATIENCE_MS, &ev, &e), &e);
	assert_int_equal(ev.type, GUEST_EXIT);
	assert_int_equal(ev.exit.code, 3);
	guest_free(g);
	peer_join(&peer);
}

static void
refusals_name_the_exec(void **state)
{
	static const struct {
		enum wire_fail why;
		enum err_kind kind;
		const char *text;
	} refusals[] = {
	    {WIRE_FAIL_EXEC_ABSENT, ERR_EXEC_ABSENT,
		"There is no exec 01J in this run, or it is forgotten."},
	    {WIRE_FAIL_EXEC_ENDED, ERR_EXEC_ENDED,
		"Exec 01J has ended, or takes no input."},
	    {WIRE_FAIL_EXEC_TTY, ERR_INPUT, "Exec 01J has no terminal."},
	    {WIRE_FAIL_FENCED, ERR_LEASE_SUPERSEDED, "superseded: later"},
	    {WIRE_FAIL_INTERNAL, ERR_GUEST, "later"},
	};
	const struct guest_place at = peer_place(&peer);

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct err e = ERR_INIT;

		wire_put_fail(&peer.say, refusals[i].why, "later");
		peer_play(&peer);
		check_fails(do_act(&at, &e), &e, refusals[i].kind);
		assert_string_equal(e.text, refusals[i].text);
		peer_join(&peer);
	}
}

/* The next frame that the peer heard. */
static enum wire_type
next_heard(size_t *ret_size)
{
	struct err e = ERR_INIT;
	enum wire_type type = 0;
	const char *payload;
	size_t used = 0;

	if (wire_next(peer.heard.data, peer.heard.size, &type, &payload,
		ret_size, &used, &e) != 1)
		return 0;
	buf_drop(&peer.heard, used);
	return type;
}

static void
detach_comes_after_all_of_the_input(void **state)
{
	char *text = mem_zalloc(WIRE_WINDOW_KEPT + 1);
	struct err e = ERR_INIT;
	size_t size;

	(void)state;
	memset(text, 'x', WIRE_WINDOW_KEPT);
	say(WIRE_STARTED, "");
	peer.hear = WIRE_WINDOW_KEPT;
	peer_play(&peer);
	struct guest *g = start(true, text, &e);
	assert_non_null(g);
	/* It hangs up having heard most of it: nothing was promised. */
	check_fails(guest_detach(g, PATIENCE_MS, &e), &e, ERR_GUEST);
	guest_free(g);
	peer_join(&peer);

	say(WIRE_STARTED, "");
	peer.end = PEER_STALL;
	peer_play(&peer);
	g = start(true, "text", &e);
	assert_non_null(g);
	check_fails(guest_detach(g, 50, &e), &e, ERR_GUEST);
	guest_free(g);
	peer_join(&peer);

	say_detach();
	peer.hear = SIZE_MAX; /* until this side hangs up */
	peer_play(&peer);
	g = start(true, "text", &e);
	assert_non_null(g);
	check_ok(guest_detach(g, PATIENCE_MS, &e), &e);
	guest_free(g);
	peer_join(&peer);
	assert_int_equal(next_heard(&size), WIRE_EXEC);
	assert_int_equal(next_heard(&size), WIRE_STDIN);
	assert_int_equal(size, 4);
	assert_int_equal(next_heard(&size), WIRE_STDIN_END);
	assert_int_equal(next_heard(&size), WIRE_DETACH);
	assert_int_equal(next_heard(&size), 0);
	free(text);
}

/* -- input ----------------------------------------------------------------- */

static struct guest *
begin_input(struct err *e)
{
	static const struct wire_act act = {
	    .what = WIRE_ACT_INPUT, .id = "01J", .generation = 1};
	const struct guest_place at = peer_place(&peer);

	peer_play(&peer);
	struct guest *g = guest_input(NULL, &at, &act, e);
	if (g == NULL)
		fail_msg("%s", e->text);
	return g;
}

static void
input_waits_for_room(void **state)
{
	char *bytes = mem_zalloc(LARGE);
	struct err e = ERR_INIT;
	int fd[2];

	(void)state;
	say(WIRE_STARTED, "");
	peer.end = PEER_CLOSE;
	peer.hear = SIZE_MAX;
	struct guest *g = begin_input(&e);
	check_ok(guest_feed(g, bytes, WIRE_WINDOW, -1, PATIENCE_MS, &e), &e);
	check_fails(guest_feed(g, bytes, 1, -1, 50, &e), &e, ERR_GUEST);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	fd_close(&fd[1]);
	check_fails(
	    guest_feed(g, bytes, 1, fd[0], PATIENCE_MS, &e), &e, ERR_GONE_AWAY);
	fd_close(&fd[0]);
	guest_free(g);
	peer_join(&peer);
	free(bytes);
}

static void
input_of_an_exec_that_ends_is_refused(void **state)
{
	char *bytes = mem_zalloc(LARGE);
	struct err e = ERR_INIT;

	(void)state;
	say(WIRE_STARTED, "");
	wire_put_fail(&peer.say, WIRE_FAIL_EXEC_ENDED, "");
	struct guest *g = begin_input(&e);
	check_fails(guest_feed(g, bytes, LARGE, -1, PATIENCE_MS, &e), &e,
	    ERR_EXEC_ENDED);
	guest_free(g);
	peer_join(&peer);
	free(bytes);
}

static void
input_is_not_done_before_its_end(void **state)
{
	char *bytes = mem_zalloc(LARGE);
	struct err e = ERR_INIT;

	(void)state;
	say(WIRE_STARTED, "");
	say(WIRE_DONE, "");
	struct guest *g = begin_input(&e);
	check_fails(
	    guest_feed(g, bytes, LARGE, -1, PATIENCE_MS, &e), &e, ERR_GUEST);
	guest_free(g);
	peer_join(&peer);
	free(bytes);
}

static void
input_that_was_taken_is_done(void **state)
{
	const struct guest_place at = peer_place(&peer);
	struct err e = ERR_INIT;

	(void)state;
	say(WIRE_STARTED, "");
	peer.end = PEER_CLOSE;
	peer.hear = SIZE_MAX;
	peer_play(&peer);
	static const struct wire_act act = {
	    .what = WIRE_ACT_INPUT, .id = "01J", .generation = 1};
	struct guest *g = guest_input(NULL, &at, &act, &e);
	assert_non_null(g);
	check_ok(guest_feed(g, "in", 2, -1, PATIENCE_MS, &e), &e);
	check_ok(guest_feed(g, "put", 3, -1, PATIENCE_MS, &e), &e);
	check_fails(guest_feed_end(g, -1, 50, &e), &e, ERR_GUEST);
	guest_free(g);
	peer_join(&peer);
	size_t size;
	assert_int_equal(next_heard(&size), WIRE_ACT);
	assert_int_equal(next_heard(&size), WIRE_STDIN);
	assert_int_equal(size, 2);
	assert_int_equal(next_heard(&size), WIRE_STDIN);
	assert_int_equal(size, 3);
	assert_int_equal(next_heard(&size), WIRE_STDIN_END);
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
	struct guest_file *f = begin_put(&patience, &e);
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
	struct guest_file *f = begin_put(&patience, &e);
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
	struct guest_file *f = begin_put(&patience, &e);
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
	const struct guest_place at = peer_place(&peer);
	struct err e = ERR_INIT;

	(void)state;
	wire_put_stat(&peer.say, &stat);
	say(WIRE_DATA, "dat");
	say(WIRE_DATA, "aa");
	say(WIRE_DATA_END, "");
	peer_play(&peer);
	check_fails(do_get(&at, &e), &e, ERR_GUEST);
	peer_join(&peer);
	/* Nor before it was asked for. */
	wire_put_stat(&peer.say, &stat);
	say(WIRE_DATA, "data");
	peer_play(&peer);
	struct guest_file *f = open_file(WIRE_FILE_GET, &at, &e);
	struct wire_stat told;
	assert_int_equal(guest_file_stat(f, &told, &e), 1);
	check_fails(guest_file_stat(f, &told, &e), &e, ERR_GUEST);
	guest_file_free(f);
	peer_join(&peer);
}

static void
words_of_a_guest_are_not_a_callers(void **state)
{
	const struct guest_place at = peer_place(&peer);
	struct err e = ERR_INIT;

	(void)state;
	wire_put_fail(&peer.say, WIRE_FAIL_ABSENT, "No such file: /etc/shadow");
	peer_play(&peer);
	check_fails(do_get(&at, &e), &e, ERR_FILE_ABSENT);
	assert_string_equal(e.text, "No such file: f");
	peer_join(&peer);
}

#define PEER_TEST(f) cmocka_unit_test_teardown(f, stop_peer)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(what_is_whole_is_done_and_what_is_cut_is_not),
	    PEER_TEST(bytes_one_by_one_are_the_same),
	    PEER_TEST(floods_are_not_listened_to),
	    PEER_TEST(list_has_an_end),
	    PEER_TEST(output_without_end_takes_no_memory),
	    PEER_TEST(gap_tells_where_output_goes_on),
	    PEER_TEST(refusals_name_the_exec),
	    PEER_TEST(detach_comes_after_all_of_the_input),
	    PEER_TEST(input_waits_for_room),
	    PEER_TEST(input_of_an_exec_that_ends_is_refused),
	    PEER_TEST(input_is_not_done_before_its_end),
	    PEER_TEST(input_that_was_taken_is_done),
	    PEER_TEST(upload_is_cut_into_whole_chunks),
	    PEER_TEST(upload_hears_why_it_is_refused),
	    PEER_TEST(upload_that_nobody_takes_is_given_up),
	    PEER_TEST(upload_is_not_done_before_its_end),
	    PEER_TEST(read_brings_no_more_than_was_asked_for),
	    PEER_TEST(words_of_a_guest_are_not_a_callers),
	};

	return cmocka_run_group_tests(tests, open_peer, close_peer);
}
