/*
 * sbx-init: the program that is mounted into every run as /.sbx/init.
 *
 *	sbx-init run --user USER	PID 1 of the run
 *	sbx-init exec			supervise one command; frames (lib/wire)
 *					on standard input and output
 *	sbx-init version
 */
#include "init/exec.h"
#include "init/pid1.h"
#include "lib/str.h"
#include "lib/wire.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An OCI runtime may leak descriptors of the host (CVE-2024-21626). */
static void
close_inherited(void)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0)
		return;
#endif
	for (int fd = 3; fd < 1024; fd++)
		(void)close(fd);
}

int
main(int argc, char **argv)
{
	if (argc == 4 && str_eq(argv[1], "run") && str_eq(argv[2], "--user")) {
		close_inherited();
		return pid1_run(argv[3]);
	}
	if (argc == 2 && str_eq(argv[1], "exec")) {
		close_inherited();
		return exec_run();
	}
	if (argc == 2 && str_eq(argv[1], "version")) {
		(void)printf("sbx-init, wire version %d\n", WIRE_VERSION);
		return 0;
	}
	(void)fputs(
	    "usage: sbx-init run --user USER | exec | version\n", stderr);
	return 2;
}
