/* One file's bytes and attributes, copied exactly. */
#include "lib/tree_file.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ioctl_ficlone(2): musl has no <linux/fs.h>. */
#define CLONE_FILE _IOW(0x94, 9, int)

#define BYTES (256u << 10)
#define RANGE (8u << 20) /* at once: then the watch is asked */
#define BLOCK 512	 /* of st_blocks */
#define XATTR_MAX (64u << 10)

void
tree_file_init(struct tree_file *f, const struct tree_watch *watch)
{
	*f = (struct tree_file){.watch = watch,
	    .bytes = mem_alloc(BYTES),
	    .value = mem_alloc(XATTR_MAX)};
}

void
tree_file_release(struct tree_file *f)
{
	free(f->bytes);
	free(f->value);
}

static int
look(const struct tree_file *f)
{
	if (f->watch == NULL || !f->watch->gone(f->watch->arg))
		return 0;
	errno = ECANCELED;
	return -1;
}

/* What says that it cannot be done here, rather than that it failed. */
static bool
is_unable(int error)
{
	return error == EXDEV || error == EOPNOTSUPP || error == ENOTTY ||
	       error == ENOSYS || error == EINVAL || error == EPERM ||
	       error == EBADF || error == EACCES;
}

static int
write_at(int to, const char *bytes, size_t size, off_t at)
{
	while (size > 0) {
		ssize_t n = pwrite(to, bytes, size, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		bytes += n;
		size -= (size_t)n;
		at += n;
	}
	return 0;
}

/* The bytes between at and end, or up to the end of from. */
static int
read_and_write(struct tree_file *f, int from, int to, off_t at, off_t end)
{
	off_t looked = at;

	while (at < end) {
		size_t most =
		    end - at < (off_t)BYTES ? (size_t)(end - at) : BYTES;
		ssize_t n = pread(from, f->bytes, most, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		if (write_at(to, f->bytes, (size_t)n, at) != 0)
			return -1;
		at += n;
		if (at - looked >= (off_t)RANGE) {
			looked = at;
			if (look(f) != 0)
				return -1;
		}
	}
	return 0;
}

/* The same within the kernel, as far as it does that: *at is how far. */
static int
copy_range(struct tree_file *f, int from, int to, off_t *at, off_t end)
{
	while (*at < end && !f->no_range) {
		off_t in = *at, out = *at;
		size_t most =
		    end - in < (off_t)RANGE ? (size_t)(end - in) : RANGE;
		ssize_t n =
		    syscall(SYS_copy_file_range, from, &in, to, &out, most, 0u);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && !is_unable(errno))
			return -1;
		if (n < 0)
			f->no_range = true;
		/* Some kernels say 0 of what can be read: read(2) decides. */
		if (n <= 0)
			return 0;
		*at += n;
		if (*at < end && look(f) != 0)
			return -1;
	}
	return 0;
}

static int
copy_part(struct tree_file *f, int from, int to, off_t at, off_t end)
{
	/* For what fits in one read, two calls are quicker than a pipe in the
	 * kernel. */
	if (end - at > (off_t)BYTES && copy_range(f, from, to, &at, end) != 0)
		return -1;
	return read_and_write(f, from, to, at, end);
}

/* What lies between holes. */
static int
copy_sparse(struct tree_file *f, int from, int to, off_t size)
{
	off_t hole = 0;

	while (hole < size) {
		off_t data = lseek(from, hole, SEEK_DATA);

		if (data < 0 && errno == EINVAL) /* it does not tell holes */
			return copy_part(f, from, to, hole, size);
		if (data < 0 && errno != ENXIO)
			return -1;
		if (data < 0 || data >= size)
			break;
		hole = lseek(from, data, SEEK_HOLE);
		if (hole < 0 || hole > size)
			hole = size;
		if (copy_part(f, from, to, data, hole) != 0)
			return -1;
	}
	return ftruncate(to, size);
}

static bool
clone_file(struct tree_file *f, int from, int to)
{
	if (f->no_clone)
		return false;
	if (ioctl(to, CLONE_FILE, from) == 0)
		return true;
	f->no_clone = errno == EXDEV || errno == EOPNOTSUPP ||
		      errno == ENOTTY || errno == ENOSYS;
	return false;
}

int
tree_file_bytes(struct tree_file *f, int from, int to, const struct stat *st)
{
	if (st->st_size == 0 || clone_file(f, from, to))
		return 0;
	if ((off_t)st->st_blocks * BLOCK < st->st_size)
		return copy_sparse(f, from, to, st->st_size);
	return copy_part(f, from, to, 0, st->st_size);
}

/* trusted.* is the file system's own here (overlay); system.* beyond the
 * lists is too. */
static bool
is_copied(const char *name)
{
	return str_starts(name, "user.") || str_starts(name, "security.") ||
	       str_eq(name, "system.posix_acl_access") ||
	       str_eq(name, "system.posix_acl_default");
}

/* A label of a security module is the place's rather than the file's where it
 * cannot be set. */
static bool
is_needed(const char *name)
{
	return !str_starts(name, "security.") ||
	       str_eq(name, "security.capability");
}

static int
copy_xattr(struct tree_file *f, int from, int to, const char *name)
{
	ssize_t size = fgetxattr(from, name, f->value, XATTR_MAX);

	if (size < 0)
		return errno == ENODATA ? 0 : -1;
	if (fsetxattr(to, name, f->value, (size_t)size, 0) == 0)
		return 0;
	return is_needed(name) ? -1 : 0;
}

static int
copy_xattrs(struct tree_file *f, int from, int to)
{
	ssize_t size = flistxattr(from, f->bytes, XATTR_MAX);

	if (size < 0)
		return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -1;
	for (const char *name = f->bytes; name < f->bytes + size;
	     name += strlen(name) + 1)
		if (is_copied(name) && copy_xattr(f, from, to, name) != 0)
			return -1;
	return 0;
}

int
tree_file_attributes(
    struct tree_file *f, int from, int to, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};

	/* A change of owner takes away set-id bits and capabilities; an access
	 * list takes the group's bits of the mode, which come after. */
	if (fchown(to, st->st_uid, st->st_gid) != 0 ||
	    copy_xattrs(f, from, to) != 0 ||
	    fchmod(to, st->st_mode & 07777) != 0)
		return -1;
	return futimens(to, times);
}
