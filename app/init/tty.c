/* Pseudoterminals, in a /dev that is the workload's. */
#include "init/tty.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PTMX_MAJOR 5 /* Documentation/admin-guide/devices.txt */
#define PTMX_MINOR 2

static int
open_master(struct err *e)
{
	FD_AUTO fd =
	    open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(e, ERR_INTERNAL,
		    "the run can have no terminal: cannot open /dev/ptmx");
	if (!S_ISCHR(st.st_mode) ||
	    st.st_rdev != makedev(PTMX_MAJOR, PTMX_MINOR))
		return err_set(e, ERR_INTERNAL,
		    "the run can have no terminal: something else is in the "
		    "place of /dev/ptmx");
	if (unlockpt(fd) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot unlock a terminal");
	return fd_take(&fd);
}

static int
open_slave(int master, struct err *e)
{
	const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
	char path[32];

	int fd = ioctl(master, TIOCGPTPEER, flags);
	if (fd >= 0)
		return fd;
	/* gVisor has no such call. Nothing can be put in a devpts. */
	if (ptsname_r(master, path, sizeof(path)) != 0)
		return err_sys(e, ERR_INTERNAL, "a terminal has no name");
	fd = open(path, flags);
	return fd >= 0 ? fd : err_sys(e, ERR_INTERNAL, "cannot open %s", path);
}

int
tty_open(uint16_t cols, uint16_t rows, int *ret_master, int *ret_slave,
    struct err *e)
{
	FD_AUTO master = open_master(e);

	if (master < 0)
		return -1;
	FD_AUTO slave = open_slave(master, e);
	if (slave < 0)
		return -1;
	if (tty_resize(master, cols, rows) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot size a terminal");
	*ret_master = fd_take(&master);
	*ret_slave = fd_take(&slave);
	return 0;
}

int
tty_enter(int slave, uid_t uid)
{
	if (geteuid() == 0)
		(void)!fchown(slave, uid, (gid_t)-1);
	if (ioctl(slave, TIOCSCTTY, 0) != 0)
		return -1;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(slave, fd) < 0)
			return -1;
	return 0;
}

int
tty_resize(int master, uint16_t cols, uint16_t rows)
{
	const struct winsize size = {.ws_row = rows, .ws_col = cols};

	return ioctl(master, TIOCSWINSZ, &size);
}

pid_t
tty_foreground(int master)
{
	pid_t group = 0;

	return ioctl(master, TIOCGPGRP, &group) == 0 && group > 0 ? group : -1;
}
