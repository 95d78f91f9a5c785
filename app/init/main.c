/*
 * sbx-init: the program that is mounted into every run as /.sbx/init.
 *
 *	sbx-init run --user USER [--socket PATH]
 *					PID 1 of the run; serves on PATH
 *	sbx-init exec			supervise one command; frames (lib/wire)
 *					on standard input and output
 *	sbx-init version
 */
#include "init/exec.h"
#include "init/pid1.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "lib/wire.h"

#include <stdio.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	/* An OCI runtime may leak descriptors of the host (CVE-2024-21626). */
	fd_close_from(STDERR_FILENO + 1);
	if (argc >= 4 && str_eq(argv[1], "run") && str_eq(argv[2], "--user")) {
		if (argc == 4)
			return pid1_run(argv[3], NULL);
		if (argc == 6 && str_eq(argv[4], "--socket"))
			return pid1_run(argv[3], argv[5]);
	}
	if (argc == 2 && str_eq(argv[1], "exec"))
		return exec_run(NULL, NULL);
	if (argc == 2 && str_eq(argv[1], "version")) {
		(void)printf("sbx-init, wire version %d\n", WIRE_VERSION);
		return 0;
	}
	(void)fputs("usage: sbx-init run --user USER [--socket PATH] | exec | "
		    "version\n",
	    stderr);
	return 2;
}
