/* Giving up every right but what serving takes. */
#include "confine.h"
#include "confine_filter.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534
#define LOG_ROOM (16u << 20)

int
confine_descriptors(struct err *e)
{
	int fd;

	/* open(2) takes the lowest that is free. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return err_sys(e, ERR_INTERNAL, "cannot open /dev/null");
	fd_close_from(STDERR_FILENO + 1);
	return 0;
}

/* -- limits ---------------------------------------------------------------- */

static int
limit(int what, rlim_t most, const char *name, struct err *e)
{
	const struct rlimit l = {most, most};

	if (setrlimit((__rlimit_resource_t)what, &l) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot limit %s", name);
	return 0;
}

/* How long a file may grow: there is one where standard error is one. What is
 * beyond is lost, and no reason to end (setrlimit(2)). */
static rlim_t
log_room(void)
{
	struct stat st;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (fstat(STDERR_FILENO, &st) != 0 || !S_ISREG(st.st_mode))
		return 0;
	return (rlim_t)st.st_size + LOG_ROOM;
}

static int
limit_all(unsigned descriptors, struct err *e)
{
	const struct rlimit wanted = {descriptors, descriptors};
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) != 0)
		return err_sys(e, ERR_INTERNAL, "getrlimit");
	/* Only who may raise limits can have more than the host says. */
	if (setrlimit(RLIMIT_NOFILE, &wanted) != 0 &&
	    limit(RLIMIT_NOFILE, now.rlim_max, "descriptors", e) != 0)
		return -1;
	if (limit(RLIMIT_FSIZE, log_room(), "files", e) != 0)
		return -1;
	if (limit(RLIMIT_NPROC, 0, "processes", e) != 0 ||
	    limit(RLIMIT_CORE, 0, "cores", e) != 0)
		return -1;
	return 0;
}

/* -- capabilities and identity --------------------------------------------- */

/* Nothing that is executed, which nothing can be, gains one again. */
static int
empty_bounding_set(struct err *e)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		/* Who is not root has none, and cannot drop them. */
		if (errno == EPERM && geteuid() != 0)
			break;
		return err_sys(
		    e, ERR_INTERNAL, "cannot drop capability %lu", cap);
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot drop capabilities");
	return 0;
}

static int
become(int user, struct err *e)
{
	const gid_t group = user > 0 ? (gid_t)user : NOBODY;

	if (geteuid() != 0)
		return 0;
	/* A box that is itself a container may have 65536 numbers and no more:
	 * user_namespaces(7). */
	if (user > 0 && setresgid(group, group, group) != 0 && errno == EINVAL)
		return become(0, e);
	if (setgroups(0, NULL) != 0 || setresgid(group, group, group) != 0 ||
	    setresuid(group, group, group) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot become another user");
	return 0;
}

static int
empty_capabilities(struct err *e)
{
	struct __user_cap_header_struct head = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {
	    {0, 0, 0}};

	if (syscall(SYS_capset, &head, none) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot drop capabilities");
	return 0;
}

/* glibc reads the zone's file the first time that a time is taken apart. */
static void
read_zone(void)
{
	char text[CLOCK_TEXT_SIZE];

	clock_text(clock_wall_ms(), text);
}

int
confine(unsigned descriptors, int user, struct err *e)
{
	read_zone();
	if (chdir("/") != 0)
		return err_sys(e, ERR_INTERNAL, "cannot enter /");
	if (limit_all(descriptors, e) != 0 || empty_bounding_set(e) != 0 ||
	    become(user, e) != 0 || empty_capabilities(e) != 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return err_sys(e, ERR_INTERNAL, "prctl");
	return confine_filter(e);
}
