/* sbxctl exec, execs, logs, kill: commands in a run. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/exec_options.h"
#include "cli/run_table.h"
#include "lib/clock.h"
#include "lib/jw.h"
#include "lib/str.h"

#include <stdio.h>
#include <string.h>

/* -- exec ------------------------------------------------------------------ */

static int
detached(struct cli *c, const char *run, const struct exec_options *o,
    char *const *argv)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	BUF_AUTO body = BUF_INIT(CLI_BODY_MAX);
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;

	buf_addf(&path, "/v1/runs/%s/exec", run);
	exec_body(c, o, argv, true, &body);
	if (cli_do(c, "POST", path.data, body.data, &answer, &e) != 0)
		return cli_fail(&e);
	if (c->json)
		cli_print_json(answer);
	else
		(void)puts(cli_text(json_object_get(answer, "exec"), "id"));
	return 0;
}

int
cmd_exec(struct cli *c, int argc, char **argv)
{
	static const struct option options[] = {
	    EXEC_LONG, {"detach", no_argument, NULL, 'd'}, {NULL, 0, NULL, 0}};
	struct exec_options o = {.tty = false};
	struct err e = ERR_INIT;
	bool detach = false;
	char run[ULID_SIZE];
	int option;

	while ((option = getopt_long(
		    argc, argv, EXEC_OPTIONS "d", options, NULL)) != -1)
		if (option == 'd')
			detach = true;
		else if (exec_option(&o, "exec", option, optarg) != 0)
			return cli_usage("exec");
	if (argc - optind < 2)
		return cli_misuse("exec", "which run, and what in it?");
	if (exec_options_check(&o, "exec") != 0)
		return CLI_USAGE;
	if (cli_run_id(c, argv[optind], run, &e) != 0) {
		(void)cli_fail(&e);
		return CLI_CUT;
	}
	if (detach)
		return detached(c, run, &o, argv + optind + 1);
	return exec_attached(c, run, &o, argv + optind + 1);
}

/* -- execs ----------------------------------------------------------------- */

static int
list(struct cli *c, const char *text, char run[ULID_SIZE], json_t **ret_answer,
    struct err *e)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);

	if (cli_run_id(c, text, run, e) != 0)
		return -1;
	buf_addf(&path, "/v1/runs/%s/execs", run);
	return cli_do(c, "GET", path.data, NULL, ret_answer, e);
}

static void
add_outcome(struct table *t, const json_t *exec)
{
	if (json_is_true(json_object_get(exec, "timedOut")))
		table_add(t, "timed out");
	else if (str_eq(cli_text(exec, "state"), "exited"))
		table_addf(
		    t, "exited %lld", (long long)cli_number(exec, "exitCode"));
	else
		table_add(t, cli_text(exec, "state"));
}

int
cmd_execs(struct cli *c, int argc, char **argv)
{
	static const char *const names[] = {
	    "EXEC", "STATE", "AGE", "COMMAND", NULL};
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;
	char run[ULID_SIZE];
	const json_t *exec;
	struct table t;
	size_t i;

	if (argc != 2)
		return cli_usage("execs");
	if (list(c, argv[1], run, &answer, &e) != 0)
		return cli_fail(&e);
	if (c->json) {
		cli_print_json(answer);
		return 0;
	}
	table_init(&t, names);
	json_array_foreach(json_object_get(answer, "execs"), i, exec)
	{
		table_add(&t, cli_text(exec, "id"));
		add_outcome(&t, exec);
		table_add_span(
		    &t, (double)clock_wall_ms() / 1000 -
			    run_table_time(cli_text(exec, "startedAt")));
		table_add(&t, cli_text(exec, "cmd"));
	}
	table_print(&t);
	return 0;
}

/* The exec that text names: a whole id, or the beginning or end of one's; NULL:
 * the newest whose output is kept. */
static int
find_exec(
    const json_t *execs, const char *text, char to[ULID_SIZE], struct err *e)
{
	const json_t *exec;
	size_t i, found = 0;

	json_array_foreach(execs, i, exec)
	{
		const char *id = cli_text(exec, "id");

		if (text == NULL ? json_object_get(exec, "output") == NULL
				 : !str_starts(id, text) && !str_ends(id, text))
			continue;
		found = text == NULL ? 1 : found + 1;
		(void)ulid_parse(id, to);
	}
	if (found == 1)
		return 0;
	if (text == NULL)
		return err_set(e, ERR_EXEC_ABSENT,
		    "no exec of this run keeps its output: `sbxctl exec -d` "
		    "starts one that does");
	return err_set(e, ERR_EXEC_ABSENT,
	    found == 0 ? "no exec of this run is called %s"
		       : "more than one exec of this run is called %s",
	    text);
}

int
cmd_logs(struct cli *c, int argc, char **argv)
{
	static const struct option options[] = {
	    {"attach", no_argument, NULL, 'a'},
	    {"offset", required_argument, NULL, 'o'}, {NULL, 0, NULL, 0}};
	BUF_AUTO query = BUF_INIT(256);
	char run[ULID_SIZE], exec[ULID_SIZE];
	struct session_plan plan = {.run = run, .exec = exec};
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;
	int option;

	while ((option = getopt_long(argc, argv, "ao:", options, NULL)) != -1)
		if (option == 'a')
			plan.feed = true;
		else if (option == 'o' && cli_is_number(optarg))
			buf_addf(&query, "&offset=%s", optarg);
		else
			return cli_usage("logs");
	if (argc - optind < 1 || argc - optind > 2)
		return cli_usage("logs");
	if (list(c, argv[optind], run, &answer, &e) != 0 ||
	    find_exec(json_object_get(answer, "execs"), argv[optind + 1], exec,
		&e) != 0) {
		(void)cli_fail(&e);
		return CLI_CUT;
	}
	plan.query = query.data;
	return session_run(c, &plan);
}

int
cmd_kill(struct cli *c, int argc, char **argv)
{
	static const struct option options[] = {
	    {"signal", required_argument, NULL, 's'}, {NULL, 0, NULL, 0}};
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE), body = BUF_INIT(1024);
	char run[ULID_SIZE], exec[ULID_SIZE];
	const char *signal = NULL;
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;
	int option;

	while ((option = getopt_long(argc, argv, "s:", options, NULL)) != -1)
		if (option == 's')
			signal = optarg;
		else
			return cli_usage("kill");
	if (argc - optind != 2)
		return cli_usage("kill");
	if (list(c, argv[optind], run, &answer, &e) != 0 ||
	    find_exec(json_object_get(answer, "execs"), argv[optind + 1], exec,
		&e) != 0)
		return cli_fail(&e);
	struct jw w = JW_INIT(&body);
	jw_open(&w, '{');
	if (signal != NULL && cli_is_number(signal))
		jw_raw(&w, "signal", signal);
	else if (signal != NULL)
		jw_str(&w, "signal", signal);
	jw_close(&w, '}');
	buf_addf(&path, "/v1/runs/%s/execs/%s%s", run, exec,
	    signal != NULL ? "/signal" : "");
	cli_fence(c, &path);
	if (cli_do(c, signal != NULL ? "POST" : "DELETE", path.data,
		signal != NULL ? body.data : NULL, NULL, &e) != 0)
		return cli_fail(&e);
	return 0;
}
