/* Operations on files of a run, frame by frame. */
#include "file_fixture.h"
#include "../wait.h"
#include "lib/buf.h"
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define IN_MAX (1u << 20)

struct pid1 file_run;
char file_text[WIRE_TEXT + 1];

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

void
file_fence(uint64_t generation)
{
	const struct buf empty = BUF_INIT(IN_MAX);
	BUF_AUTO frame = BUF_INIT(100);
	struct file_call c = {.got = empty};
	struct wire_fenced fenced;
	struct err e = ERR_INIT;
	const char *payload;
	size_t size;

	c.fd = fd_connect_unix(
	    pid1_inside(&file_run, PID1_SOCKET), PATIENCE_MS, &e);
	check_ok(c.fd, &e);
	wire_put_fence(&frame, generation);
	assert_int_equal(
	    write(c.fd, frame.data, frame.size), (ssize_t)frame.size);
	assert_int_equal(file_next(&c, &payload, &size), WIRE_FENCED);
	check_ok(wire_get_fenced(payload, size, &fenced, &e), &e);
	assert_true(fenced.done);
	file_leave(&c);
}

int
file_handlers(void)
{
	return pid1_children(&file_run);
}

/* -- one operation --------------------------------------------------------- */

bool
file_tell(
    struct file_call *c, enum wire_type type, const void *bytes, size_t size)
{
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + WIRE_CHUNK);
	struct err e = ERR_INIT;

	wire_put(&frame, type, bytes, size);
	assert_false(frame.over);
	return fd_write_all(c->fd, frame.data, frame.size,
		   clock_mono_ms() + PATIENCE_MS, &e) == 0;
}

void
file_start(struct file_call *c, const struct wire_file *x)
{
	const struct buf empty = BUF_INIT(IN_MAX);
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + 4 * WIRE_PATH_MAX);
	struct wire_file request = *x;
	struct err e = ERR_INIT;

	if (request.user == NULL)
		request.user = "1000:1000";
	if (request.root == NULL)
		request.root = "/work";
	if (request.to == NULL)
		request.to = "";
	wire_put_file(&frame, &request);
	assert_false(frame.over);
	*c = (struct file_call){.got = empty};
	c->fd = fd_connect_unix(
	    pid1_inside(&file_run, PID1_SOCKET), PATIENCE_MS, &e);
	check_ok(c->fd, &e);
	check_ok(fd_write_all(c->fd, frame.data, frame.size,
		     clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
}

enum wire_type
file_next(struct file_call *c, const char **ret_payload, size_t *ret_size)
{
	struct err e = ERR_INIT;
	enum wire_type type;
	size_t used;

	for (;;) {
		int rc = wire_next(c->got.data + c->used, c->got.size - c->used,
		    &type, ret_payload, ret_size, &used, &e);

		check_ok(rc, &e);
		if (rc == 1) {
			c->used += used;
			return type;
		}
		buf_drop(&c->got, c->used);
		c->used = 0;
		struct pollfd p = {c->fd, POLLIN, 0};
		if (poll(&p, 1, PATIENCE_MS) != 1)
			fail_msg("nothing is said about files");
		char *to = buf_grow(&c->got, WIRE_CHUNK);
		assert_non_null(to);
		ssize_t n = read(c->fd, to, WIRE_CHUNK);
		if (n <= 0)
			return 0;
		c->got.size += (size_t)n;
	}
}

void
file_leave(struct file_call *c)
{
	fd_close(&c->fd);
	buf_release(&c->got);
}

static int
failure(const char *payload, size_t size)
{
	struct err e = ERR_INIT;
	enum wire_fail why;
	const char *text;
	size_t text_size;

	check_ok(wire_get_fail(payload, size, &why, &text, &text_size, &e), &e);
	memcpy(file_text, text, text_size);
	file_text[text_size] = '\0';
	return (int)why;
}

int
file_finish(struct file_call *c)
{
	const char *payload;
	size_t size;
	int rc = -1;

	while (rc < 0) {
		enum wire_type type = file_next(c, &payload, &size);

		if (type == WIRE_FAIL)
			rc = failure(payload, size);
		else if (type == 0)
			rc = FILE_CUT;
		else if (type == WIRE_DONE)
			rc = 0;
	}
	file_leave(c);
	return rc;
}

/* -- all of one ------------------------------------------------------------ */

int
file_do_x(const struct wire_file *x)
{
	struct file_call c;

	file_start(&c, x);
	return file_finish(&c);
}

int
file_do(enum wire_file_what what, const char *path)
{
	return file_do_x(&(struct wire_file){.what = what, .path = path});
}

int
file_put_x(const struct wire_file *x, const void *bytes, size_t size)
{
	struct wire_file request = *x;
	const char *from = bytes, *payload;
	struct file_call c;
	bool taken = true;
	size_t n;

	request.what = WIRE_FILE_PUT;
	file_start(&c, &request);
	enum wire_type type = file_next(&c, &payload, &n);
	if (type == WIRE_FAIL) {
		int why = failure(payload, n);

		file_leave(&c);
		return why;
	}
	assert_int_equal(type, WIRE_STARTED);
	while (size > 0 && taken) {
		n = size < WIRE_CHUNK ? size : WIRE_CHUNK;
		taken = file_tell(&c, WIRE_DATA, from, n);
		from += n;
		size -= n;
	}
	if (taken)
		(void)file_tell(&c, WIRE_DATA_END, NULL, 0);
	return file_finish(&c);
}

int
file_put(const char *path, const void *bytes, size_t size)
{
	return file_put_x(&(struct wire_file){.path = path}, bytes, size);
}

int
file_get_part(const char *path, uint64_t offset, uint64_t size, struct buf *out)
{
	const struct wire_file x = {.what = WIRE_FILE_GET, .path = path};
	const struct wire_read part = {offset, size};
	BUF_AUTO frame = BUF_INIT(100);
	struct err e = ERR_INIT;
	struct file_call c;
	const char *payload;
	enum wire_type type;
	size_t n;
	int rc = 0;

	if (out != NULL)
		buf_reset(out);
	file_start(&c, &x);
	while ((type = file_next(&c, &payload, &n)) == WIRE_STAT ||
	       type == WIRE_DATA) {
		if (type == WIRE_DATA && out != NULL)
			buf_add(out, payload, n);
		if (type == WIRE_DATA)
			continue;
		wire_put_read(&frame, &part);
		check_ok(fd_write_all(c.fd, frame.data, frame.size,
			     clock_mono_ms() + PATIENCE_MS, &e),
		    &e);
	}
	if (type == WIRE_FAIL)
		rc = failure(payload, n);
	else if (type != WIRE_DATA_END)
		rc = FILE_CUT;
	file_leave(&c);
	return rc;
}

int
file_get(const char *path, struct buf *out)
{
	return file_get_part(path, 0, INT64_MAX, out);
}

int
file_stat(const char *path, struct wire_stat *ret_x)
{
	static char name[WIRE_NAME_MAX + 1], target[WIRE_PATH_MAX + 1];
	const struct wire_file x = {.what = WIRE_FILE_STAT, .path = path};
	struct err e = ERR_INIT;
	struct file_call c;
	const char *payload;
	size_t n;

	file_start(&c, &x);
	enum wire_type type = file_next(&c, &payload, &n);
	if (type == WIRE_STAT) {
		check_ok(wire_get_stat(payload, n, ret_x, &e), &e);
		memcpy(name, ret_x->name, strlen(ret_x->name) + 1);
		memcpy(target, ret_x->target, strlen(ret_x->target) + 1);
		ret_x->name = name;
		ret_x->target = target;
		return file_finish(&c);
	}
	assert_int_equal(type, WIRE_FAIL);
	int why = failure(payload, n);
	file_leave(&c);
	return why;
}

int
file_list(const char *path, struct buf *names, size_t *ret_count)
{
	const struct wire_file x = {.what = WIRE_FILE_LIST, .path = path};
	struct err e = ERR_INIT;
	struct wire_stat st;
	struct file_call c;
	const char *payload;
	enum wire_type type;
	size_t n;
	int rc = 0;

	*ret_count = 0;
	buf_reset(names);
	file_start(&c, &x);
	while ((type = file_next(&c, &payload, &n)) == WIRE_STAT) {
		check_ok(wire_get_stat(payload, n, &st, &e), &e);
		buf_add(names, st.name, strlen(st.name) + 1);
		++*ret_count;
	}
	if (type == WIRE_FAIL)
		rc = failure(payload, n);
	else if (type != WIRE_DONE)
		rc = FILE_CUT;
	file_leave(&c);
	return rc;
}

bool
file_has_name(const struct buf *names, const char *name)
{
	for (size_t at = 0; at < names->size;
	     at += strlen(names->data + at) + 1)
		if (strcmp(names->data + at, name) == 0)
			return true;
	return false;
}
