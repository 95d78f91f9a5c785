/* sbxctl egress: what a run may reach, and what it did. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/events.h"
#include "cli/table.h"
#include "lib/jw.h"
#include "lib/str.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

/* -- counters and entries -------------------------------------------------- */

static void
print_counters(const json_t *answer)
{
	static const char *const names[] = {
	    "HOST", "PORT", "ALLOWED", "DENIED", "FAILED", "UP", "DOWN", NULL};
	const json_t *counters = json_object_get(answer, "counters");
	const json_t *host;
	struct table t;
	size_t i;

	table_init(&t, names);
	json_array_foreach(json_object_get(counters, "hosts"), i, host)
	{
		table_add(&t, cli_text(host, "host"));
		table_addf(&t, "%lld", (long long)cli_number(host, "port"));
		table_addf(&t, "%lld", (long long)cli_number(host, "allowed"));
		table_addf(&t, "%lld", (long long)cli_number(host, "denied"));
		table_addf(&t, "%lld", (long long)cli_number(host, "failed"));
		table_add_size(&t, (double)cli_number(host, "up"));
		table_add_size(&t, (double)cli_number(host, "down"));
	}
	table_print(&t);
}

static void
print_entries(const json_t *answer, bool all)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(answer, "entries"), i, entry)
	{
		const char *source = cli_text(entry, "source");

		if (all || !str_eq(source, "builtin"))
			(void)printf(
			    "%s  (%s)\n", cli_text(entry, "entry"), source);
	}
}

static int
egress_show(struct cli *c, const char *run, bool all)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;

	buf_addf(&path, "/v1/runs/%s/egress", run);
	if (cli_do(c, "GET", path.data, NULL, &answer, &e) != 0)
		return cli_fail(&e);
	if (c->json) {
		cli_print_json(answer);
		return 0;
	}
	(void)printf("network %s\n", cli_text(answer, "network"));
	print_entries(answer, all);
	if (json_object_get(answer, "counters") != NULL)
		print_counters(answer);
	return 0;
}

/* -- the log --------------------------------------------------------------- */

static int
on_decision(void *arg, const char *event, const json_t *line)
{
	const struct cli *c = arg;
	const json_t *data = json_object_get(line, "data");

	if (str_eq(event, "ok") || str_eq(event, "keep-alive"))
		return 0;
	if (c->json) {
		cli_print_json(line);
	} else if (str_eq(event, "gap")) {
		(void)printf("(%lld are missing here)\n",
		    (long long)cli_number(data, "lost"));
	} else if (str_eq(event, "error")) {
		(void)fprintf(stderr, "sbxctl: %s\n", cli_text(data, "detail"));
	} else if (str_eq(event, "decision")) {
		(void)printf("%s  %-9s  %s %s:%lld  %s\n",
		    cli_text(data, "time"), cli_text(data, "verdict"),
		    cli_text(data, "method"), cli_text(data, "host"),
		    (long long)cli_number(data, "port"),
		    cli_text(data, "reason"));
	}
	return fflush(stdout);
}

static int
egress_log(struct cli *c, const char *run, bool follow)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	struct err e = ERR_INIT;
	struct events v;

	buf_addf(&path, "/v1/runs/%s/egress/log?follow=%d", run, follow);
	events_init(&v, on_decision, c);
	const struct http_request rq = {
	    .method = "GET",
	    .path = path.data,
	    .accept = "application/x-ndjson",
	    .take = events_take,
	    .arg = &v,
	};
	int rc = cli_call(c, &rq, NULL, &e);
	events_release(&v);
	return rc == 0 ? 0 : cli_fail(&e);
}

/* -- changing, asking ------------------------------------------------------ */

static void
add_entries(struct jw *w, char *const *entries)
{
	jw_key(w, "egressAllow");
	jw_open(w, '[');
	for (; *entries != NULL; entries++)
		jw_str(w, NULL, *entries);
	jw_close(w, ']');
}

static int
egress_set(struct cli *c, const char *run, char *const *entries)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	BUF_AUTO body = BUF_INIT(CLI_BODY_MAX);
	struct jw w = JW_INIT(&body);
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;

	buf_addf(&path, "/v1/runs/%s/egress", run);
	jw_open(&w, '{');
	add_entries(&w, entries);
	jw_close(&w, '}');
	if (cli_do(c, "PUT", path.data, body.data, &answer, &e) != 0)
		return cli_fail(&e);
	if (c->json)
		cli_print_json(answer);
	else
		print_entries(answer, false);
	return 0;
}

static int
egress_check(struct cli *c, char *const *argv)
{
	BUF_AUTO body = BUF_INIT(CLI_BODY_MAX);
	struct jw w = JW_INIT(&body);
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;

	jw_open(&w, '{');
	jw_str(&w, "host", argv[0]);
	add_entries(&w, argv + 1);
	jw_close(&w, '}');
	if (cli_do(c, "POST", "/v1/egress/check", body.data, &answer, &e) != 0)
		return cli_fail(&e);
	bool allowed = json_is_true(json_object_get(answer, "allowed"));
	if (c->json)
		cli_print_json(answer);
	else if (allowed)
		(void)printf("allowed by %s (%s)\n", cli_text(answer, "entry"),
		    cli_text(answer, "source"));
	else
		(void)printf("denied; to admit it: %s\n",
		    cli_text(answer, "suggestion"));
	return allowed ? 0 : CLI_FAILED;
}

int
cmd_egress(struct cli *c, int argc, char **argv)
{
	static const struct option options[] = {
	    {"follow", no_argument, NULL, 'f'}, {"all", no_argument, NULL, 'a'},
	    {NULL, 0, NULL, 0}};
	bool follow = false, all = false;
	struct err e = ERR_INIT;
	char run[ULID_SIZE];
	int option;

	while ((option = getopt_long(argc, argv, "fa", options, NULL)) != -1)
		if (option == 'f')
			follow = true;
		else if (option == 'a')
			all = true;
		else
			return cli_usage("egress");
	argv += optind;
	argc -= optind;
	if (argc < 2)
		return cli_usage("egress");
	if (str_eq(argv[0], "check"))
		return egress_check(c, argv + 1);
	if (cli_run_id(c, argv[1], run, &e) != 0)
		return cli_fail(&e);
	if (str_eq(argv[0], "show") && argc == 2)
		return egress_show(c, run, all);
	if (str_eq(argv[0], "log") && argc == 2)
		return egress_log(c, run, follow);
	if (str_eq(argv[0], "set"))
		return egress_set(c, run, argv + 2);
	return cli_usage("egress");
}
