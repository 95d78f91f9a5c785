/*
 * sbxctl cp, ls: files of a run.
 *
 * A directory goes as a tar archive, which tar(1) packs and unpacks on this
 * side: it knows this side's owners, links and hostile names best.
 */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAR_MS 100
#define NAME_SIZE 4300

/* One side of a copy: a path here, or one in a run. */
struct side {
	char run[ULID_SIZE]; /* "" is here */
	const char *path;
};

struct copy {
	struct cli *c;
	struct http_call *call;
	const char *name;      /* for the bar */
	int fd;		       /* here */
	int64_t moved, length; /* length -1: not known */
	int64_t began, shown;
	bool bar, failed; /* failed: of this side, said in why */
	struct err why;
};

/* -- the bar --------------------------------------------------------------- */

static void
bar_show(struct copy *t, bool last)
{
	int64_t now = clock_mono_ms();
	double rate;

	if (!t->bar || (!last && now - t->shown < BAR_MS))
		return;
	t->shown = now;
	rate =
	    (double)t->moved / 1048576 / ((double)(now - t->began + 1) / 1000);
	if (t->length > 0)
		(void)fprintf(stderr, "\r\033[K%s  %3.0f %%  %.1f MiB/s",
		    t->name, 100.0 * (double)t->moved / (double)t->length,
		    rate);
	else
		(void)fprintf(stderr, "\r\033[K%s  %.1f MiB  %.1f MiB/s",
		    t->name, (double)t->moved / 1048576, rate);
	if (last)
		(void)fputc('\n', stderr);
}

static ssize_t
on_give(void *arg, char *to, size_t room)
{
	struct copy *t = arg;
	ssize_t n;

	do
		n = read(t->fd, to, room);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		(void)err_sys(&t->why, ERR_INTERNAL, "cannot read %s", t->name);
		t->failed = true;
		return -1;
	}
	t->moved += n;
	bar_show(t, false);
	return n;
}

static int
on_take(void *arg, const char *bytes, size_t size)
{
	struct copy *t = arg;

	if (t->length < 0)
		t->length = http_length(t->call);
	if (fd_write_all(t->fd, bytes, size, INT64_MAX, &t->why) != 0) {
		t->failed = true;
		return -1;
	}
	t->moved += (int64_t)size;
	bar_show(t, false);
	return 0;
}

/* -- one transfer ---------------------------------------------------------- */

static void
files_path(const struct cli *c, const struct side *s, const char *query,
    struct buf *to)
{
	buf_addf(to, "/v1/runs/%s/files", s->run);
	if (*s->path != '\0') {
		buf_addc(to, '/');
		http_escape(to, s->path, true);
	}
	buf_adds(to, query);
	cli_fence(c, to);
}

static int
transfer(struct copy *t, const struct http_request *rq, struct err *e)
{
	int rc = -1;

	t->bar = isatty(STDERR_FILENO);
	t->began = clock_mono_ms();
	t->call = http_start(t->c->http, rq);
	while (!http_done(t->call))
		http_wait(t->c->http, NULL, 0, 1000);
	if (t->failed)
		*e = t->why;
	else if (http_result(t->call, e) == 0)
		rc = http_status(t->call) / 100 == 2 ? 0
						     : cli_problem(t->call, e);
	bar_show(t, true);
	http_free_call(t->call);
	return rc;
}

static int
put(struct copy *t, const struct side *to, const char *query, struct err *e)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE * 4);
	struct http_request rq = {
	    .method = "PUT",
	    .give = on_give,
	    .length = t->length,
	    .arg = t,
	};

	files_path(t->c, to, query, &path);
	rq.path = path.data;
	return transfer(t, &rq, e);
}

static int
get(struct copy *t, const struct side *from, const char *query, struct err *e)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE * 4);
	struct http_request rq = {.method = "GET", .take = on_take, .arg = t};

	files_path(t->c, from, query, &path);
	rq.path = path.data;
	t->length = -1;
	return transfer(t, &rq, e);
}

/* -- directories ----------------------------------------------------------- */

/*
 * tar(1) with its standard input or output (theirs) as a pipe: *ret_fd. What
 * comes out of a run is the caller's, and no setuid program of root's.
 */
static int
tar_start(const char *mode, const char *dir, int theirs, pid_t *ret_pid,
    int *ret_fd, struct err *e)
{
	static char program[] = "tar", change[] = "-C", all[] = ".";
	static char owners[] = "--no-same-owner",
		    modes[] = "--no-same-permissions";
	bool packs = theirs == STDOUT_FILENO;
	char verb[8], at[NAME_SIZE];
	char *argv[] = {program, verb, change, at, packs ? all : owners,
	    packs ? NULL : modes, NULL};
	posix_spawn_file_actions_t actions;
	int pair[2];

	(void)snprintf(verb, sizeof(verb), "%s", mode);
	(void)snprintf(at, sizeof(at), "%s", dir);
	if (pipe2(pair, O_CLOEXEC) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot make a pipe");
	int ours = packs ? 0 : 1;
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(
	    &actions, pair[1 - ours], theirs);
	errno = posix_spawnp(ret_pid, program, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	fd_close(&pair[1 - ours]);
	*ret_fd = pair[ours];
	if (errno == 0)
		return 0;
	fd_close(ret_fd);
	return err_sys(e, ERR_INTERNAL, "cannot start tar");
}

static int
tar_wait(pid_t pid, int rc, struct err *e)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == 0 && status != 0)
		return err_set(e, ERR_INTERNAL, "tar failed");
	return rc;
}

static int
put_tree(struct copy *t, const char *dir, const struct side *to, struct err *e)
{
	pid_t pid = -1;

	if (tar_start("-cf-", dir, STDOUT_FILENO, &pid, &t->fd, e) != 0)
		return -1;
	t->length = -1;
	int rc = put(t, to, "?archive=tar", e);
	fd_close(&t->fd);
	return tar_wait(pid, rc, e);
}

static int
get_tree(
    struct copy *t, const struct side *from, const char *dir, struct err *e)
{
	pid_t pid = -1;

	if (mkdir(dir, 0777) != 0 && errno != EEXIST)
		return err_sys(e, ERR_INTERNAL, "cannot make %s", dir);
	if (tar_start("-xf-", dir, STDIN_FILENO, &pid, &t->fd, e) != 0)
		return -1;
	int rc = get(t, from, "?archive=tar", e);
	fd_close(&t->fd);
	return tar_wait(pid, rc, e);
}

/* -- from here to a run, and back ------------------------------------------ */

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* A target that ends in '/', or is nothing, is a directory. */
static void
add_name(const char *path, const char *name, char to[NAME_SIZE])
{
	(void)snprintf(to, NAME_SIZE, "%s%s", path,
	    *path == '\0' || str_ends(path, "/") ? name : "");
}

static int
upload(struct copy *t, const char *from, struct side *to, struct err *e)
{
	char whole[NAME_SIZE];
	struct stat st;

	t->name = from;
	if (str_eq(from, "-")) {
		t->fd = STDIN_FILENO;
		t->length = -1;
		return put(t, to, "", e);
	}
	FD_AUTO fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot open %s", from);
	if (S_ISDIR(st.st_mode))
		return put_tree(t, from, to, e);
	add_name(to->path, last_part(from), whole);
	struct side target = *to;
	target.path = whole;
	t->fd = fd;
	t->length = S_ISREG(st.st_mode) ? st.st_size : -1;
	return put(t, &target, "", e);
}

static int
is_directory(struct cli *c, const struct side *s, bool *ret_is, struct err *e)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE * 4);
	json_auto_t *answer = NULL;

	*ret_is = *s->path == '\0';
	if (*ret_is)
		return 0;
	files_path(c, s, "?stat=1", &path);
	if (cli_do(c, "GET", path.data, NULL, &answer, e) != 0)
		return -1;
	*ret_is = str_eq(cli_text(answer, "type"), "directory");
	return 0;
}

/* Into a file beside the target, which then takes its place: what breaks off
 * leaves the old one. */
static int
download_file(
    struct copy *t, const struct side *from, const char *to, struct err *e)
{
	char temporary[NAME_SIZE + 16];

	(void)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", to);
	FD_AUTO fd = mkstemp(temporary);
	if (fd < 0)
		return err_sys(e, ERR_INTERNAL, "cannot make %s", temporary);
	mode_t mask = umask(0);
	(void)umask(mask);
	t->fd = fd;
	if (get(t, from, "", e) == 0) {
		if (fchmod(fd, 0666 & ~mask) == 0 && rename(temporary, to) == 0)
			return 0;
		(void)err_sys(e, ERR_INTERNAL, "cannot make %s", to);
	}
	(void)unlink(temporary);
	return -1;
}

static int
download(struct copy *t, const struct side *from, const char *to, struct err *e)
{
	char whole[NAME_SIZE];
	bool directory;
	struct stat st;

	t->name = *from->path != '\0' ? from->path : "/work";
	if (str_eq(to, "-")) {
		t->fd = STDOUT_FILENO;
		return get(t, from, "", e);
	}
	if (is_directory(t->c, from, &directory, e) != 0)
		return -1;
	if (directory)
		return get_tree(t, from, to, e);
	bool into = stat(to, &st) == 0 && S_ISDIR(st.st_mode);
	(void)snprintf(whole, sizeof(whole), "%s%s", to,
	    into && !str_ends(to, "/") ? "/" : "");
	char named[NAME_SIZE];
	add_name(whole, last_part(from->path), named);
	return download_file(t, from, named, e);
}

/* RUN:PATH, where what is before the colon names a run; else a path here. */
static int
read_side(struct cli *c, const char *text, struct side *to, struct err *e)
{
	const char *colon = strchr(text, ':');
	char run[ULID_SIZE];

	to->run[0] = '\0';
	to->path = text;
	if (colon == NULL || memchr(text, '/', (size_t)(colon - text)) != NULL)
		return 0;
	if ((size_t)(colon - text) >= sizeof(run))
		return err_set(e, ERR_INPUT, "%s: no run is called so", text);
	memcpy(run, text, (size_t)(colon - text));
	run[colon - text] = '\0';
	to->path = colon + 1;
	if (str_starts(to->path, "/work/") || str_eq(to->path, "/work"))
		to->path += str_eq(to->path, "/work") ? 5 : 6;
	if (*to->path == '/')
		return err_set(
		    e, ERR_INPUT, "%s: files of a run are below /work", text);
	return cli_run_id(c, run, to->run, e);
}

int
cmd_cp(struct cli *c, int argc, char **argv)
{
	struct copy t = {.c = c, .fd = -1, .why = ERR_INIT};
	struct err e = ERR_INIT;
	struct side from, to;

	if (argc != 3)
		return cli_usage("cp");
	if (read_side(c, argv[1], &from, &e) != 0 ||
	    read_side(c, argv[2], &to, &e) != 0)
		return cli_fail(&e);
	if ((*from.run == '\0') == (*to.run == '\0'))
		return cli_misuse(
		    "cp", "one side is RUN:PATH, the other a path here");
	int rc = *from.run == '\0' ? upload(&t, from.path, &to, &e)
				   : download(&t, &from, to.path, &e);
	return rc == 0 ? 0 : cli_fail(&e);
}

int
cmd_ls(struct cli *c, int argc, char **argv)
{
	static const char *const names[] = {
	    "MODE", "SIZE", "MODIFIED", "NAME", NULL};
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE * 4);
	json_auto_t *answer = NULL;
	struct err e = ERR_INIT;
	const json_t *entry;
	struct side at;
	struct table t;
	size_t i;

	if (argc != 2)
		return cli_usage("ls");
	if (read_side(c, argv[1], &at, &e) != 0)
		return cli_fail(&e);
	if (*at.run == '\0' && cli_run_id(c, argv[1], at.run, &e) != 0)
		return cli_fail(&e);
	if (at.path == argv[1])
		at.path = "";
	files_path(c, &at, "?list=1", &path);
	if (cli_do(c, "GET", path.data, NULL, &answer, &e) != 0)
		return cli_fail(&e);
	if (c->json) {
		cli_print_json(answer);
		return 0;
	}
	table_init(&t, names);
	json_array_foreach(json_object_get(answer, "entries"), i, entry)
	{
		const char *type = cli_text(entry, "type");

		table_add(&t, cli_text(entry, "mode"));
		table_add_size(&t, (double)cli_number(entry, "size"));
		table_add(&t, cli_text(entry, "mtime"));
		table_addf(&t, "%s%s%s", cli_text(entry, "name"),
		    str_eq(type, "directory") ? "/"
		    : str_eq(type, "symlink") ? " -> "
					      : "",
		    cli_text(entry, "target"));
	}
	table_print(&t);
	return 0;
}
