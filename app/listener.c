/* Listening sockets: inherited or bound. */
#include "listener.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel cuts it to net.core.somaxconn. A full backlog is an immediate 502
 * (FACTS A), so it is as large as it gets. */
#define BACKLOG 4096

/* The environment here is the protocol's, not configuration. -1 where nothing
 * was handed to this very process. */
static int
inherited_fd(const char *name)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	const char *names = getenv("LISTEN_FDNAMES");
	int64_t want, count;

	if (pid == NULL || fds == NULL ||
	    str_to_int(pid, 1, INT32_MAX, &want) != 0 || want != getpid() ||
	    str_to_int(fds, 1, 64, &count) != 0)
		return -1;
	if (count == 1)
		return LISTENER_FIRST_FD;
	for (int i = 0; names != NULL && i < count; i++) {
		size_t size = strcspn(names, ":");

		if (size == strlen(name) && memcmp(names, name, size) == 0)
			return LISTENER_FIRST_FD + i;
		names = names[size] == ':' ? names + size + 1 : NULL;
	}
	return -1;
}

static int
adopt(int fd, struct err *e)
{
	int listens = 0;
	socklen_t size = sizeof(listens);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
	    !listens)
		return err_set(e, ERR_INPUT,
		    "descriptor %d was handed over (LISTEN_FDS) and is no "
		    "listening socket",
		    fd);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fd_set_nonblock(fd, 1) != 0)
		return err_sys(
		    e, ERR_INTERNAL, "cannot set descriptor %d up", fd);
	return 0;
}

/* The descriptor is kept for the life of the process: closing it is what
 * unlocks. */
static int
lock(const char *socket_path, struct err *e)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s.lock", socket_path);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, ERR_INTERNAL, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	(void)err_sys(e, ERR_INTERNAL,
	    "cannot lock %s; does another sbx-app serve this SBX_RUN_DIR?",
	    path);
	fd_close(&fd);
	return -1;
}

/* Without root there may be no right to give a file to a group; nginx then
 * runs as the same user and needs none. */
static int
give_to_group(const char *path, const char *name, struct err *e)
{
	const struct group *group = getgrnam(name);

	if (group != NULL && chown(path, (uid_t)-1, group->gr_gid) == 0)
		return 0;
	if (geteuid() != 0)
		return 0;
	if (group == NULL)
		return err_set(e, ERR_INPUT,
		    "SBX_SOCKET_GROUP is \"%s\": there is no such group", name);
	return err_sys(e, ERR_INTERNAL, "cannot give %s to a group", path);
}

int
listener_open(const struct config *config, enum pool pool,
    struct listener *ret_listener, struct err *e)
{
	struct listener l = {.inherited = true};

	l.fd = inherited_fd(pool_name[pool]);
	if (l.fd >= 0) {
		*ret_listener = l;
		return adopt(l.fd, e);
	}
	l.inherited = false;
	(void)snprintf(l.path, sizeof(l.path), "%s/%s.sock", config->run_dir,
	    pool_name[pool]);
	if (mkdir(config->run_dir, 0755) != 0 && errno != EEXIST)
		return err_sys(
		    e, ERR_INTERNAL, "cannot make %s", config->run_dir);
	if (lock(l.path, e) != 0)
		return -1;
	l.fd = fd_listen_unix(l.path, 0660, BACKLOG, e);
	if (l.fd < 0)
		return -1;
	*ret_listener = l;
	if (give_to_group(l.path, config->socket_group, e) == 0)
		return 0;
	listener_close(ret_listener);
	return -1;
}

void
listener_close(struct listener *l)
{
	if (l->fd >= 0 && !l->inherited)
		(void)unlink(l->path);
	fd_close(&l->fd);
}
