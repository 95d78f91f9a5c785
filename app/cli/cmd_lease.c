/* sbxctl lease: take a run over, keep it, give it back. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/exec_options.h"
#include "lib/jw.h"
#include "lib/str.h"

#include <stdio.h>
#include <stdlib.h>

struct plan {
	const char *verb, *owner, *generation, *ttl, *wait;
	bool force;
};

static const struct option options[] = {
    {"ttl", required_argument, NULL, 't'},
    {"wait", required_argument, NULL, 'w'},
    {"force", no_argument, NULL, 'f'},
    {NULL, 0, NULL, 0},
};

static int
one_option(struct plan *p, int option)
{
	switch (option) {
	case 'o':
		p->owner = optarg;
		return 0;
	case 'g':
		p->generation = optarg;
		return cli_is_number(optarg) ? 0 : -1;
	case 't':
		p->ttl = optarg;
		return cli_is_number(optarg) ? 0 : -1;
	case 'w':
		p->wait = optarg;
		return cli_is_number(optarg) ? 0 : -1;
	case 'f':
		p->force = true;
		return 0;
	default:
		return -1;
	}
}

/* Who asks, where --owner does not say it. */
static const char *
default_owner(void)
{
	const char *user = getenv("USER");

	return user != NULL && !str_blank(user) ? user : "sbxctl";
}

static void
lease_body(const struct plan *p, struct buf *to)
{
	struct jw w = JW_INIT(to);

	jw_open(&w, '{');
	jw_str(&w, "owner", p->owner);
	if (p->generation != NULL)
		jw_raw(&w, "generation", p->generation);
	if (!str_eq(p->verb, "release"))
		jw_raw(&w, "ttlSec", p->ttl);
	if (p->wait != NULL)
		jw_raw(&w, "waitSec", p->wait);
	if (p->force)
		jw_bool(&w, "force", true);
	jw_close(&w, '}');
}

static int
lease_do(struct cli *c, const struct plan *p, const char *run)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	BUF_AUTO body = BUF_INIT(CLI_BODY_MAX);
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;

	buf_addf(&path, "/v1/runs/%s/lease%s%s", run,
	    str_eq(p->verb, "acquire") ? "" : "/",
	    str_eq(p->verb, "acquire") ? "" : p->verb);
	lease_body(p, &body);
	if (cli_do(c, "POST", path.data, body.data, &answer, &e) != 0)
		return cli_fail(&e);
	if (answer == NULL)
		return 0;
	const json_t *lease = json_object_get(answer, "lease");
	if (c->json)
		cli_print_json(answer);
	else {
		/* Beside what a script takes as it is. */
		(void)fprintf(
		    stderr, "until %s\n", cli_text(lease, "expiresAt"));
		(void)printf("--owner %s --generation %lld\n",
		    cli_text(lease, "holder"),
		    (long long)cli_number(lease, "generation"));
	}
	return 0;
}

int
cmd_lease(struct cli *c, int argc, char **argv)
{
	struct plan p = {.ttl = "300",
	    .owner = c->owner != NULL ? c->owner : default_owner(),
	    .generation = c->generation};
	struct err e = ERR_INIT;
	char run[ULID_SIZE];
	int option;

	while ((option = getopt_long(argc, argv, "o:g:t:w:f", options, NULL)) !=
	       -1)
		if (one_option(&p, option) != 0)
			return cli_usage("lease");
	if (argc - optind != 2)
		return cli_usage("lease");
	p.verb = argv[optind];
	if (!str_eq(p.verb, "acquire") && !str_eq(p.verb, "renew") &&
	    !str_eq(p.verb, "release"))
		return cli_usage("lease");
	if (str_eq(p.verb, "acquire") != (p.generation == NULL))
		return cli_misuse("lease",
		    "renew and release take the --generation that acquire "
		    "told");
	if (cli_run_id(c, argv[optind + 1], run, &e) != 0)
		return cli_fail(&e);
	return lease_do(c, &p, run);
}
