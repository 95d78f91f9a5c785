/* sbx-reaper: reads the configuration, then sweeps until it is told to stop. */
#include "config.h"
#include "docker/engine.h"
#include "lib/log.h"
#include "lib/str.h"
#include "run/cache.h"
#include "run/instance.h"
#include "store/schema.h"
#include "tick.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define EXIT_USAGE 2

static const char usage[] =
    "usage: sbx-reaper [--help | --version]\n"
    "\n"
    "Ends the sandbox runner's runs at their deadline, and makes Docker and\n"
    "Redis agree after any crash: adopts or removes containers without a\n"
    "record, and forgets records without a container. Any number may run: one\n"
    "works, the others stand by. SIGTERM ends it; the runs stay.\n"
    "\n"
    "Configuration is the environment:\n\n";

/* -1 to go on, else the exit status. */
static int
read_options(int argc, char **argv)
{
	if (argc == 1)
		return -1;
	if (argc == 2 && str_eq(argv[1], "--help")) {
		fputs(usage, stdout);
		config_help(stdout);
		return EXIT_SUCCESS;
	}
	if (argc == 2 && str_eq(argv[1], "--version")) {
		puts("sbx-reaper " SBX_VERSION);
		return EXIT_SUCCESS;
	}
	fputs("sbx-reaper: unknown option; see sbx-reaper --help\n", stderr);
	return EXIT_USAGE;
}

/* Before any thread, which inherits it: tick_run waits for these. */
static void
set_signals_up(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

int
main(int argc, char **argv)
{
	static struct config config; /* its strings live as long as we do */
	char instance[ULID_SIZE];
	struct err e = ERR_INIT;
	int status = read_options(argc, argv);

	if (status >= 0)
		return status;
	log_open("sbx-reaper");
	set_signals_up();
	if (config_read(&config, &e) == 0 && engine_setup(&e) == 0 &&
	    instance_id(&config, instance, &e) == 0 &&
	    cache_claim(&config, instance, &e) == 0 &&
	    schema_check(config.redis_url, &e) == 0 &&
	    tick_run(&config, instance, &e) == 0)
		return EXIT_SUCCESS;
	log_last_words(e.text);
	return e.kind == ERR_INPUT ? EXIT_USAGE : EXIT_FAILURE;
}
