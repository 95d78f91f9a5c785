/* Going to the background, and telling when it serves. */
#include "detach.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The process that was started: until the other serves, or has ended. What went
 * wrong the other has said, unless it could not. */
static _Noreturn void
wait_for(pid_t child, int ready)
{
	ssize_t n;
	char byte;
	int status;

	do
		n = read(ready, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(0);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		(void)dprintf(STDERR_FILENO, "sbx-proxy: ended by %s\n",
		    strsignal(WTERMSIG(status)));
	_exit(1);
}

static int
leave_terminal(struct err *e)
{
	FD_AUTO null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (setsid() < 0)
		return err_sys(e, ERR_INTERNAL, "setsid");
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0)
		return err_sys(e, ERR_INTERNAL, "cannot open /dev/null");
	return 0;
}

int
detach(struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_sys(e, ERR_INTERNAL, "pipe2");
	FD_AUTO ready = ends[0];
	FD_AUTO tell = ends[1];
	pid_t child = fork();
	if (child < 0)
		return err_sys(e, ERR_INTERNAL, "fork");
	if (child > 0) {
		fd_close(&tell);
		wait_for(child, ready);
	}
	if (leave_terminal(e) != 0)
		return -1;
	return fd_take(&tell);
}

void
detach_ready(int fd)
{
	(void)!write(fd, "", 1);
	(void)close(fd);
}
