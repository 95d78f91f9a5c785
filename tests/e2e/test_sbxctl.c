/* sbxctl, as a person or a script uses it. */
#include "harness.h"
#include "lib/fd.h"

#include <errno.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000

extern char **environ;

static char dir[64]; /* where it is run, and what it says is kept */
static char id[ULID_SIZE];

static int
setup(void **state)
{
	char bin[4096], path[8192], token[128];

	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	run_new(IMAGE_PLAIN, id);
	(void)snprintf(dir, sizeof(dir), "%s/ctl", stack.base);
	(void)snprintf(token, sizeof(token), "%s/token", stack.base);
	const char *build = getenv("SBX_TEST_BUILD");
	if (mkdir(dir, 0700) != 0 ||
	    realpath(build != NULL ? build : "build", bin) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s:%s", bin, getenv("PATH"));
	(void)setenv("PATH", path, 1);
	(void)setenv("SBX_URL", stack.url, 1);
	(void)setenv("SBX_TOKEN_FILE", token, 1);
	return 0;
}

static int
teardown(void **state)
{
	run_end(id);
	return stack_stop(state);
}

/* A shell command in dir, its output in files there. */
static pid_t begin(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static pid_t
begin_v(const char *fmt, va_list ap)
{
	static char sh[] = "sh", c[] = "-c";
	BUF_AUTO line = BUF_INIT(65536);
	pid_t pid;

	buf_addf(&line, "cd %s; exec >out 2>err; ", dir);
	buf_vaddf(&line, fmt, ap);
	char *argv[] = {sh, c, line.data, NULL};
	assert_int_equal(posix_spawnp(&pid, sh, NULL, NULL, argv, environ), 0);
	return pid;
}

static pid_t
begin(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	pid_t pid = begin_v(fmt, ap);
	va_end(ap);
	return pid;
}

static int
finish(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What a file there holds, in a static buffer. */
static const char *
kept(const char *name)
{
	static char text[1 << 16];
	struct err e = ERR_INIT;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	char *all = fd_read_file(path, sizeof(text) - 1, NULL, &e);
	(void)snprintf(text, sizeof(text), "%s", all != NULL ? all : "");
	free(all);
	return text;
}

/* The same to its end: the exit status. */
static int ctl(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int
ctl(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	pid_t pid = begin_v(fmt, ap);
	va_end(ap);
	int status = finish(pid);
	if (status != 0)
		print_message("status %d: %s\n", status, kept("err"));
	return status;
}

static void
assert_says(const char *name, const char *part)
{
	if (strstr(kept(name), part) == NULL)
		fail_msg("%s is not in: %s", part, kept(name));
}

static void
run_streams_passes_the_exit_code_and_leaves_nothing(void **state)
{
	(void)state;
	assert_int_equal(ctl("sbxctl run " IMAGE_PLAIN " --rm -e WHO=you -- "
			     "sh -c 'echo hello $WHO; echo oops >&2; exit 3'"),
	    3);
	assert_string_equal(kept("out"), "hello you\n");
	assert_string_equal(kept("err"), "oops\n");
	assert_int_equal(ctl("sbxctl ps -q"), 0);
	assert_int_equal(strlen(kept("out")), ULID_SIZE); /* ours, a newline */
}

static void
output_and_input_are_exact(void **state)
{
	(void)state;
	assert_int_equal(ctl("head -c 3000000 /dev/urandom >in; "
			     "sbxctl exec %s -i -- cat <in >echoed; "
			     "cmp in echoed",
			     id),
	    0);
	assert_int_equal(ctl("sbxctl exec %s -- sh -c 'kill -9 $$'", id), 137);
}

static void
times_out_as_timeout_does(void **state)
{
	(void)state;
	assert_int_equal(
	    ctl("sbxctl exec %s --timeout 1 -- sleep 4321", id), 124);
	assert_says("err", "time was over");
}

static void
interrupt_kills_the_command(void **state)
{
	(void)state;
	pid_t pid = begin("exec sbxctl exec %s -- sh -c "
			  "'trap \"\" INT; setsid sleep 98761 & sleep 98762'",
	    id);

	wait_until(
	    ctl("sbxctl exec %s -- ps | grep -q 'sleep 9876[1]'", id) == 0,
	    PATIENCE_MS);
	assert_int_equal(kill(pid, SIGINT), 0);
	assert_int_equal(finish(pid), 130);
	assert_int_equal(
	    ctl("sbxctl exec %s -- ps | grep 'sleep 9876[12]'", id), 1);
}

/* Read from a terminal until it shows the text, behind what was awaited
 * before. */
static void
await_text(int fd, struct buf *seen, const char *text)
{
	struct pollfd p = {fd, POLLIN, 0};
	char piece[4096];
	const char *at;

	while ((at = strstr(seen->data, text)) == NULL) {
		if (poll(&p, 1, PATIENCE_MS) != 1)
			fail_msg("%s is not in: %s", text, seen->data);
		ssize_t n = read(fd, piece, sizeof(piece));
		if (n <= 0)
			fail_msg("ended before %s: %s", text, seen->data);
		buf_add(seen, piece, (size_t)n);
	}
	buf_drop(seen, (size_t)(at - seen->data) + strlen(text));
}

static void
type(int fd, const char *keys)
{
	assert_int_equal(write(fd, keys, strlen(keys)), strlen(keys));
}

static void
terminal_is_one(void **state)
{
	struct winsize size = {.ws_row = 33, .ws_col = 111};
	struct winsize larger = {.ws_row = 44, .ws_col = 122};
	BUF_AUTO seen = BUF_INIT(1 << 20);
	int fd;

	(void)state;
	pid_t pid = forkpty(&fd, NULL, NULL, &size);
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)execlp("sbxctl", "sbxctl", "exec", id, "-t", "--", "sh",
		    (char *)NULL);
		_exit(99);
	}
	type(fd, "stty size; echo a''b\n");
	await_text(fd, &seen, "33 111");
	await_text(fd, &seen, "ab");
	assert_int_equal(ioctl(fd, TIOCSWINSZ, &larger), 0);
	type(fd, "until stty size | grep '44 122'; do :; done\n");
	await_text(fd, &seen, "\n44 122");
	type(fd, "echo rea''dy; cat\n");
	await_text(fd, &seen, "ready");
	type(fd, "\003");	     /* ^C ends cat, not the shell */
	await_text(fd, &seen, "# "); /* what is typed before is thrown away */
	type(fd, "echo st''ill; exit 9\n");
	await_text(fd, &seen, "still");
	assert_int_equal(finish(pid), 9);
	fd_close(&fd);
}

static void
files_and_directories_go_both_ways(void **state)
{
	(void)state;
	assert_int_equal(ctl("mkdir -p tree/sub; echo x >tree/sub/f; "
			     "ln -s sub/f tree/link; "
			     "head -c 2000000 /dev/urandom >big"),
	    0);
	assert_int_equal(ctl("sbxctl cp big %s:into/ && "
			     "sbxctl cp %s:into/big got && cmp big got",
			     id, id),
	    0);
	assert_int_equal(ctl("sbxctl cp tree %s:copied && "
			     "sbxctl cp %s:/work/copied back && "
			     "diff -r tree back && readlink back/link",
			     id, id),
	    0);
	assert_string_equal(kept("out"), "sub/f\n");
	assert_int_equal(ctl("echo piped | sbxctl cp - %s:p.txt && "
			     "sbxctl cp %s:p.txt - && sbxctl ls %s:copied",
			     id, id, id),
	    0);
	assert_says("out", "piped\n");
	assert_says("out", "link -> sub/f");
	/* Into what is there: its contents, beside what else is there. */
	assert_int_equal(ctl("mkdir more; echo y >more/g; "
			     "sbxctl cp more %s:copied && "
			     "sbxctl exec %s -- ls copied && "
			     "sbxctl cp %s:copied more && ls more",
			     id, id, id),
	    0);
	assert_string_equal(kept("out"), "g\nlink\nsub\ng\nlink\nsub\n");
	/* What cannot be had leaves what is there. */
	assert_int_equal(ctl("echo old >keep; sbxctl cp %s:none keep", id), 1);
	assert_says("err", "No such file: none");
	assert_string_equal(kept("keep"), "old\n");
}

static void
what_a_run_holds_gains_nothing_on_this_side(void **state)
{
	(void)state;
	assert_int_equal(
	    ctl("sbxctl exec %s -- sh -c 'mkdir -p bad && cd bad && "
		"cp /bin/busybox su && chmod 6755 su && "
		"chown 1:1 su && touch \"$(printf "
		"\"\\033]0;a\\302\\233b\")\"'",
		id),
	    0);
	assert_int_equal(ctl("sbxctl cp %s:bad bad && find bad -name su "
			     "-printf '%%m %%U' && sbxctl ls %s:bad",
			     id, id),
	    0);
	assert_says("out", "755 0");
	assert_says("out", "?]0;a??b");
	assert_null(strchr(kept("out"), '\033'));
}

static void
background_is_followed_listed_and_ended(void **state)
{
	char exec[ULID_SIZE + 1];

	(void)state;
	assert_int_equal(ctl("sbxctl exec %s -d -- sh -c "
			     "'echo one; sleep 0.2; echo two; exit 7'",
			     id),
	    0);
	assert_int_equal(ctl("sbxctl logs %s", id), 7);
	assert_string_equal(kept("out"), "one\ntwo\n");
	assert_int_equal(ctl("sbxctl execs %s", id), 0);
	assert_says("out", "exited 7");
	assert_int_equal(ctl("sbxctl exec %s -d -- sleep 98763", id), 0);
	(void)snprintf(exec, sizeof(exec), "%s", kept("out"));
	exec[ULID_SIZE - 1] = '\0';
	assert_int_equal(ctl("sbxctl kill %s %s", id, exec), 0);
	assert_int_equal(
	    ctl("sbxctl exec %s -- ps | grep 'sleep 9876[3]'", id), 1);
}

static void
lease_keeps_others_out(void **state)
{
	(void)state;
	assert_int_equal(
	    ctl("sbxctl lease acquire %s --owner eve --ttl 60 >lease", id), 0);
	assert_says("err", "until ");
	assert_int_equal(ctl("sbxctl exec %s $(cat lease) -- true", id), 0);
	assert_int_equal(ctl("sbxctl exec %s -- true", id), 125);
	assert_says("err", "lease_held");
	assert_int_equal(ctl("echo x >in; sbxctl cp in %s:taken", id), 1);
	assert_int_equal(ctl("g=$(sbxctl ps --json | tr -dc '[:print:]' | sed "
			     "'s/.*\"generation\":\\([0-9]*\\).*/\\1/'); "
			     "sbxctl exec %s --owner eve --generation $g -- "
			     "true && sbxctl cp in %s:taken --owner eve "
			     "--generation=$g && "
			     "sbxctl lease release %s -o eve -g $g",
			     id, id, id),
	    0);
	assert_int_equal(ctl("sbxctl exec %s -- true", id), 0);
}

static void
part_of_an_id_is_enough_where_it_is_one_run(void **state)
{
	char other[ULID_SIZE];

	(void)state;
	assert_int_equal(ctl("sbxctl exec %s -- echo hi", id + 20), 0);
	run_new(IMAGE_PLAIN, other);
	assert_int_equal(ctl("sbxctl exec %.4s -- echo hi", id), 125);
	assert_says("err", "more than one run");
	assert_int_equal(ctl("sbxctl rm %s", other), 0);
	assert_int_equal(ctl("sbxctl exec zzzz -- echo hi"), 125);
	assert_says("err", "no run's id");
}

static void
egress_is_asked_and_shown(void **state)
{
	(void)state;
	assert_int_equal(ctl("sbxctl egress check nowhere.test"), 1);
	assert_says("out", "to admit it: nowhere.test");
	assert_int_equal(
	    ctl("sbxctl egress check nowhere.test nowhere.test"), 0);
	assert_int_equal(ctl("sbxctl egress show %s", id), 0);
	assert_says("out", "network none");
	assert_int_equal(ctl("sbxctl egress set %s a.test", id), 1);
	assert_says("err", "invalid_input");
}

static void
json_is_what_the_api_says(void **state)
{
	(void)state;
	assert_int_equal(ctl("sbxctl ps --json"), 0);
	json_auto_t *o = json_loads(kept("out"), 0, NULL);
	assert_string_equal(
	    json_string_value(json_at(o, "server")), "test-box");
	assert_int_equal(ctl("sbxctl top --once"), 0);
	assert_says("out", "test-box: 1 running");
	assert_says("out", id);
}

static void
misuse_and_refusals_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(ctl("sbxctl"), 2);
	assert_int_equal(ctl("sbxctl fly"), 2);
	assert_says("err", "no command fly");
	assert_int_equal(ctl("sbxctl run"), 2);
	assert_int_equal(ctl("sbxctl exec %s -t -- sh </dev/null", id), 2);
	assert_says("err", "to be a terminal");
	assert_int_equal(ctl("sbxctl exec %s --owner x -- true", id), 2);
	assert_int_equal(
	    ctl("sbxctl run " IMAGE_PLAIN " --network lan -- true"), 125);
	assert_says("err", "network");
	assert_int_equal(ctl("SBX_TOKEN=wrong sbxctl ps"), 1);
	assert_says("err", "unauthorized");
	assert_int_equal(ctl("SBX_TOKEN_FILE=/nonexistent sbxctl ps"), 1);
	assert_says("err", "/nonexistent");
	assert_int_equal(ctl("sbxctl --url http://127.0.0.1:1 ps"), 1);
	assert_says("err", "127.0.0.1:1");
	assert_int_equal(ctl("SBX_URL= SBX_ADDR=127.0.0.1:2 sbxctl ps"), 1);
	assert_says("err", "127.0.0.1:2");
}

static void
help_and_completion_know_every_command(void **state)
{
	(void)state;
	assert_int_equal(
	    ctl("sbxctl help | sed -n 's/^  \\([a-z]*\\)  .*/\\1/p' | "
		"while read -r c; do sbxctl $c --help | grep -q \"sbxctl $c\" "
		"|| exit 1; done"),
	    0);
	assert_int_equal(
	    ctl("sbxctl completion bash >c.sh && bash -c '. ./c.sh; "
		"COMP_WORDS=(sbxctl eg); COMP_CWORD=1; _sbxctl; "
		"echo ${COMPREPLY[0]}; "
		"COMP_WORDS=(sbxctl exec %.4s); COMP_CWORD=2; "
		"_sbxctl; echo ${COMPREPLY[0]}'",
		id),
	    0);
	assert_says("out", "egress\n");
	assert_says("out", id);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		run_streams_passes_the_exit_code_and_leaves_nothing),
	    cmocka_unit_test(output_and_input_are_exact),
	    cmocka_unit_test(times_out_as_timeout_does),
	    cmocka_unit_test(interrupt_kills_the_command),
	    cmocka_unit_test(terminal_is_one),
	    cmocka_unit_test(files_and_directories_go_both_ways),
	    cmocka_unit_test(what_a_run_holds_gains_nothing_on_this_side),
	    cmocka_unit_test(background_is_followed_listed_and_ended),
	    cmocka_unit_test(lease_keeps_others_out),
	    cmocka_unit_test(part_of_an_id_is_enough_where_it_is_one_run),
	    cmocka_unit_test(egress_is_asked_and_shown),
	    cmocka_unit_test(json_is_what_the_api_says),
	    cmocka_unit_test(misuse_and_refusals_are_told_apart),
	    cmocka_unit_test(help_and_completion_know_every_command),
	};

	return cmocka_run_group_tests_name("sbxctl", tests, setup, teardown);
}
