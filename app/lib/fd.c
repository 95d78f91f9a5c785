/* Descriptors: closing, connecting, whole reads and writes. */
#include "lib/fd.h"
#include "lib/clock.h"
#include "lib/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

void
fd_close(int *fd)
{
	/* close(2): after EINTR the descriptor is gone on Linux. */
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

int
fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

void
fd_close_from(int lowest)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, (unsigned)lowest, ~0u, 0u) == 0)
		return;
#endif
	for (int fd = lowest; fd < 1024; fd++)
		(void)close(fd);
}

int
fd_set_nonblock(int fd, int on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -1;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags);
}

static int
unix_socket(const char *path, struct sockaddr_un *ret_addr, struct err *e)
{
	memset(ret_addr, 0, sizeof(*ret_addr));
	ret_addr->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(ret_addr->sun_path))
		return err_set(e, ERR_INTERNAL,
		    "socket path is longer than %zu bytes: %s",
		    sizeof(ret_addr->sun_path) - 1, path);
	memcpy(ret_addr->sun_path, path, strlen(path) + 1);
	if (path[0] == '@')
		ret_addr->sun_path[0] = '\0';
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(e, ERR_INTERNAL, "cannot make a socket");
	return fd;
}

int
fd_connect_unix(const char *path, int timeout_ms, struct err *e)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;
	struct sockaddr_un addr;
	FD_AUTO fd = unix_socket(path, &addr, e);

	if (fd < 0)
		return -1;
	/* A full backlog is EAGAIN at once (connect(2), unix(7)); nothing
	 * tells when there is room, so look again every few milliseconds. */
	while (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
		if ((errno != EAGAIN && errno != EINTR) ||
		    clock_mono_ms() >= deadline)
			return err_sys(
			    e, ERR_INTERNAL, "cannot connect to %s", path);
		(void)poll(NULL, 0, 5);
	}
	if (fd_set_nonblock(fd, 0) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot set up a socket");
	return fd_take(&fd);
}

int
fd_listen_unix(const char *path, unsigned mode, int backlog, struct err *e)
{
	struct sockaddr_un addr;
	struct stat st;
	FD_AUTO fd = unix_socket(path, &addr, e);

	if (fd < 0)
		return -1;
	if (path[0] != '@' && lstat(path, &st) == 0 &&
	    (!S_ISSOCK(st.st_mode) || unlink(path) != 0))
		return err_set(
		    e, ERR_INTERNAL, "%s is in the way of a socket", path);
	/* bind(2) makes the file with the umask's mode: make it tight first,
	 * so that nobody connects before the chmod. */
	mode_t before = umask(0177);
	int rc = bind(fd, (struct sockaddr *)&addr, sizeof(addr));
	(void)umask(before);
	if (rc != 0)
		return err_sys(e, ERR_INTERNAL, "cannot bind %s", path);
	if ((path[0] != '@' && chmod(path, (mode_t)mode) != 0) ||
	    listen(fd, backlog) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot listen on %s", path);
	return fd_take(&fd);
}

int
fd_write_all(
    int fd, const void *bytes, size_t size, int64_t deadline, struct err *e)
{
	const char *from = bytes;

	while (size > 0) {
		ssize_t n = write(fd, from, size);

		if (n > 0) {
			from += n;
			size -= (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return err_sys(e, ERR_INTERNAL, "cannot write");
		int64_t left = deadline - clock_mono_ms();
		if (left <= 0)
			return err_set(
			    e, ERR_INTERNAL, "cannot write: timed out");
		struct pollfd p = {fd, POLLOUT, 0};
		(void)poll(&p, 1, (int)(left < 60000 ? left : 60000));
	}
	return 0;
}

char *
fd_read_file(const char *path, size_t max, size_t *ret_size, struct err *e)
{
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0) {
		(void)err_sys(e, ERR_INTERNAL, "cannot open %s", path);
		return NULL;
	}
	char *bytes = mem_alloc(max + 2);
	size_t size = 0;
	while (size <= max) {
		ssize_t n = read(fd, bytes + size, max + 1 - size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			(void)err_sys(e, ERR_INTERNAL, "cannot read %s", path);
			free(bytes);
			return NULL;
		}
		if (n == 0)
			break;
		size += (size_t)n;
	}
	if (size > max) {
		(void)err_set(
		    e, ERR_INTERNAL, "%s is larger than %zu bytes", path, max);
		free(bytes);
		return NULL;
	}
	bytes[size] = '\0';
	if (ret_size != NULL)
		*ret_size = size;
	return bytes;
}

int
fd_write_file(const char *path, unsigned mode, const void *bytes, size_t size,
    struct err *e)
{
	char temporary[512];
	int n = snprintf(
	    temporary, sizeof(temporary), "%s.new.%d", path, (int)getpid());

	if (n < 0 || (size_t)n >= sizeof(temporary))
		return err_set(e, ERR_INTERNAL, "path is too long: %s", path);
	FD_AUTO fd = open(temporary,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
	    (mode_t)mode);
	if (fd < 0)
		return err_sys(e, ERR_INTERNAL, "cannot make %s", temporary);
	if (fd_write_all(fd, bytes, size, clock_mono_ms() + 10000, e) != 0)
		goto undo_file;
	if (fchmod(fd, (mode_t)mode) != 0 || fsync(fd) != 0 ||
	    rename(temporary, path) != 0) {
		(void)err_sys(e, ERR_INTERNAL, "cannot put %s in place", path);
		goto undo_file;
	}
	return 0;
undo_file:
	(void)unlink(temporary);
	return -1;
}
