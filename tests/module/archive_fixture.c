/* A run that has ended. */
#include "archive_fixture.h"
#include "docker/engine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct exited_run exited;

static const struct fake_file tree[] = {
    {"/work", 'd', NULL, 0},
    {"/work/a", 'f', "hello sandbox", 0},
    {"/work/abs", 'l', "/work/d/e", 0},
    {"/work/abs2", 'l', "//work/./d//e/", 0},
    {"/work/d", 'd', NULL, 0},
    {"/work/d/e", 'd', NULL, 0},
    {"/work/d/e/up", 'l', "../../a", 0},
    {"/work/d/e/x", 'f', "deep", 0},
    {"/work/d/fifo", 'p', NULL, 0},
    {"/work/d/hard", 'h', "/work/a", 0},
    {"/work/d/hard2", 'h', "/work/d/e/x", 0},
    {"/work/d/l", 'l', "e", 0},
    {"/work/d/s", 's', NULL, 0},
    {"/work/dangling", 'l', "no/such", 0},
    {"/work/empty", 'f', "", 0},
    {"/work/etc", 'l', "/etc", 0},
    {"/work/loop", 'o', "loop", 0},
    {"/work/m \xff\n?&%", 'f', "odd", 0},
    {"/work/out", 'l', "../etc/passwd", 0},
    {"/work/sneaky", 'l', "/workshop/a", 0},
    {"/work/sneaky2", 'l', "/work/../etc/passwd", 0},
    {"/work/through", 'l', "abs/../../d/l/x", 0},
    {"/work/under", 'o', "a/b", 0},
    {"/work/word", 'l', "d/e/up/", 0},
    {"/work/zeros", 'f', NULL, ARCHIVE_HUGE},
};

int
archive_open_all(void **state)
{
	struct err e = ERR_INIT;

	check_ok(engine_setup(&e), &e);
	return fixture_open(state);
}

int
archive_setup(void **state)
{
	(void)fixture_empty(state);
	memset(&exited, 0, sizeof(exited));
	exited.files.file = tree;
	exited.files.count = sizeof(tree) / sizeof(tree[0]);
	exited.fake = fake_new();
	fake_serve(exited.fake, fake_files_answer, &exited.files);
	memcpy(exited.dir, "/tmp/sbx-archive-XXXXXX", 24);
	assert_non_null(mkdtemp(exited.dir));
	exited.config.state_dir = exited.dir;
	exited.ctx.config = &exited.config;
	exited.ctx.engine = engine_new(fake_socket(exited.fake));
	exited.ctx.redis = redis;
	exited.run = fixture_start();
	exited.patience = (struct guest_patience){-1, 30000};
	return 0;
}

int
archive_teardown(void **state)
{
	(void)state;
	wait_until(atomic_load(&exited.files.open) == 0, 30000);
	assert_int_equal(atomic_load(&exited.files.followed), 0);
	engine_free(exited.ctx.engine);
	fake_free(exited.fake);
	assert_int_equal(rmdir(exited.dir), 0);
	return 0;
}

struct archive *
archive_try(enum wire_file_what what, const char *path, struct err *e)
{
	return archive_open(
	    &exited.ctx, &exited.run, what, path, &exited.patience, e);
}

struct archive *
archive_begin(enum wire_file_what what, const char *path)
{
	struct err e = ERR_INIT;
	struct archive *a = archive_try(what, path, &e);

	if (a == NULL)
		fail_msg("%s: kind %d: %s", path, e.kind, e.text);
	return a;
}

void
archive_read_all(struct archive *a, struct buf *to)
{
	struct err e = ERR_INIT;
	const char *bytes;
	size_t size;
	int rc;

	while ((rc = archive_next(a, &bytes, &size, &e)) > 0)
		buf_add(to, bytes, size);
	check_ok(rc, &e);
	assert_false(to->over);
}

void
archive_refuses(enum wire_file_what what, const char *path, enum err_kind kind)
{
	struct err e = ERR_INIT;
	struct archive *a = archive_try(what, path, &e);

	if (a != NULL || e.kind != kind)
		fail_msg(
		    "\"%s\": kind %d, not %d: %s", path, e.kind, kind, e.text);
}
