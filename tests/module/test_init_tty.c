/* A terminal in a run whose /dev is not what it should be: refused, at once.
 * (What a terminal does is told in test_init_acts and test_init_input.) */
#include "../check.h"
#include "init_fixture.h"
#include "lib/fd.h"
#include "pid1_fixture.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PATIENCE_MS 30000

static struct pid1 run;

static int
open_run(void **state)
{
	(void)state;
	if (geteuid() != 0)
		return 0;
	run = pid1_root();
	pid1_put_shell(&run); /* makes /dev */
	pid1_start_ready(&run, "");
	return 0;
}

static int
close_run(void **state)
{
	(void)state;
	if (geteuid() == 0)
		pid1_finish(&run);
	return 0;
}

static void
ask(uint16_t cols, struct outcome *ret_o)
{
	static const char *const env[] = {"PATH=/bin", NULL};
	const struct wire_exec x = {.script = "exit 7",
	    .env = env,
	    .cwd = "/",
	    .user = "",
	    .id = "an-exec",
	    .keep = cols > 0,
	    .cols = cols,
	    .rows = cols};
	BUF_AUTO frame = BUF_INIT(1000);
	struct init in = {.got = BUF_INIT(100000)};
	struct err e = ERR_INIT;
	FD_AUTO fd =
	    fd_connect_unix(pid1_inside(&run, PID1_SOCKET), PATIENCE_MS, &e);

	check_ok(fd, &e);
	in.from = in.to = fd;
	wire_put_exec(&frame, &x);
	assert_int_equal(write(fd, frame.data, frame.size), frame.size);
	init_finish(&in, NULL, 0, ret_o);
	buf_release(&in.got);
}

static void
assert_refused(const char *text)
{
	struct outcome o;

	ask(80, &o);
	assert_true(o.failed);
	assert_int_equal(o.why, WIRE_FAIL_EXEC_TTY);
	if (strstr(o.text, text) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", o.text, text);
	outcome_release(&o);
	ask(0, &o);
	assert_int_equal(o.exit.code, 7);
	outcome_release(&o);
}

static void
without_terminals_there_is_none(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_refused("cannot open /dev/ptmx");
}

/* Each would hang, or be something else, if it were taken for what it says. */
static void
something_in_their_place_is_not_taken_for_them(void **state)
{
	static const struct {
		mode_t type;
		unsigned major, minor;
	} things[] = {
	    {S_IFIFO, 0, 0}, {S_IFREG, 0, 0}, {S_IFCHR, 1, 5}, {S_IFCHR, 5, 0}};
	const char *said;

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
		assert_int_equal(
		    mknod(pid1_inside(&run, "/dev/ptmx"), things[i].type | 0600,
			makedev(things[i].major, things[i].minor)),
		    0);
		/* /dev/tty cannot be opened by who has none. */
		said = things[i].major == 5
			   ? "cannot open"
			   : "something else is in the place of /dev/ptmx";
		assert_refused(said);
		assert_int_equal(unlink(pid1_inside(&run, "/dev/ptmx")), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(without_terminals_there_is_none),
	    cmocka_unit_test(something_in_their_place_is_not_taken_for_them),
	};

	return cmocka_run_group_tests(tests, open_run, close_run);
}
