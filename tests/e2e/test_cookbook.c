/* What an operator reads: README.md's table of Redis commands, run as it stands
 * there against a stack that has all of it; and the log. */
#include "../wait.h"
#include "harness.h"
#include "lib/fd.h"
#include "templates.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPO "acme/shop"
#define LONG_MS 20000

static char run[ULID_SIZE];
static struct stream *busy;

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_USER);
	template_new(IMAGE_USER, REPO, NULL, run);
	template_made(run, REPO);
	run_end(run);
	template_new(IMAGE_USER, REPO, NULL, run);
	REPLY_AUTO r = http_do("POST", run_url(run, "lease"),
	    "{\"owner\":\"anna\",\"ttlSec\":600}", NULL);
	assert_int_equal(r.status, 200);
	busy = stream_open(run_url(run, "exec"),
	    "{\"cmd\":\"sleep 600\",\"owner\":\"anna\",\"generation\":1}",
	    NULL);
	assert_int_equal(stream_status(busy), 200);
	return 0;
}

static int
teardown(void **state)
{
	run_end(run);
	template_drop(REPO);
	return stack_stop(state);
}

/* -- the table ------------------------------------------------------------- */

/* What each row must say of this stack, in the table's order: an answer without
 * it is a wrong command, or a wrong row. NULL: the run's id. */
static const char *const says[] = {
    /* SORT … state */ "running\n" IMAGE_USER "\n",
    /* SORT … lease */ "anna\n1\n",
    /* HGETALL run */ "leaseHolder\nanna\n",
    /* --scan */ NULL,
    /* inflight */ "\n",
    /* SORT … hold */ "\n\n\n",
    /* sbx:runs */ NULL,
    /* sbx:warms */ REPO "\n",
    /* sbx:warm */ "lockHash\n",
    /* pins */ " ",
    /* disk: may not have been looked at yet */ "",
    /* workers */ "control-",
    /* worker */ "pool\ncontrol\n",
    /* reaper */ " ",
    /* counters */ "sweep expire rounds\n",
    /* schema */ "1\n",
    /* HDEL */ "2\n",
};

#define ROWS (sizeof(says) / sizeof(says[0]))

/* A worker of the control pool, as Redis names it. */
static const char *
worker(void)
{
	static char name[64];
	redisReply *r = redis_do("ZRANGE sbx:workers 0 -1");

	for (size_t i = 0; i < r->elements; i++)
		if (strstr(r->element[i]->str, "control-") != NULL)
			(void)snprintf(
			    name, sizeof(name), "%s", r->element[i]->str);
	freeReplyObject(r);
	return name;
}

/* The command with what stands for names of this stack replaced. */
static void
fill_in(const char *command, struct buf *to)
{
	static const char *const words[] = {"RUN", "REPO", "WORKER"};
	const char *const values[] = {run, REPO, worker()};

	while (*command != '\0') {
		size_t i = 0;

		while (i < 3 &&
		       (command[-1] != ':' ||
			   strncmp(command, words[i], strlen(words[i])) != 0))
			i++;
		if (i < 3) {
			buf_adds(to, values[i]);
			command += strlen(words[i]);
		} else
			buf_addc(to, *command++);
	}
}

/* What redis-cli answers to it, without a shell; to be released. */
static struct buf
answer_of(char *command)
{
	char socket[96], *argv[64] = {"redis-cli", "-s", socket};
	int argc = 3, out[2], status;
	struct buf said = BUF_INIT(1 << 20);
	char some[4096];
	ssize_t n;

	(void)snprintf(socket, sizeof(socket), "%s/redis.sock", stack.run_dir);
	for (char *word; (word = strsep(&command, " ")) != NULL;)
		argv[argc++] = word;
	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		(void)execvp(argv[0], argv);
		_exit(127);
	}
	fd_close(&out[1]);
	while ((n = read(out[0], some, sizeof(some))) > 0)
		buf_add(&said, some, (size_t)n);
	fd_close(&out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	buf_addc(&said, '\0');
	return said;
}

/* Marks come and go: it may be so a moment later. */
static bool
row_says(const char *command, const char *wanted, bool tell)
{
	struct buf filled = BUF_INIT(4096);

	fill_in(command, &filled);
	buf_addc(&filled, '\0');
	struct buf said = answer_of(filled.data);
	bool ok = strstr(said.data, wanted != NULL ? wanted : run) != NULL &&
		  strstr(said.data, "ERR") == NULL &&
		  strstr(said.data, "WRONGTYPE") == NULL;
	if (!ok && tell)
		fail_msg("%s: %s", command, said.data);
	buf_release(&said);
	buf_release(&filled);
	return ok;
}

static void
check_row(const char *command, const char *wanted)
{
	int64_t end = clock_mono_ms() + LONG_MS;

	while (!row_says(command, wanted, clock_mono_ms() > end))
		(void)poll(NULL, 0, 100);
}

static void
each_command_of_the_table_answers_its_question(void **state)
{
	struct err e = ERR_INIT;
	char *text = fd_read_file("README.md", 1 << 20, NULL, &e);
	size_t rows = 0;

	(void)state;
	assert_non_null(text);
	char *line = strstr(text, "**Looking inside.**");
	assert_non_null(line);
	*strstr(line, "That is the one thing") = '\0';
	while ((line = strstr(line, "\n| ")) != NULL) {
		char *end = strstr(++line, "` |\n");

		if (end == NULL)
			continue; /* the head */
		*end = '\0';
		assert_true(rows < ROWS);
		check_row(strrchr(line, '`') + 1, says[rows++]);
		line = end + 1;
	}
	assert_int_equal(rows, ROWS);
	free(text);
}

/* By the last row of the table. */
static void
a_lease_that_was_freed_by_hand_stands_in_nobodys_way(void **state)
{
	(void)state;
	stream_close(busy);
	EXECUTED_AUTO x = exec_sh(run, "echo free");
	assert_string_equal(x.out.data, "free\n");
	REPLY_AUTO r = http_do("POST", run_url(run, "lease"),
	    "{\"owner\":\"otto\",\"ttlSec\":60,\"waitSec\":20}", NULL);
	assert_int_equal(r.status, 200);
	assert_int_equal(
	    json_integer_value(json_at(r.json, "lease.generation")), 2);
}

/* -- the log --------------------------------------------------------------- */

static void
a_request_can_be_followed_by_its_id(void **state)
{
	char made[ULID_SIZE], line[64];

	(void)state;
	REPLY_AUTO refused = http_do("GET", "/v1/runs", NULL,
	    "Authorization: Bearer no", "X-Request-Id: stranger-1", NULL);
	assert_int_equal(refused.status, 401);
	wait_until(stack_logged("\"event\":\"request.refused\",\"request\":"
				"\"stranger-1\""),
	    LONG_MS);
	REPLY_AUTO r = http_do("POST", "/v1/runs",
	    "{\"image\":\"" IMAGE_USER "\"}", "X-Request-Id: maker-1", NULL);
	assert_int_equal(r.status, 201);
	(void)snprintf(made, sizeof(made), "%s", text_at(&r, "id"));
	(void)snprintf(line, sizeof(line), "\"run\":\"%s\"", made);
	wait_until(stack_logged("\"event\":\"request.done\",\"request\":"
				"\"maker-1\"") &&
		       stack_logged(line),
	    LONG_MS);
	run_end(made);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_command_of_the_table_answers_its_question),
	    cmocka_unit_test(
		a_lease_that_was_freed_by_hand_stands_in_nobodys_way),
	    cmocka_unit_test(a_request_can_be_followed_by_its_id),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
