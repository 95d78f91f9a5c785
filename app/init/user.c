/* Users of the image. */
#include "init/user.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The workload may have put anything in the file's place: a fifo must not
 * hold us up, nor a huge file fill our memory.
 */
static char *
load(const char *path, struct passwd_text *ret_text)
{
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	*ret_text = (struct passwd_text){NULL, 0};
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	size_t room =
	    st.st_size < PASSWD_MAX ? (size_t)st.st_size : (size_t)PASSWD_MAX;
	char *bytes = mem_alloc(room);
	size_t size = 0;
	while (size < room) {
		ssize_t n = read(fd, bytes + size, room - size);

		if (n <= 0)
			break;
		size += (size_t)n;
	}
	*ret_text = (struct passwd_text){bytes, size};
	return bytes;
}

int
user_find(const char *spec, struct passwd_user *ret_user,
    char root_home[PASSWD_HOME], struct err *e)
{
	struct passwd_text passwd, group;
	char *passwd_bytes = load("/etc/passwd", &passwd);
	char *group_bytes = load("/etc/group", &group);
	struct passwd_user root;
	int rc = passwd_find(spec, passwd, group, ret_user, e);

	if (rc == 0 && root_home != NULL &&
	    passwd_find("0", passwd, group, &root, e) == 0)
		memcpy(root_home, root.home, PASSWD_HOME);
	free(passwd_bytes);
	free(group_bytes);
	return rc;
}

int
user_become(const struct passwd_user *u)
{
	gid_t groups[PASSWD_GROUPS];

	/* Without the right to change users there is only one to be. */
	if (geteuid() != 0 && geteuid() == u->uid)
		return 0;
	for (size_t i = 0; i < u->group_count; i++)
		groups[i] = u->groups[i];
	if (setgroups(u->group_count, groups) != 0 || setgid(u->gid) != 0 ||
	    setuid(u->uid) != 0)
		return -1;
	return 0;
}
