/*
 * Whether overlays work on the cache's file system.
 *
 * The kernel refuses upper directories on many of them (overlayfs itself,
 * network and FUSE file systems, vfat), and tells only who may mount. The
 * engine may, and a worker of an installed stack may not: it judges by type.
 * What was tried is remembered, in the cache itself, which moves along with its
 * file system: taking a mount down takes tens of milliseconds.
 */
#include "lib/fd.h"
#include "lib/str.h"
#include "run/cache.h"
#include "run/cache_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NOTE_SIZE 160

enum verdict {
	WORKS,
	FAILS,
	UNKNOWN, /* this process may not try */
};

/* -- by type --------------------------------------------------------------- */

/* statfs(2). An upper directory on these works since Linux 4.x. */
static const unsigned long good_types[] = {
    0xef53,	/* ext2, ext3, ext4 */
    0x58465342, /* xfs */
    0x9123683e, /* btrfs */
    0xf2f52010, /* f2fs */
    0x01021994, /* tmpfs */
};

static bool
is_good_type(int dir)
{
	struct statfs st;

	if (fstatfs(dir, &st) != 0)
		return false;
	for (size_t i = 0; i < sizeof(good_types) / sizeof(good_types[0]); i++)
		if ((unsigned long)st.f_type == good_types[i])
			return true;
	return false;
}

/* The kernel wants types in directory entries, which an old ext4 or xfs does
 * not have. */
static bool
tells_types(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry = d != NULL ? readdir(d) : NULL;
	bool tells = entry != NULL && entry->d_type == DT_DIR;

	if (d != NULL)
		(void)closedir(d);
	else
		fd_close(&fd);
	return tells;
}

/* A unit may see no more of /proc than processes: then it is assumed. */
static bool
kernel_has_overlay(void)
{
	char line[256];
	FILE *f = fopen("/proc/filesystems", "re");
	bool found = f == NULL;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = str_eq(line, "nodev\toverlay\n");
	if (f != NULL)
		(void)fclose(f);
	return found;
}

/* -- by trying ------------------------------------------------------------- */

/* That this process may not, or not now, says nothing of the file system; nor
 * does a layer that whoever empties the trash took away. */
static enum verdict
failed(void)
{
	static const int other[] = {
	    ENOENT, EPERM, ENOSYS, ENOSPC, EDQUOT, ENOMEM, EMFILE, ENFILE};

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (errno == other[i])
			return UNKNOWN;
	return FAILS;
}

/* What a run does with it: change a file of the lower layer, remove one. */
static bool
is_usable(int mount)
{
	FD_AUTO fd = openat(mount, "a", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, "b", 1) == 1 &&
	       unlinkat(mount, "a", 0) == 0 && mkdirat(mount, "a", 0700) == 0;
}

static bool
set_layer(int fs, const char *option, const char *path)
{
	char layer[CACHE_PATH_SIZE];
	const char *name = str_eq(option, "lowerdir")	? "lower"
			   : str_eq(option, "upperdir") ? "upper"
							: "work";

	(void)snprintf(layer, sizeof(layer), "%s/%s", path, name);
	return fsconfig(fs, FSCONFIG_SET_STRING, option, layer, 0) == 0;
}

static enum verdict
mount_it(int fs, const char *path)
{
	if (!set_layer(fs, "lowerdir", path) ||
	    !set_layer(fs, "upperdir", path) || !set_layer(fs, "workdir", path))
		return failed();
	/* Else its end flushes all of the file system; since Linux 5.10. */
	(void)fsconfig(fs, FSCONFIG_SET_FLAG, "volatile", NULL, 0);
	if (fsconfig(fs, FSCONFIG_SET_STRING, "index", "on", 0) != 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return failed();
	FD_AUTO mount = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	return mount >= 0 && is_usable(mount) ? WORKS : failed();
}

/* Below name in the trash, where what is left is removed in any case. */
static bool
make_layers(int trash, const char *name)
{
	static const char *const layers[] = {"lower", "upper", "work"};
	char path[ULID_SIZE + 16];
	bool made = mkdirat(trash, name, 0700) == 0;

	for (size_t i = 0; made && i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", name, layers[i]);
		made = mkdirat(trash, path, 0700) == 0;
	}
	(void)snprintf(path, sizeof(path), "%s/lower/a", name);
	FD_AUTO file = made ? openat(trash, path,
				  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
			    : -1;
	return file >= 0;
}

static enum verdict
try_it(const struct config *config, int trash)
{
	struct err ignored = ERR_INIT;
	char name[ULID_SIZE], path[CACHE_PATH_SIZE - 16];
	enum verdict verdict = UNKNOWN;
	int fs = fsopen("overlay", FSOPEN_CLOEXEC);

	if (fs < 0)
		return failed();
	if (ulid_new(name, &ignored) == 0 && make_layers(trash, name)) {
		(void)snprintf(path, sizeof(path), "%s/trash/%s",
		    config->cache_root, name);
		verdict = mount_it(fs, path);
	}
	fd_close(&fs);
	(void)tree_remove(trash, name, NULL, &ignored);
	return verdict;
}

/* -- remembering ----------------------------------------------------------- */

/* Another kernel may say another thing. */
static void
describe(enum verdict verdict, char to[NOTE_SIZE])
{
	struct utsname kernel = {.release = ""};

	(void)uname(&kernel);
	(void)snprintf(to, NOTE_SIZE, "%s on Linux %s\n",
	    verdict == WORKS ? "works" : "fails", kernel.release);
}

static enum verdict
recall(const char *path)
{
	char text[NOTE_SIZE], is[NOTE_SIZE] = "";
	FD_AUTO fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || read(fd, is, sizeof(is) - 1) <= 0)
		return UNKNOWN;
	for (enum verdict v = WORKS; v <= FAILS; v++) {
		describe(v, text);
		if (str_eq(text, is))
			return v;
	}
	return UNKNOWN;
}

bool
cache_overlay(const struct config *config)
{
	struct err ignored = ERR_INIT;

	/* These would end an option of the mount, or a layer's path. */
	if (strpbrk(config->cache_root, ",:\\") != NULL)
		return false;
	char path[CACHE_PATH_SIZE], text[NOTE_SIZE];
	(void)snprintf(path, sizeof(path), "%s/overlay", config->cache_root);
	enum verdict verdict = recall(path);
	if (verdict != UNKNOWN)
		return verdict == WORKS;
	FD_AUTO trash = cache_open(config, "trash", &ignored);
	if (trash < 0)
		return false;
	verdict = try_it(config, trash);
	if (verdict == UNKNOWN)
		return is_good_type(trash) && tells_types(trash) &&
		       kernel_has_overlay();
	describe(verdict, text);
	(void)fd_write_file(path, 0600, text, strlen(text), &ignored);
	return verdict == WORKS;
}
