/* A run whose files are worked with. */
#include "file_fixture.h"
#include "../wait.h"
#include "lib/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000

struct pid1 file_run;
enum kind { PLAIN, SMALL, OVERLAY };

static char overlay[64]; /* where its layers are */

/* -- the run --------------------------------------------------------------- */

const char *
file_at(const char *path)
{
	static char full[4][5000];
	static int turn;
	char *to = full[turn++ % 4];

	(void)snprintf(to, sizeof(full[0]), "%s%s", file_run.root, path);
	return to;
}

static int uploads;

static int
remove_one(
    const char *path, const struct stat *st, int type, struct FTW *position)
{
	(void)st;
	(void)type;
	if (strncmp(path + position->base, ".sbx-", 5) == 0)
		uploads++;
	return position->level > 0 ? remove(path) : 0;
}

/* Where the user could do harm, were it not confined. */
static void
make_outside(void)
{
	static const char *const owned[] = {"/outside", "/outside/dir",
	    "/outside/secret", "/outside/dir/secret"};

	assert_int_equal(mkdir(file_at("/outside"), 0755), 0);
	assert_int_equal(mkdir(file_at("/outside/dir"), 0755), 0);
	pid1_put_file(&file_run, "/outside/secret", FILE_SECRET,
	    strlen(FILE_SECRET), 0644);
	pid1_put_file(&file_run, "/outside/dir/secret", FILE_SECRET,
	    strlen(FILE_SECRET), 0644);
	for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
		assert_int_equal(
		    chown(file_at(owned[i]), FILE_USER, FILE_USER), 0);
}

static void
be_user_s(const char *path)
{
	assert_int_equal(lchown(path, FILE_USER, FILE_USER), 0);
}

/* What is below the overlay, made as its upper side would be. */
static void
make_lower(void)
{
	static const char *const all[] = {"lower", "lower/d", "lower/d/e",
	    "lower/a", "lower/d/b", "lower/d/e/c", "lower/link"};
	struct err e = ERR_INIT;
	char path[200];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		(void)snprintf(
		    path, sizeof(path), "%s/lower/%s", overlay, all[i]);
		if (i < 3)
			assert_int_equal(mkdir(path, 0755), 0);
		else if (i < 6)
			check_ok(fd_write_file(path, 0640, all[i] + 6,
				     strlen(all[i] + 6), &e),
			    &e);
		else
			assert_int_equal(symlink("a", path), 0);
		be_user_s(path);
	}
}

static void
mount_overlay(void)
{
	static const char *const parts[] = {"lower", "upper", "work"};
	char path[200], options[300];

	(void)snprintf(overlay, sizeof(overlay), "/tmp/sbx-overlay-XXXXXX");
	assert_non_null(mkdtemp(overlay));
	/* Of its own: a box's /tmp may be an overlay itself. */
	assert_int_equal(mount("none", overlay, "tmpfs", 0, NULL), 0);
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", overlay, parts[i]);
		assert_int_equal(mkdir(path, 0755), 0);
		be_user_s(path);
	}
	make_lower();
	(void)snprintf(options, sizeof(options),
	    "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", overlay,
	    overlay, overlay);
	assert_int_equal(
	    mount("none", file_at("/work"), "overlay", 0, options), 0);
	assert_int_equal(mkdir(file_at("/work/mount"), 0755), 0);
	assert_int_equal(
	    mount("none", file_at("/work/mount"), "tmpfs", 0, "size=1m"), 0);
	be_user_s(file_at("/work/mount"));
}

static void
unmount_overlay(void)
{
	(void)nftw(
	    file_at("/work/mount"), remove_one, 50, FTW_PHYS | FTW_DEPTH);
	assert_int_equal(umount(file_at("/work/mount")), 0);
	assert_int_equal(umount(file_at("/work")), 0);
	assert_int_equal(umount(overlay), 0);
	assert_int_equal(rmdir(overlay), 0);
}

static int
open_run(enum kind kind)
{
	if (geteuid() != 0)
		return 0;
	(void)signal(SIGPIPE, SIG_IGN);
	file_run = pid1_root();
	assert_int_equal(chmod(file_run.root, 0755), 0);
	pid1_put_shell(&file_run);
	assert_int_equal(mkdir(file_at("/work"), 0755), 0);
	if (kind == SMALL)
		assert_int_equal(mount("none", file_at("/work"), "tmpfs", 0,
				     "size=1m,mode=0755"),
		    0);
	if (kind == OVERLAY)
		mount_overlay();
	be_user_s(file_at("/work"));
	make_outside();
	pid1_start_ready(&file_run, "1000:1000");
	return 0;
}

int
file_open_run(void **state)
{
	(void)state;
	return open_run(PLAIN);
}

int
file_open_small(void **state)
{
	(void)state;
	return open_run(SMALL);
}

static void
check_secret(const char *path)
{
	struct err e = ERR_INIT;
	size_t size;
	char *bytes = fd_read_file(file_at(path), 1000, &size, &e);

	if (bytes == NULL)
		fail_msg("%s: %s", path, e.text);
	assert_string_equal(bytes, FILE_SECRET);
	free(bytes);
	assert_int_equal(unlink(file_at(path)), 0);
}

static int
close_run(enum kind kind)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	wait_until(pid1_children(&file_run) == 0, PATIENCE_MS);
	uploads = 0;
	(void)nftw(file_at("/work"), remove_one, 50, FTW_PHYS | FTW_DEPTH);
	assert_int_equal(uploads, 0);
	if (kind == SMALL)
		assert_int_equal(umount(file_at("/work")), 0);
	if (kind == OVERLAY)
		unmount_overlay();
	check_secret("/outside/dir/secret");
	check_secret("/outside/secret");
	assert_int_equal(stat(file_at("/outside/dir"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(rmdir(file_at("/outside/dir")), 0);
	assert_int_equal(rmdir(file_at("/outside")), 0);
	pid1_finish(&file_run);
	return 0;
}

int
file_close_run(void **state)
{
	(void)state;
	return close_run(PLAIN);
}

int
file_close_small(void **state)
{
	(void)state;
	return close_run(SMALL);
}

int
file_open_overlay(void **state)
{
	(void)state;
	return open_run(OVERLAY);
}

int
file_close_overlay(void **state)
{
	(void)state;
	return close_run(OVERLAY);
}

pid_t
file_background(void (*act)(void))
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (chroot(file_run.root) != 0 || chdir("/work") != 0 ||
	    setgid(FILE_USER) != 0 || setuid(FILE_USER) != 0)
		_exit(99);
	/* What disturbs a test ends with it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)umask(0);
	act();
	_exit(0);
}

void
file_inside(void (*act)(void))
{
	int status;
	pid_t pid = file_background(act);

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
lose_proc(void)
{
	char path[64];

	(void)snprintf(
	    path, sizeof(path), "/proc/%d/ns/mnt", (int)file_run.pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNS) != 0 ||
	    umount2(file_at("/proc"), MNT_DETACH) != 0)
		_exit(1);
}

void
file_without_proc(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		lose_proc();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

void
file_stop(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int
file_handlers(void)
{
	return pid1_children(&file_run);
}

struct stat
file_look(const char *path)
{
	struct stat st;

	if (lstat(file_at(path), &st) != 0)
		fail_msg("%s is not there", path);
	return st;
}

bool
file_is_there(const char *path)
{
	struct stat st;

	return lstat(file_at(path), &st) == 0;
}

void
file_need_root(void)
{
	if (geteuid() != 0)
		skip();
}
