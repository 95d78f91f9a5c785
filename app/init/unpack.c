/* An archive as a tree. */
#include "init/file_part.h"
#include "init/pack.h"
#include "init/upload.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "lib/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 1000000
#define NOTES_MAX (4u << 20) /* bytes, of the directories to come back to */
#define SHOWN 300	     /* bytes of a name in a sentence */
#define SECOND 1000000000

struct unpack {
	struct file_op *f;
	/* The request's path: what leads out of it leads out. */
	struct beneath_root root;
	struct tar_reader reader;
	char path[TAR_PATH_MAX + 1]; /* of the entry, "." and "//" taken out */
	char link[TAR_PATH_MAX + 1]; /* the same, of what a hard link names */
	/* The file of which not all has come yet. */
	struct upload file;
	struct beneath place;
	struct tar_entry entry;
	bool open;
	uint64_t total; /* of sizes */
	unsigned entries;
	int again; /* that the entry may be begun, its place having gone */
	struct buf notes; /* struct note and path, one after the other */
};

/* A directory whose mode and time are set once everything is in it. */
struct note {
	uint32_t mode;
	int64_t mtime_ns;
	size_t path_size; /* with its NUL */
};

static int
fail(struct unpack *u, enum wire_fail why, const char *what)
{
	char text[WIRE_TEXT];

	(void)snprintf(text, sizeof(text), "The archive's entry %.*s %s.",
	    SHOWN, u->entry.name, what);
	return file_fail(u->f, why, text);
}

/* 1 where it is to be begun anew. */
static int
fail_errno(struct unpack *u, int error)
{
	if (error == ENOENT && u->again-- > 0)
		return 1;
	return file_fail_errno(u->f, u->path, error);
}

static int
find(struct unpack *u, const char *path, int how, struct beneath *ret_b)
{
	struct err e = ERR_INIT;
	enum wire_fail why;

	if (beneath_find(&u->root, path, how, ret_b, &why, &e) != 0)
		return file_fail(u->f, why, e.text);
	return 0;
}

/* -- names ----------------------------------------------------------------- */

/* Returns 0 and the name in its shortest form, which is "" for ".". */
static int
take_name(struct unpack *u, const char *name, char to[TAR_PATH_MAX + 1])
{
	size_t used = 0;

	if (name[0] == '/')
		return fail(u, WIRE_FAIL_ARCHIVE, "has an absolute name");
	for (; *name != '\0'; name += strspn(name, "/")) {
		size_t size = strcspn(name, "/");

		if (size == 2 && memcmp(name, "..", 2) == 0)
			return fail(
			    u, WIRE_FAIL_ARCHIVE, "has a name with \"..\"");
		if (size != 1 || name[0] != '.') {
			to[used] = '/';
			used += used > 0;
			memcpy(to + used, name, size);
			used += size;
		}
		name += size;
	}
	to[used] = '\0';
	return 0;
}

/* Where that leads from so many directories below the root, as it is written:
 * how many it is below the root then, or -1 once it is above. */
static int
depth_of(const char *path, int depth)
{
	for (; *path != '\0' && depth >= 0; path += strspn(path, "/")) {
		size_t size = strcspn(path, "/");

		if (size == 2 && memcmp(path, "..", 2) == 0)
			depth--;
		else if (size > 0 && (size != 1 || path[0] != '.'))
			depth++;
		path += size;
	}
	return depth;
}

static bool
leads_out(const struct unpack *u, const char *target)
{
	const struct file_op *f = u->f;
	size_t size = strlen(f->root.path);

	if (target[0] != '/')
		return depth_of(target, depth_of(f->x.path, 0) +
					    depth_of(u->path, 0) - 1) < 0;
	if (str_eq(f->root.path, "/"))
		size = 0;
	return strncmp(target, f->root.path, size) != 0 ||
	       (target[size] != '/' && target[size] != '\0') ||
	       depth_of(target + size, 0) < 0;
}

/* -- what is kept of an entry ---------------------------------------------- */

static mode_t
mode_of(uint32_t mode)
{
	return mode & (geteuid() == 0 ? 07777 : 0777);
}

/* The time of the last change alone. */
static void
times_of(int64_t mtime_ns, struct timespec to[2])
{
	int64_t ns = mtime_ns % SECOND;

	to[0] = (struct timespec){0, UTIME_OMIT};
	to[1] = (struct timespec){
	    mtime_ns / SECOND - (ns < 0), ns < 0 ? ns + SECOND : ns};
}

/* -- directories ----------------------------------------------------------- */

/* Somebody may have put something else there, or it may be another user's
 * directory that was there before: then it stays as it is. */
static void
settle_one(struct unpack *u, const struct note *note, const char *path)
{
	struct timespec times[2];
	struct err e = ERR_INIT;
	enum wire_fail why;
	struct beneath b;

	if (beneath_find(&u->root, path, BENEATH_FOLLOW, &b, &why, &e) != 0)
		return;
	FD_AUTO dir = b.dir;
	FD_AUTO fd = openat(
	    dir, b.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	times_of(note->mtime_ns, times);
	if (fd >= 0) {
		(void)fchmod(fd, mode_of(note->mode));
		(void)futimens(fd, times);
	}
}

static int
settle(struct unpack *u)
{
	struct note note;

	for (size_t at = 0; at < u->notes.size;
	     at += sizeof(note) + note.path_size) {
		if (!file_may_finish(u->f))
			return file_fail_fenced(u->f);
		memcpy(&note, u->notes.data + at, sizeof(note));
		settle_one(u, &note, u->notes.data + at + sizeof(note));
	}
	buf_reset(&u->notes);
	return 0;
}

/* Where there are too many, the first ones are settled now: they lose their
 * times if more comes into them. */
static int
note_directory(struct unpack *u)
{
	struct note note = {.mode = u->entry.mode,
	    .mtime_ns = u->entry.mtime_ns,
	    .path_size = strlen(u->path) + 1};

	if (u->notes.size + sizeof(note) + note.path_size > u->notes.max &&
	    settle(u) != 0)
		return -1;
	buf_add(&u->notes, &note, sizeof(note));
	buf_add(&u->notes, u->path, note.path_size);
	return 0;
}

/* One that is there already, and in which the user may perhaps not write. */
static int
reuse_directory(struct unpack *u, const struct beneath *b)
{
	struct stat st;

	if (fstatat(b->dir, b->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return fail_errno(u, errno);
	if (!S_ISDIR(st.st_mode))
		return fail_errno(u, ENOTDIR);
	if ((st.st_mode & 0700) == 0700)
		return 0;
	FD_AUTO fd = openat(
	    b->dir, b->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		(void)fchmod(fd, (st.st_mode & 07777) | 0700);
	return 0;
}

static int
make_directory(struct unpack *u)
{
	struct beneath b;
	int rc = 0;

	if (find(u, u->path, BENEATH_FOLLOW | BENEATH_MAKE, &b) != 0)
		return -1;
	if (mkdirat(b.dir, b.name, mode_of(u->entry.mode) | 0700) != 0)
		rc = errno == EEXIST ? reuse_directory(u, &b)
				     : fail_errno(u, errno);
	fd_close(&b.dir);
	return rc == 0 ? note_directory(u) : rc;
}

/* -- links ----------------------------------------------------------------- */

/* From the name that it was made under to its own. */
static int
place_link(struct unpack *u, const struct beneath *b, const char *made)
{
	if (!file_may_finish(u->f)) {
		(void)unlinkat(b->dir, made, 0);
		return file_fail_fenced(u->f);
	}
	int error = renameat(b->dir, made, b->dir, b->name) == 0 ? 0 : errno;
	/* rename(2) of one name of a file to another one does nothing. */
	if (error != 0 || u->entry.type == TAR_HARDLINK)
		(void)unlinkat(b->dir, made, 0);
	return error == 0 ? 0 : fail_errno(u, error);
}

static int
make_symlink(struct unpack *u)
{
	char made[UPLOAD_NAME];
	struct timespec times[2];
	struct beneath b;

	if (leads_out(u, u->entry.link))
		return fail(u, WIRE_FAIL_ESCAPES,
		    "is a link that leads out of the directory");
	if (find(u, u->path, BENEATH_MAKE, &b) != 0)
		return -1;
	FD_AUTO dir = b.dir;
	upload_random_name(UPLOAD_PREFIX, made);
	if (symlinkat(u->entry.link, dir, made) != 0)
		return fail_errno(u, errno);
	times_of(u->entry.mtime_ns, times);
	(void)utimensat(dir, made, times, AT_SYMLINK_NOFOLLOW);
	return place_link(u, &b, made);
}

static int
make_hardlink(struct unpack *u)
{
	char made[UPLOAD_NAME];
	struct beneath b, to;

	if (take_name(u, u->entry.link, u->link) != 0)
		return -1;
	if (find(u, u->link, 0, &to) != 0)
		return -1;
	FD_AUTO to_dir = to.dir;
	if (find(u, u->path, BENEATH_MAKE, &b) != 0)
		return -1;
	FD_AUTO dir = b.dir;
	upload_random_name(UPLOAD_PREFIX, made);
	if (linkat(to_dir, to.name, dir, made, 0) != 0)
		return file_fail_errno(u->f, u->link, errno);
	return place_link(u, &b, made);
}

/* -- files ----------------------------------------------------------------- */

static void
drop_file(struct unpack *u)
{
	if (!u->open)
		return;
	upload_release(&u->file);
	fd_close(&u->place.dir);
	u->open = false;
}

static int
begin_file(struct unpack *u)
{
	if (find(u, u->path, BENEATH_MAKE, &u->place) != 0)
		return -1;
	if (upload_open(&u->file, u->place.dir) != 0) {
		int error = errno;

		fd_close(&u->place.dir);
		return fail_errno(u, error);
	}
	u->open = true;
	return 0;
}

static int
end_file(struct unpack *u)
{
	struct timespec times[2];
	int fd = u->file.fd;

	times_of(u->entry.mtime_ns, times);
	if (fchmod(fd, mode_of(u->entry.mode)) != 0 || futimens(fd, times) != 0)
		return fail_errno(u, errno);
	if (!file_may_finish(u->f))
		return file_fail_fenced(u->f);
	/* Without a name it can go into another directory. */
	while (upload_place(&u->file, u->place.name, true) != 0) {
		u->again = u->file.name[0] == '\0' ? u->again : 0;
		if (fail_errno(u, errno) < 0)
			return -1;
		fd_close(&u->place.dir);
		if (find(u, u->path, BENEATH_MAKE, &u->place) != 0)
			return -1;
		u->file.dir = u->place.dir;
	}
	drop_file(u);
	return 0;
}

/* -- the archive ----------------------------------------------------------- */

static int
check_entry(struct unpack *u)
{
	const struct tar_entry *x = &u->entry;

	if (++u->entries > ENTRIES_MAX)
		return file_fail(u->f, WIRE_FAIL_LARGE,
		    "The archive has more than a million entries");
	if (x->type == TAR_OTHER)
		return fail(u, WIRE_FAIL_ARCHIVE,
		    "is no file, directory or link (or is sparse)");
	if (take_name(u, x->name, u->path) != 0)
		return -1;
	if (u->path[0] == '\0' && x->type != TAR_DIRECTORY)
		return fail(u, WIRE_FAIL_ARCHIVE, "has no name");
	uint64_t limit = u->f->x.limit;
	if (limit != 0 && x->size > limit - u->total)
		return fail(u, WIRE_FAIL_LARGE,
		    "makes its files larger than may be uploaded");
	u->total += x->size;
	return 0;
}

static int
make_entry(struct unpack *u)
{
	switch (u->entry.type) {
	case TAR_DIRECTORY:
		return u->path[0] == '\0' ? 0 : make_directory(u);
	case TAR_SYMLINK:
		return make_symlink(u);
	case TAR_HARDLINK:
		return make_hardlink(u);
	default:
		return begin_file(u);
	}
}

static int
begin_entry(struct unpack *u)
{
	int rc;

	if (check_entry(u) != 0)
		return -1;
	if (!file_may_finish(u->f))
		return file_fail_fenced(u->f);
	u->again = BENEATH_AGAIN;
	while ((rc = make_entry(u)) > 0)
		;
	return rc == 0 && u->open && u->entry.size == 0 ? end_file(u) : rc;
}

static int
add_content(struct unpack *u, const char *bytes, size_t size)
{
	if (upload_write(&u->file, bytes, size) != 0)
		return fail_errno(u, errno);
	u->entry.size -= size;
	return u->entry.size == 0 ? end_file(u) : 0;
}

static int
take(struct unpack *u, const char *bytes, size_t size)
{
	int rc = 0;

	while (rc == 0 && size > 0) {
		struct err e = ERR_INIT;
		const char *content;
		size_t used, content_size;
		int event = tar_next(&u->reader, bytes, size, &used, &u->entry,
		    &content, &content_size, &e);

		if (event < 0)
			return file_fail(u->f, WIRE_FAIL_ARCHIVE, e.text);
		if (event == TAR_HEADER)
			rc = begin_entry(u);
		else if (event == TAR_CONTENT)
			rc = add_content(u, content, content_size);
		bytes += used;
		size -= used;
	}
	return rc;
}

static int
unpack(struct unpack *u)
{
	const char *bytes;
	bool any = false;
	size_t size;
	int rc;

	while ((rc = file_receive(u->f, &bytes, &size)) == 1) {
		any = any || size > 0;
		if (take(u, bytes, size) != 0)
			return -1;
	}
	if (rc != 0)
		return -1;
	if (!any || !tar_reader_idle(&u->reader))
		return file_fail(u->f, WIRE_FAIL_ARCHIVE,
		    any ? "The archive ends in the middle of an entry"
			: "The archive is empty");
	return settle(u);
}

/* The request's path itself, made where it is not there. */
static int
open_root(struct file_op *f, int *ret_fd)
{
	char path[WIRE_PATH_MAX + 3];
	struct beneath b;

	(void)snprintf(path, sizeof(path), "%s/.", f->x.path);
	if (file_find(f, path, BENEATH_MAKE, &b) != 0)
		return -1;
	*ret_fd = b.dir;
	return 0;
}

int
unpack_run(struct file_op *f)
{
	BUF_AUTO path = BUF_INIT(2 * (WIRE_PATH_MAX + 1));
	struct unpack u = {.f = f, .notes = BUF_INIT(NOTES_MAX)};
	FD_AUTO fd = -1;

	if (open_root(f, &fd) != 0 || file_say(f, WIRE_STARTED) != 0)
		return -1;
	buf_addf(&path, "%s/%s", f->x.root, f->x.path);
	u.root = (struct beneath_root){fd, path.data};
	tar_reader_init(&u.reader);
	int rc = unpack(&u);
	drop_file(&u);
	tar_reader_release(&u.reader);
	buf_release(&u.notes);
	return rc == 0 ? file_say(f, WIRE_DONE) : -1;
}
