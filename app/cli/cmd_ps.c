/* sbxctl ps, top, rm, extend: runs as a whole. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/exec_options.h"
#include "cli/run_table.h"
#include "lib/clock.h"
#include "lib/jw.h"
#include "lib/str.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SCREEN_MAX (8u << 20)

double
run_table_time(const char *text)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (rest == NULL)
		return -1;
	return (double)timegm(&tm) + (*rest == '.' ? strtod(rest, NULL) : 0);
}

static const char *
holder_of(const json_t *run)
{
	return json_is_object(json_object_get(run, "lease"))
		   ? cli_text(json_object_get(run, "lease"), "holder")
		   : "";
}

void
run_table(struct table *ret_table, const json_t *answer)
{
	static const char *const names[] = {
	    "RUN", "IMAGE", "STATE", "NETWORK", "AGE", "LEFT", "LEASE", NULL};
	double now = (double)clock_wall_ms() / 1000;
	const json_t *run;
	size_t i;

	table_init(ret_table, names);
	json_array_foreach(json_object_get(answer, "runs"), i, run)
	{
		table_add(ret_table, cli_text(run, "id"));
		table_add(ret_table, cli_text(run, "image"));
		table_add(ret_table, cli_text(run, "state"));
		table_add(ret_table, cli_text(run, "network"));
		table_add_span(ret_table,
		    now - run_table_time(cli_text(run, "createdAt")));
		table_add_span(ret_table,
		    run_table_time(cli_text(run, "expiresAt")) - now);
		table_add(ret_table, holder_of(run));
	}
}

int
cmd_ps(struct cli *c, int argc, char **argv)
{
	static const struct option options[] = {
	    {"quiet", no_argument, NULL, 'q'},
	    {"label", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;
	bool quiet = false;
	const json_t *run;
	struct table t;
	int option;
	size_t i;

	buf_adds(&path, "/v1/runs");
	while ((option = getopt_long(argc, argv, "ql:", options, NULL)) != -1)
		switch (option) {
		case 'q':
			quiet = true;
			break;
		case 'l':
			/* As `run` takes it; the API has a colon there. */
			optarg[strcspn(optarg, "=:")] = ':';
			buf_adds(&path, "?label=");
			http_escape(&path, optarg, false);
			break;
		default:
			return cli_usage("ps");
		}
	if (optind != argc)
		return cli_usage("ps");
	if (cli_do(c, "GET", path.data, NULL, &answer, &e) != 0)
		return cli_fail(&e);
	if (c->json) {
		cli_print_json(answer);
		return 0;
	}
	if (!quiet) {
		run_table(&t, answer);
		table_print(&t);
		return 0;
	}
	json_array_foreach(json_object_get(answer, "runs"), i, run)(void)
	    puts(cli_text(run, "id"));
	return 0;
}

/* -- top ------------------------------------------------------------------- */

static int
screen(struct cli *c, struct buf *to, struct err *e)
{
	json_auto_t *usage = NULL, *runs = NULL;
	struct table t;

	if (cli_do(c, "GET", "/v1/usage", NULL, &usage, e) != 0 ||
	    cli_do(c, "GET", "/v1/runs", NULL, &runs, e) != 0)
		return -1;
	const json_t *memory = json_object_get(usage, "memory");
	const json_t *count = json_object_get(usage, "runs");
	const json_t *workers = json_object_get(usage, "workers");
	buf_addf(to,
	    "%s: %lld running, %lld exited; %lld in flight; memory %lld MiB",
	    cli_text(usage, "server"), (long long)cli_number(count, "running"),
	    (long long)cli_number(count, "exited"),
	    (long long)cli_number(usage, "inFlight"),
	    (long long)cli_number(memory, "reservedMb"));
	if (cli_number(memory, "limitMb") > 0)
		buf_addf(
		    to, " of %lld", (long long)cli_number(memory, "limitMb"));
	buf_addf(to, "; threads %lld of %lld busy\n\n",
	    (long long)cli_number(workers, "busy"),
	    (long long)cli_number(workers, "total"));
	run_table(&t, runs);
	table_write(&t, to);
	table_release(&t);
	return 0;
}

int
cmd_top(struct cli *c, int argc, char **argv)
{
	static const struct option options[] = {
	    {"interval", required_argument, NULL, 'n'},
	    {"once", no_argument, NULL, '1'}, {NULL, 0, NULL, 0}};
	bool once = !isatty(STDOUT_FILENO);
	int64_t seconds = 2;
	int option;

	while ((option = getopt_long(argc, argv, "n:1", options, NULL)) != -1)
		if (option == '1')
			once = true;
		else if (option != 'n' ||
			 str_to_int(optarg, 1, 3600, &seconds) != 0)
			return cli_usage("top");
	if (optind != argc)
		return cli_usage("top");
	for (;;) {
		BUF_AUTO text = BUF_INIT(SCREEN_MAX);
		struct err e = ERR_INIT;

		if (screen(c, &text, &e) != 0)
			return cli_fail(&e);
		(void)printf("%s%s", once ? "" : "\033[H\033[2J", text.data);
		if (fflush(stdout) != 0)
			return CLI_FAILED;
		if (once)
			return 0;
		(void)poll(NULL, 0, (int)seconds * 1000);
	}
}

/* -- rm, extend ------------------------------------------------------------ */

static int
remove_one(struct cli *c, const char *text)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	struct err e = ERR_INIT;
	char id[ULID_SIZE];

	if (cli_run_id(c, text, id, &e) != 0)
		return cli_fail(&e);
	buf_addf(&path, "/v1/runs/%s", id);
	if (cli_do(c, "DELETE", path.data, NULL, NULL, &e) != 0)
		return cli_fail(&e);
	(void)puts(id);
	return 0;
}

static int
remove_all(struct cli *c)
{
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;
	const json_t *run;
	int status = 0;
	size_t i;

	if (cli_do(c, "GET", "/v1/runs", NULL, &answer, &e) != 0)
		return cli_fail(&e);
	json_array_foreach(json_object_get(answer, "runs"), i, run) status |=
	    remove_one(c, cli_text(run, "id"));
	return status;
}

int
cmd_rm(struct cli *c, int argc, char **argv)
{
	static const struct option options[] = {
	    {"all", no_argument, NULL, 'a'}, {NULL, 0, NULL, 0}};
	bool all = false;
	int option, status = 0;

	while ((option = getopt_long(argc, argv, "a", options, NULL)) != -1)
		if (option == 'a')
			all = true;
		else
			return cli_usage("rm");
	if (all != (optind == argc))
		return cli_misuse("rm", "which run? (or --all)");
	if (all)
		return remove_all(c);
	for (int i = optind; i < argc; i++)
		status |= remove_one(c, argv[i]);
	return status;
}

static void
extend_body(const struct cli *c, const char *seconds, struct buf *to)
{
	struct jw w = JW_INIT(to);

	jw_open(&w, '{');
	jw_raw(&w, "ttlSec", seconds);
	if (c->owner != NULL) {
		jw_str(&w, "owner", c->owner);
		jw_raw(&w, "generation", c->generation);
	}
	jw_close(&w, '}');
}

int
cmd_extend(struct cli *c, int argc, char **argv)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE), body = BUF_INIT(1024);
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;
	char id[ULID_SIZE];

	if (argc != 3 || !cli_is_number(argv[2]))
		return cli_usage("extend");
	if (cli_run_id(c, argv[1], id, &e) != 0)
		return cli_fail(&e);
	buf_addf(&path, "/v1/runs/%s/extend", id);
	extend_body(c, argv[2], &body);

	if (cli_do(c, "POST", path.data, body.data, &answer, &e) != 0)
		return cli_fail(&e);
	if (c->json)
		cli_print_json(answer);
	else
		(void)puts(cli_text(answer, "expiresAt"));
	return 0;
}
