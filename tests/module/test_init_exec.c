/* sbx-init exec: what a command gets, and what comes back of it. */
#include "../wait.h"
#include "init_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
run_script(const char *script, struct outcome *ret_o)
{
	const struct wire_exec x = {.script = script};

	init_run(&x, NULL, 0, ret_o);
}

/* The script prints exactly that. */
static void
assert_prints(const char *script, const char *text)
{
	struct outcome o;

	run_script(script, &o);
	assert_string_equal(o.err.data, "");
	assert_string_equal(o.out.data, text);
	assert_int_equal(o.exit.code, 0);
	outcome_release(&o);
}

static void
assert_fails(const struct wire_exec *x, enum wire_fail why, const char *part)
{
	struct outcome o;

	init_run(x, NULL, 0, &o);
	assert_true(o.failed);
	assert_false(o.started);
	assert_int_equal(o.why, why);
	if (strstr(o.text, part) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", o.text, part);
	outcome_release(&o);
}

static void
output_and_code_come_back(void **state)
{
	struct outcome o;

	(void)state;
	run_script("echo hi; echo oh >&2; exit 3", &o);
	assert_true(o.started);
	assert_string_equal(o.out.data, "hi\n");
	assert_string_equal(o.err.data, "oh\n");
	assert_int_equal(o.exit.code, 3);
	assert_int_equal(o.exit.signal, 0);
	assert_false(o.exit.timed_out);
	assert_false(o.exit.not_found);
	outcome_release(&o);
}

static void
death_by_signal_is_told(void **state)
{
	struct outcome o;

	(void)state;
	run_script("kill -9 $$", &o);
	assert_int_equal(o.exit.code, 137);
	assert_int_equal(o.exit.signal, 9);
	assert_false(o.exit.oom_killed);
	outcome_release(&o);
}

static void
argv_runs_without_a_shell(void **state)
{
	static const char *const argv[] = {
	    "printf", "%s|", "a b", "$HOME", "", NULL};
	const struct wire_exec x = {.argv = argv};
	struct outcome o;

	(void)state;
	init_run(&x, NULL, 0, &o);
	assert_string_equal(o.out.data, "a b|$HOME||");
	outcome_release(&o);
}

static void
what_cannot_be_run_is_126_or_127_with_a_word(void **state)
{
	static const struct {
		const char *name;
		int code;
	} bad[] = {{"no-such-program", 127}, {"/no/such", 127}, {"", 127},
	    {"/etc/passwd/x", 127}, {"/etc", 126}, {"/etc/passwd", 126}};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *const argv[] = {bad[i].name, NULL};
		const struct wire_exec x = {.argv = argv};
		struct outcome o;

		init_run(&x, NULL, 0, &o);
		assert_true(o.started);
		assert_int_equal(o.exit.code, bad[i].code);
		assert_true(o.exit.not_found);
		assert_non_null(strstr(o.err.data, "sandbox: cannot run"));
		outcome_release(&o);
	}
}

static void
program_is_looked_up_in_the_given_path(void **state)
{
	static const char *const argv[] = {"true", NULL};
	static const char *const env[] = {"PATH=/no/such:/nor/this", NULL};
	const struct wire_exec x = {.argv = argv, .env = env};
	struct outcome o;

	(void)state;
	init_run(&x, NULL, 0, &o);
	assert_int_equal(o.exit.code, 127);
	outcome_release(&o);
}

static void
directory_that_is_not_there_is_refused(void **state)
{
	const struct wire_exec absent = {.script = "true", .cwd = "/nope"};
	const struct wire_exec file = {.script = "true", .cwd = "/etc/passwd"};
	const struct wire_exec good = {.script = "pwd", .cwd = "/etc"};
	struct outcome o;

	(void)state;
	assert_fails(&absent, WIRE_FAIL_CWD, "cannot enter /nope");
	assert_fails(&file, WIRE_FAIL_CWD, "Not a directory");
	init_run(&good, NULL, 0, &o);
	assert_string_equal(o.out.data, "/etc\n");
	outcome_release(&o);
}

static void
user_that_is_not_there_is_refused(void **state)
{
	const struct wire_exec x = {.script = "true", .user = "no-such-user"};

	(void)state;
	assert_fails(&x, WIRE_FAIL_USER, "no such user in the image");
}

/* PID 1 is started with that, as if the image had it. */
static void
image_has(const char *name, const char *value)
{
	if (geteuid() != 0)
		skip();
	(void)init_end(NULL);
	(void)setenv(name, value, 1);
	(void)init_begin(NULL);
}

static void
environment_is_ours_with_the_requests_over_it(void **state)
{
	static const char *const env[] = {"A=1", "OURS=theirs", "E=", NULL};
	const struct wire_exec x = {
	    .script = "echo $A-$OURS-${E-unset}-$KEPT-$(env | grep -c ^OURS=)",
	    .env = env};
	struct outcome o;

	(void)state;
	(void)setenv("OURS", "ours", 1);
	image_has("KEPT", "kept");
	init_run(&x, NULL, 0, &o);
	assert_string_equal(o.out.data, "1-theirs--kept-1\n");
	outcome_release(&o);
}

static void
home_is_the_users_unless_the_image_says(void **state)
{
	static const char *const own[] = {"HOME=/mine", NULL};
	struct wire_exec x = {.script = "echo $HOME", .user = "4242"};
	struct outcome o;

	(void)state;
	image_has("HOME", "/root");
	init_run(&x, NULL, 0, &o);
	assert_string_equal(o.out.data, "/\n");
	outcome_release(&o);
	image_has("HOME", "/of/the/image");
	init_run(&x, NULL, 0, &o);
	assert_string_equal(o.out.data, "/of/the/image\n");
	outcome_release(&o);
	x.env = own;
	init_run(&x, NULL, 0, &o);
	assert_string_equal(o.out.data, "/mine\n");
	outcome_release(&o);
}

static void
command_drops_to_its_user(void **state)
{
	const struct wire_exec x = {
	    .script = "id -u; id -g; id -G; echo x >/dev/stdout;"
		      "echo y >/proc/self/fd/2; grep CapEff /proc/self/status",
	    .user = "4242:4243"};
	struct outcome o;

	(void)state;
	if (geteuid() != 0)
		skip();
	init_run(&x, NULL, 0, &o);
	assert_string_equal(
	    o.out.data, "4242\n4243\n4243\nx\nCapEff:\t0000000000000000\n");
	assert_string_equal(o.err.data, "y\n");
	outcome_release(&o);
}

static void
command_inherits_nothing_of_ours(void **state)
{
	(void)state;
	assert_prints("umask", "0022\n");
	if (geteuid() == 0)
		assert_prints("cat /proc/self/oom_score_adj", "500\n");
	/* 3 is the directory that ls reads. */
	assert_prints("ls /proc/self/fd", "0\n1\n2\n3\n");
	/* Signals 32 and 33 are libc's own: a caller that came by glibc's
	 * posix_spawn, as under make, has them ignored. */
	assert_prints("grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2 "
		      "| sed s/0000000180000000/0000000000000000/ | sort -u",
	    "0000000000000000\n");
	/* a session of its own */
	assert_prints(
	    "set -- $(cat /proc/$$/stat); test $6 = $$ && echo yes", "yes\n");
}

static void
input_is_at_its_end_unless_asked_for(void **state)
{
	(void)state;
	assert_prints("cat; readlink /proc/self/fd/0", "/dev/null\n");
}

static void
input_of_any_size_arrives_whole(void **state)
{
	const size_t size = 3000001;
	const struct wire_exec x = {.script = "wc -c", .open_stdin = true};
	char *input = malloc(size);
	struct outcome o;

	(void)state;
	memset(input, 'x', size);
	init_run(&x, input, size, &o);
	assert_string_equal(o.out.data, "3000001\n");
	outcome_release(&o);
	init_run(&x, "", 0, &o);
	assert_string_equal(o.out.data, "0\n");
	outcome_release(&o);
	free(input);
}

static void
input_that_nobody_wants_is_no_error(void **state)
{
	const size_t size = 1000000;
	const struct wire_exec x = {
	    .script = "head -c 1; exec <&-; echo; sleep 0.2; exit 4",
	    .open_stdin = true};
	char *input = malloc(size);
	struct outcome o;

	(void)state;
	memset(input, 'x', size);
	init_run(&x, input, size, &o);
	assert_string_equal(o.out.data, "x\n");
	assert_int_equal(o.exit.code, 4);
	outcome_release(&o);
	free(input);
}

static void
script_longer_than_an_argument_runs_all_the_same(void **state)
{
	BUF_AUTO script = BUF_INIT(1 << 20);
	const char *last = "; exit 7\n";
	struct wire_exec x = {.user = NULL};
	struct outcome o;

	(void)state;
	buf_adds(&script, "echo $0 $#\n");
	while (script.size < 700000)
		buf_adds(
		    &script, "v='a \"b\" $c \\d \xc3\xa9 \xf0\x9f\x98\x80'\n");
	buf_adds(&script, "printf %s \"$v\"");
	buf_adds(&script, last);
	x.script = script.data;
	init_run(&x, NULL, 0, &o);
	assert_string_equal(o.err.data, "");
	assert_string_equal(
	    o.out.data, "sh 0\na \"b\" $c \\d \xc3\xa9 \xf0\x9f\x98\x80");
	assert_int_equal(o.exit.code, 7);
	outcome_release(&o);
}

static void
large_output_arrives_whole(void **state)
{
	struct outcome o;

	(void)state;
	run_script("head -c 20000000 /dev/zero", &o);
	assert_int_equal(o.out.size, 20000000);
	assert_int_equal(o.exit.code, 0);
	outcome_release(&o);
}

static void
request_may_come_in_single_bytes(void **state)
{
	static const char *const none[] = {NULL};
	const struct wire_exec x = {
	    .script = "echo hi", .env = none, .cwd = "/", .user = "0"};
	BUF_AUTO frame = BUF_INIT(1000);
	struct outcome o;
	struct init in;

	(void)state;
	if (geteuid() != 0)
		skip();
	wire_put_exec(&frame, &x);
	init_open(&in);
	for (size_t i = 0; i < frame.size; i++)
		assert_int_equal(write(in.to, frame.data + i, 1), 1);
	init_finish(&in, NULL, 0, &o);
	assert_string_equal(o.out.data, "hi\n");
	outcome_release(&o);
	init_leave(&in);
}

static void
request_that_makes_no_sense_is_refused(void **state)
{
	static const char newer[] = {WIRE_VERSION + 1, 'x'};
	static const struct {
		enum wire_type type;
		const char *bytes;
		size_t size;
		enum wire_fail why;
	} bad[] = {
	    {WIRE_KILL, "", 0, WIRE_FAIL_INTERNAL},
	    {WIRE_EXEC, "\1nonsense", 9, WIRE_FAIL_INTERNAL},
	    {WIRE_EXEC, "\2nonsense", 9, WIRE_FAIL_INTERNAL},
	    {WIRE_EXEC, newer, sizeof(newer), WIRE_FAIL_VERSION},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct outcome o;
		struct init in;

		init_open(&in);
		init_say(&in, bad[i].type, bad[i].bytes, bad[i].size);
		init_finish(&in, NULL, 0, &o);
		assert_true(o.failed);
		assert_int_equal(o.why, bad[i].why);
		outcome_release(&o);
		init_leave(&in);
	}
}

static void
host_that_leaves_without_a_request_is_no_matter(void **state)
{
	struct init in;

	(void)state;
	init_open(&in);
	init_leave(&in);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(output_and_code_come_back),
	    cmocka_unit_test(death_by_signal_is_told),
	    cmocka_unit_test(argv_runs_without_a_shell),
	    cmocka_unit_test(what_cannot_be_run_is_126_or_127_with_a_word),
	    cmocka_unit_test(program_is_looked_up_in_the_given_path),
	    cmocka_unit_test(directory_that_is_not_there_is_refused),
	    cmocka_unit_test(user_that_is_not_there_is_refused),
	    cmocka_unit_test(environment_is_ours_with_the_requests_over_it),
	    cmocka_unit_test(home_is_the_users_unless_the_image_says),
	    cmocka_unit_test(command_drops_to_its_user),
	    cmocka_unit_test(command_inherits_nothing_of_ours),
	    cmocka_unit_test(input_is_at_its_end_unless_asked_for),
	    cmocka_unit_test(input_of_any_size_arrives_whole),
	    cmocka_unit_test(input_that_nobody_wants_is_no_error),
	    cmocka_unit_test(script_longer_than_an_argument_runs_all_the_same),
	    cmocka_unit_test(large_output_arrives_whole),
	    cmocka_unit_test(request_may_come_in_single_bytes),
	    cmocka_unit_test(request_that_makes_no_sense_is_refused),
	    cmocka_unit_test(host_that_leaves_without_a_request_is_no_matter),
	};

	return cmocka_run_group_tests(tests, init_begin, init_end);
}
