/* sbxctl snapshot, warm: what outlives a run. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "lib/jw.h"
#include "lib/str.h"

#include <stdio.h>

/* A call whose answer is printed: whole, or one member of it. */
static int
print_member(struct cli *c, const char *method, const char *path,
    const char *body, const char *member)
{
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;

	if (cli_do(c, method, path, body, &answer, &e) != 0)
		return cli_fail(&e);
	if (c->json && answer != NULL)
		cli_print_json(answer);
	else if (answer != NULL)
		(void)puts(cli_text(answer, member));
	return 0;
}

/* -- snapshot -------------------------------------------------------------- */

static int
snapshot_list(struct cli *c)
{
	static const char *const names[] = {
	    "IMAGE", "SIZE", "CREATED", "RUN", "FROM", NULL};
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;
	const json_t *one;
	struct table t;
	size_t i;

	if (cli_do(c, "GET", "/v1/snapshots", NULL, &answer, &e) != 0)
		return cli_fail(&e);
	if (c->json) {
		cli_print_json(answer);
		return 0;
	}
	table_init(&t, names);
	json_array_foreach(json_object_get(answer, "snapshots"), i, one)
	{
		table_add(&t, cli_text(one, "image"));
		table_add_size(&t, (double)cli_number(one, "size"));
		table_add(&t, cli_text(one, "createdAt"));
		table_add(&t, cli_text(one, "run"));
		table_add(&t, cli_text(one, "baseImage"));
	}
	table_print(&t);
	return 0;
}

static int
snapshot_take(struct cli *c, const char *text)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	struct err e = ERR_INIT;
	char run[ULID_SIZE];

	if (cli_run_id(c, text, run, &e) != 0)
		return cli_fail(&e);
	buf_addf(&path, "/v1/runs/%s/snapshot", run);
	return print_member(c, "POST", path.data, NULL, "image");
}

int
cmd_snapshot(struct cli *c, int argc, char **argv)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);

	if (argc == 2 && str_eq(argv[1], "ls"))
		return snapshot_list(c);
	if (argc == 3 && str_eq(argv[1], "take"))
		return snapshot_take(c, argv[2]);
	if (argc != 3 || !str_eq(argv[1], "rm"))
		return cli_usage("snapshot");
	buf_adds(&path, "/v1/snapshots?image=");
	http_escape(&path, argv[2], false);
	return print_member(c, "DELETE", path.data, NULL, "image");
}

/* -- warm ------------------------------------------------------------------ */

static int
warm_list(struct cli *c)
{
	static const char *const names[] = {
	    "REPOSITORY", "SIZE", "LAST USE", "LOCK HASH", NULL};
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;
	const json_t *one;
	struct table t;
	size_t i;

	if (cli_do(c, "GET", "/v1/warmcache", NULL, &answer, &e) != 0)
		return cli_fail(&e);
	if (c->json) {
		cli_print_json(answer);
		return 0;
	}
	table_init(&t, names);
	json_array_foreach(json_object_get(answer, "templates"), i, one)
	{
		table_add(&t, cli_text(one, "repo"));
		table_add_size(&t, (double)cli_number(one, "size"));
		table_add(&t, cli_text(one, "lastUsedAt"));
		table_addf(&t, "%.12s", cli_text(one, "lockHash"));
	}
	table_print(&t);
	return 0;
}

static int
warm_commit(struct cli *c, const char *text, const char *repo)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	BUF_AUTO body = BUF_INIT(CLI_BODY_MAX);
	struct jw w = JW_INIT(&body);
	struct err e = ERR_INIT;
	char run[ULID_SIZE];

	if (cli_run_id(c, text, run, &e) != 0)
		return cli_fail(&e);
	buf_addf(&path, "/v1/runs/%s/warm-commit", run);
	jw_open(&w, '{');
	if (repo != NULL)
		jw_str(&w, "repo", repo);
	jw_close(&w, '}');
	return print_member(c, "POST", path.data, body.data, "lockHash");
}

int
cmd_warm(struct cli *c, int argc, char **argv)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);

	if (argc == 2 && str_eq(argv[1], "ls"))
		return warm_list(c);
	if ((argc == 3 || argc == 4) && str_eq(argv[1], "commit"))
		return warm_commit(c, argv[2], argv[3]);
	if (argc != 3 || !str_eq(argv[1], "rm"))
		return cli_usage("warm");
	buf_adds(&path, "/v1/warmcache/");
	http_escape(&path, argv[2], true);
	return print_member(c, "DELETE", path.data, NULL, "repo");
}
