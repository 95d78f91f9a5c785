/*
 * sbxctl: the box's API on a command line.
 *
 *	sbxctl [--url URL] [--token-file FILE] [--json] COMMAND ...
 *
 * Where the box is: --url, $SBX_URL, or http:// and $SBX_ADDR. The token:
 * $SBX_TOKEN, or the first line of --token-file or $SBX_TOKEN_FILE; never an
 * argument, which other users can read.
 */
#include "cli/cli.h"
#include "config.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_FILE_MAX (64u << 10)
#define DEFAULT_ADDR "127.0.0.1:7439"
#define DEFAULT_TOKEN_FILE "/deployments/sandbox/token"

static void
help(FILE *to)
{
	(void)fputs("usage: sbxctl [--url URL] [--token-file FILE] [--json] "
		    "COMMAND ...\n\n",
	    to);
	for (size_t i = 0; i < command_count; i++)
		(void)fprintf(
		    to, "  %-10s  %s\n", commands[i].name, commands[i].summary);
	(void)fputs(
	    "\n`sbxctl COMMAND --help` says more. RUN and EXEC are ids, or "
	    "four "
	    "characters or more\nat the beginning or end of one. --json prints "
	    "what the API answered.\n--owner NAME --generation N, "
	    "before any `--`, act under a lease.\n\n"
	    "  --url URL          the box (SBX_URL, or http:// and SBX_ADDR;\n"
	    "                     http://" DEFAULT_ADDR ")\n"
	    "  --token-file FILE  its token "
	    "(SBX_TOKEN_FILE; " DEFAULT_TOKEN_FILE
	    "),\n                     unless SBX_TOKEN is the token itself\n",
	    to);
}

static int
command_help(const struct command *k)
{
	(void)printf(
	    "usage: sbxctl %s %s\n\n%s\n", k->name, k->synopsis, k->summary);
	if (k->options != NULL)
		(void)printf("\n%s", k->options);
	return 0;
}

/* A flag anywhere before what is executed in a run: taken out. */
static bool
take_flag(int *argc, char **argv, const char *flag)
{
	for (int i = 1; i < *argc && !str_eq(argv[i], "--"); i++) {
		if (!str_eq(argv[i], flag))
			continue;
		memmove(argv + i, argv + i + 1,
		    (size_t)(*argc - i) * sizeof(*argv));
		(*argc)--;
		return true;
	}
	return false;
}

/* The same of one with a value: NULL where it is not there. */
static const char *
take_value(int *argc, char **argv, const char *flag)
{
	size_t size = strlen(flag);

	for (int i = 1; i < *argc && !str_eq(argv[i], "--"); i++) {
		bool joined = str_starts(argv[i], flag) && argv[i][size] == '=';
		char *value = joined ? argv[i] + size + 1 : argv[i + 1];

		if (!joined && (!str_eq(argv[i], flag) || i + 1 == *argc))
			continue;
		int words = joined ? 1 : 2;
		memmove(argv + i, argv + i + words,
		    (size_t)(*argc - i - words + 1) * sizeof(*argv));
		*argc -= words;
		return value;
	}
	return NULL;
}

/* A lease's credential, which goes with whatever changes the run. */
static int
take_fence(struct cli *c, const char *name, int *argc, char **argv)
{
	c->owner = take_value(argc, argv, "--owner");
	c->generation = take_value(argc, argv, "--generation");
	if (c->generation != NULL && !cli_is_number(c->generation))
		return cli_misuse(name, "--generation is a whole number");
	/* An acquisition has an owner alone. */
	if ((c->owner == NULL) != (c->generation == NULL) &&
	    !str_eq(name, "lease"))
		return cli_misuse(
		    name, "--owner and --generation belong together");
	return 0;
}

/* The token, which the caller frees. */
static char *
read_token(const char *file, struct err *e)
{
	const char *token = getenv("SBX_TOKEN");

	if (file == NULL && token != NULL && *token != '\0')
		return strdup(token);
	if (file == NULL)
		file = getenv("SBX_TOKEN_FILE");
	if (file == NULL || *file == '\0')
		file = DEFAULT_TOKEN_FILE;
	char *text = fd_read_file(file, TOKEN_FILE_MAX, NULL, e);
	if (text == NULL) {
		(void)err_wrap(e, "the token (SBX_TOKEN, --token-file)");
		return NULL;
	}
	text[strcspn(text, "\r\n")] = '\0';
	return text;
}

static void
base_url(const char *url, struct buf *to)
{
	const char *addr = getenv("SBX_ADDR");

	if (url == NULL)
		url = getenv("SBX_URL");
	if (url != NULL && *url != '\0')
		buf_adds(to, url);
	else
		buf_addf(to, "http://%s",
		    addr != NULL && *addr != '\0' ? addr : DEFAULT_ADDR);
	while (to->size > 0 && to->data[to->size - 1] == '/')
		to->data[--to->size] = '\0';
}

static int
perform(const struct command *k, const char *url, const char *token_file,
    bool json, char **argv)
{
	BUF_AUTO base = BUF_INIT(CLI_PATH_SIZE);
	struct cli c = {.json = json};
	struct err e = ERR_INIT;
	char *token = NULL;
	int argc = 0;

	while (argv[argc] != NULL)
		argc++;
	if (take_flag(&argc, argv, "--help") || take_flag(&argc, argv, "-h"))
		return command_help(k);
	c.json = take_flag(&argc, argv, "--json") || json;
	if (take_fence(&c, k->name, &argc, argv) != 0)
		return CLI_USAGE;
	if (!str_eq(k->name, "completion")) {
		token = read_token(token_file, &e);
		if (token == NULL)
			return cli_fail(&e);
	}
	base_url(url, &base);
	c.http = http_new(base.data, token != NULL ? token : "");
	optind = 0; /* getopt(3): begin anew */
	int status = k->run(&c, argc, argv);
	http_free(c.http);
	free(token);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"url", required_argument, NULL, 'u'},
	    {"token-file", required_argument, NULL, 't'},
	    {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'},
	    {"version", no_argument, NULL, 'V'}, {NULL, 0, NULL, 0}};
	const char *url = NULL, *token_file = NULL;
	bool json = false;
	int option;

	(void)signal(SIGPIPE, SIG_IGN);
	while (
	    (option = getopt_long(argc, argv, "+u:t:jhV", options, NULL)) != -1)
		switch (option) {
		case 'u':
			url = optarg;
			break;
		case 't':
			token_file = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			help(stdout);
			return 0;
		case 'V':
			(void)puts("sbxctl " SBX_VERSION);
			return 0;
		default:
			return CLI_USAGE;
		}
	if (optind == argc || str_eq(argv[optind], "help")) {
		help(optind == argc ? stderr : stdout);
		return optind == argc ? CLI_USAGE : 0;
	}
	const struct command *k = command_find(argv[optind]);
	if (k == NULL) {
		(void)fprintf(stderr,
		    "sbxctl: there is no command %s; `sbxctl help` lists "
		    "them\n",
		    argv[optind]);
		return CLI_USAGE;
	}
	return perform(k, url, token_file, json, argv + optind);
}
