/* sbx-app: reads the configuration, then is a master or a worker process. */
#include "api/routes.h"
#include "check.h"
#include "config.h"
#include "lib/log.h"
#include "lib/str.h"
#include "listener.h"
#include "pool.h"
#include "prefork.h"
#include "run/cache.h"
#include "run/instance.h"
#include "store/schema.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define EXIT_USAGE 2

struct options {
	int pool;	   /* enum pool, or -1 */
	int64_t processes; /* -1 where not given */
	int64_t notify_fd; /* -1 where not given */
	bool check, check_config, print_config;
};

static const char usage[] =
    "usage: sbx-app --pool control|stream [--notify-fd FD]\n"
    "       sbx-app --processes N [--pool control|stream]\n"
    "       sbx-app --check | --check-config | --print-config | --help | "
    "--version\n"
    "\n"
    "A worker of the sandbox runner's API, spoken to by nginx over FastCGI.\n"
    "\n"
    "  --pool NAME      serve this pool: control (short calls) or stream\n"
    "  --processes N    be the master of N worker processes per pool, of both\n"
    "                   pools unless one is named; 0 is SBX_WORKERS. SIGHUP\n"
    "                   replaces them one by one, SIGTTIN adds one per pool,\n"
    "                   SIGTTOU drains one, SIGTERM drains them all\n"
    "  --notify-fd FD   write a newline there once requests are taken\n"
    "  --check          say what this box lacks for runs and how to mend it,\n"
    "                   and end: 1 where something is at fault\n"
    "  --check-config   say what is wrong with the configuration, and end\n"
    "  --print-config   print it as NAME=value lines for a shell, and end\n"
    "\n"
    "Without inherited sockets (LISTEN_FDS) it listens on NAME.sock in\n"
    "SBX_RUN_DIR. Configuration is the environment:\n\n";

static int
misuse(const char *what)
{
	fprintf(stderr, "sbx-app: %s; see sbx-app --help\n", what);
	return -1;
}

static int
read_pool(const char *name, struct options *o)
{
	for (int pool = 0; pool < POOLS; pool++)
		if (str_eq(name, pool_name[pool])) {
			o->pool = pool;
			return 0;
		}
	return misuse("--pool is control or stream");
}

static int
read_option(int letter, const char *value, struct options *o)
{
	switch (letter) {
	case 'p':
		return read_pool(value, o);
	case 'n':
		if (str_to_int(value, 0, PREFORK_MAX, &o->processes) != 0)
			return misuse("--processes is a number from 0 to 64");
		return 0;
	case 'f':
		if (str_to_int(value, 3, 1024, &o->notify_fd) != 0)
			return misuse("--notify-fd is a descriptor from 3 on");
		return 0;
	case 'k':
		o->check = true;
		return 0;
	case 'c':
		o->check_config = true;
		return 0;
	case 'e':
		o->print_config = true;
		return 0;
	case 'h':
		fputs(usage, stdout);
		config_help(stdout);
		exit(EXIT_SUCCESS);
	case 'v':
		puts("sbx-app " SBX_VERSION);
		exit(EXIT_SUCCESS);
	default:
		return misuse("unknown option");
	}
}

static int
read_options(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
	    {"pool", required_argument, NULL, 'p'},
	    {"processes", required_argument, NULL, 'n'},
	    {"notify-fd", required_argument, NULL, 'f'},
	    {"check", no_argument, NULL, 'k'},
	    {"check-config", no_argument, NULL, 'c'},
	    {"print-config", no_argument, NULL, 'e'},
	    {"help", no_argument, NULL, 'h'},
	    {"version", no_argument, NULL, 'v'},
	    {NULL, 0, NULL, 0},
	};
	int letter;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, "", table, NULL)) != -1)
		if (read_option(letter, optarg, o) != 0)
			return -1;
	if (optind < argc)
		return misuse("there are no arguments but options");
	if (o->pool < 0 && o->processes < 0 && !o->check && !o->check_config &&
	    !o->print_config)
		return misuse("--pool or --processes is needed");
	return 0;
}

static int
run_master(const struct config *config, const struct options *o, struct err *e)
{
	struct prefork_setup setup = {
	    .config = config,
	    .processes =
		(int)(o->processes > 0 ? o->processes : config->workers),
	};

	for (int pool = 0; pool < POOLS; pool++)
		setup.serves[pool] = o->pool < 0 || o->pool == pool;
	return prefork_run(&setup, e);
}

static int
run_worker(const struct config *config, const char *instance,
    const struct options *o, struct err *e)
{
	struct listener listener;

	if (listener_open(config, (enum pool)o->pool, &listener, e) != 0)
		return -1;
	struct pool_setup setup = {
	    .config = config,
	    .instance = instance,
	    .routes = routes,
	    .route_count = route_count,
	    .pool = (enum pool)o->pool,
	    .listener = listener.fd,
	    .ready_fd = (int)o->notify_fd,
	};
	int rc = pool_serve(&setup, e);
	listener_close(&listener);
	return rc;
}

static int
run(const struct config *config, const struct options *o, struct err *e)
{
	char instance[ULID_SIZE];

	/* Also by the master: what is wrong with the state directory shows at
	 * once, not in every child. */
	if (instance_id(config, instance, e) != 0)
		return -1;
	if (cache_claim(config, instance, e) != 0 ||
	    schema_check(config->redis_url, e) != 0)
		return -1;
	return o->processes >= 0 ? run_master(config, o, e)
				 : run_worker(config, instance, o, e);
}

/* Variables that have no effect: a slip of the pen, most likely. */
static void
say_unknown(void)
{
	char name[CONFIG_NAME];
	const char *meant;
	size_t at = 0;

	while (config_unknown(&at, name, &meant))
		fprintf(stderr, "sbx-app: %s has no effect%s%s\n", name,
		    meant != NULL ? "; perhaps this is meant: " : "",
		    meant != NULL ? meant : "");
}

static void
log_unknown(void)
{
	char name[CONFIG_NAME];
	const char *meant;
	size_t at = 0;

	while (config_unknown(&at, name, &meant))
		LOG_AT(LEVEL_WARNING, w, "config.unknown")
		{
			jw_str(&w, "variable", name);
			if (meant != NULL)
				jw_str(&w, "meant", meant);
		}
}

int
main(int argc, char **argv)
{
	/* Its strings live as long as the process; filled before any thread. */
	static struct config config;
	struct options options = {.pool = -1, .processes = -1, .notify_fd = -1};
	struct err e = ERR_INIT;

	log_open("sbx-app");
	if (read_options(argc, argv, &options) != 0)
		return EXIT_USAGE;
	if (config_read(&config, &e) != 0) {
		log_last_words(e.text);
		return EXIT_USAGE;
	}
	if (options.print_config || options.check_config)
		say_unknown();
	if (options.print_config)
		config_print(&config, stdout);
	if (options.print_config || options.check_config)
		return EXIT_SUCCESS;
	if (options.check)
		return check_run(&config);
	log_unknown();
	if (run(&config, &options, &e) == 0)
		return EXIT_SUCCESS;
	log_last_words(e.text);
	return e.kind == ERR_INPUT ? EXIT_USAGE : EXIT_FAILURE;
}
