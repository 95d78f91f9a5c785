/*
 * sbx-init: the program that is mounted into every run as /.sbx/init.
 *
 *	sbx-init run --user USER [--socket PATH] [--memory MIB] [--own PATH]
 *					PID 1 of the run; serves on PATH, or on
 *					an abstract name; an empty directory to
 *					own is given to the user
 *	sbx-init exec			one operation of PID 1's; frames
 *					(lib/wire) on standard input and output
 *	sbx-init sync			write out what is only in memory yet:
 *					for runtimes with a page cache of their
 *					own, before a snapshot
 *	sbx-init copy --from DIR --to DIR
 *					make one directory what the other is
 *	sbx-init version
 */
#include "init/copy.h"
#include "init/pid1.h"
#include "init/relay.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int
usage(FILE *to)
{
	(void)fputs("usage: sbx-init run --user USER [--socket PATH] "
		    "[--memory MIB] [--own PATH] | exec | sync | "
		    "copy --from DIR --to DIR | version\n",
	    to);
	return to == stdout ? 0 : 2;
}

static int
run(int argc, char **argv)
{
	const char *user = NULL, *socket = NULL, *memory = "0", *own = "";
	char *end = NULL;

	for (; argc >= 2; argc -= 2, argv += 2) {
		if (str_eq(argv[0], "--user"))
			user = argv[1];
		else if (str_eq(argv[0], "--socket"))
			socket = argv[1];
		else if (str_eq(argv[0], "--memory"))
			memory = argv[1];
		else if (str_eq(argv[0], "--own"))
			own = argv[1];
		else
			return usage(stderr);
	}
	unsigned long long mib = strtoull(memory, &end, 10);
	if (argc != 0 || user == NULL || *end != '\0')
		return usage(stderr);
	return pid1_run(user, socket, mib, own);
}

int
main(int argc, char **argv)
{
	/* An OCI runtime may leak descriptors of the host (CVE-2024-21626). */
	fd_close_from(STDERR_FILENO + 1);
	if (argc >= 2 && str_eq(argv[1], "run"))
		return run(argc - 2, argv + 2);
	if (argc == 2 && str_eq(argv[1], "exec"))
		return relay_run();
	if (argc == 2 && str_eq(argv[1], "sync")) {
		sync();
		return 0;
	}
	if (argc == 6 && str_eq(argv[1], "copy") && str_eq(argv[2], "--from") &&
	    str_eq(argv[4], "--to"))
		return copy_run(argv[3], argv[5]);
	if (argc == 2 && str_eq(argv[1], "--help"))
		return usage(stdout);
	if (argc == 2 && str_eq(argv[1], "version")) {
		(void)printf("sbx-init, wire version %d\n", WIRE_VERSION);
		return 0;
	}
	return usage(stderr);
}
