/*
 * How long a line is on its way from a command to its client.
 *
 * Three commands copy what the host writes into a fifo of theirs: one through
 * the stack, one read by this program as a worker would read it, one without
 * our init. Each gets a line in turn and is waited for. What the stack takes
 * beyond the second is what happens after the worker has a line.
 */
#include "../e2e/harness.h"
#include "direct.h"
#include "measure.h"
#include "raw.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LINES 1000
#define PAUSE_MS 2 /* between two lines: nobody is woken already */
#define GOAL_MS 1.0

enum reader { OURS, WORKER, RAW, READERS };

static struct stream *stream;
static struct direct direct;
static struct guest *guest;
static struct raw kept, raw;
static int fifo[READERS];
static char run[ULID_SIZE];

/* Send a line to a command. Returns when. */
static int64_t
send_line(enum reader reader)
{
	(void)poll(NULL, 0, PAUSE_MS);
	int64_t start = clock_mono_us();
	assert_int_equal(write(fifo[reader], "a line\n", 7), 7);
	return start;
}

static double
since(int64_t start_us, int64_t end_us)
{
	return (double)(end_us - start_us) / 1000;
}

static double
ours(void *arg)
{
	int64_t start = send_line(OURS);
	const struct event *ev = stream_await(stream, "stdout", 60000);

	(void)arg;
	assert_non_null(ev);
	assert_string_equal(ev->data, "a line\n");
	return since(start, ev->at_us);
}

static double
as_worker(void *arg)
{
	int64_t start = send_line(WORKER);
	struct guest_event ev = direct_next(guest);
	double ms = since(start, clock_mono_us());

	(void)arg;
	assert_int_equal(ev.type, GUEST_STDOUT);
	assert_int_equal(ev.size, 7);
	return ms;
}

static double
without_init(void *arg)
{
	int64_t start = send_line(RAW);
	BUF_AUTO line = BUF_INIT(4096);

	(void)arg;
	assert_true(raw_output(&raw, &line));
	double ms = since(start, clock_mono_us());
	assert_string_equal(line.data, "a line\n");
	return ms;
}

static void
a_line_reaches_the_client_at_once(void **state)
{
	struct contender c[READERS] = {
	    [OURS] = {.once = ours},
	    [WORKER] = {.once = as_worker},
	    [RAW] = {.once = without_init},
	};
	struct row row = {"", "", "", "", NO_GOAL};

	(void)state;
	measure_in_turn(c, READERS, LINES);
	for (int i = 0; i < 2; i++) {
		double share = i == 0 ? 0.5 : 0.99;
		double mine = samples_at(&c[OURS].ms, share);
		double worker = samples_at(&c[WORKER].ms, share);

		(void)snprintf(row.ours, sizeof(row.ours), "%.2f ms", mine);
		(void)snprintf(row.beside, sizeof(row.beside),
		    "worker has it %.2f, raw exec %.2f ms", worker,
		    samples_at(&c[RAW].ms, share));
		(void)snprintf(row.ratio, sizeof(row.ratio),
		    "%+.2f ms after the worker", mine - worker);
		if (i == 0) {
			(void)snprintf(row.goal, sizeof(row.goal),
			    "<= +%.2f ms after the worker", GOAL_MS);
			row.verdict =
			    mine - worker <= GOAL_MS ? GOAL_MET : GOAL_MISSED;
		}
		row_add(i == 0 ? "line, written to read, p50"
			       : "line, written to read, p99",
		    &row);
		row = (struct row){"", "", "", "", NO_GOAL};
	}
	contenders_release(c, READERS);
}

static void
open_fifos(pid_t init)
{
	char path[64];

	for (int i = 0; i < READERS; i++) {
		(void)snprintf(
		    path, sizeof(path), "/proc/%d/root/tmp/%d", (int)init, i);
		fifo[i] = open(path, O_RDWR | O_CLOEXEC);
		assert_true(fifo[i] >= 0);
	}
}

static void
open_readers(void)
{
	char exec[RAW_ID_SIZE];

	stream =
	    stream_open(run_url(run, "exec"), "{\"cmd\":\"cat /tmp/0\"}", NULL);
	assert_int_equal(stream_status(stream), 200);
	guest = direct_exec(&direct, "cat /tmp/1");
	raw = raw_exec_open(&kept, direct.container,
	    "[\"/bin/sh\",\"-c\",\"cat /tmp/2\"]", exec);
}

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	run_new(IMAGE_PLAIN, run);
	EXECUTED_AUTO made = exec_sh(run, "mkfifo /tmp/0 /tmp/1 /tmp/2");
	assert_int_equal(exit_code(&made), 0);
	json_auto_t *container = docker_container(run);
	open_fifos((pid_t)json_integer_value(json_at(container, "State.Pid")));
	kept = raw_open();
	direct_open(&direct, run);
	open_readers();
	return 0;
}

static int
teardown(void **state)
{
	for (int i = 0; i < READERS; i++)
		(void)close(fifo[i]);
	guest_free(guest);
	direct_close(&direct);
	raw_close(&raw);
	raw_close(&kept);
	stream_close(stream);
	struct reply r = http_do("DELETE", run_url(run, ""), NULL, NULL);
	reply_release(&r);
	return stack_stop(state);
}

int
main(void)
{
	const struct CMUnitTest benches[] = {
	    cmocka_unit_test(a_line_reaches_the_client_at_once),
	};

	return cmocka_run_group_tests(benches, setup, teardown);
}
