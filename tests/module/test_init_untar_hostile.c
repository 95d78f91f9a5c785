/* Archives that want out of the directory that they are unpacked in, or more
 * than is given to them. Needs root; that nothing outside was touched is what
 * the fixture's end asserts. */
#include "../wait.h"
#include "lib/fd.h"
#include "tar_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SWAPS 10000
#define DEEP 1000

static void
need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void
is_absent(const char *path)
{
	struct stat st;

	if (lstat(file_at(path), &st) == 0)
		fail_msg("%s is there", path);
}

/* -- names and links ------------------------------------------------------- */

struct step {
	enum tar_type type;
	const char *name, *link;
	char special; /* a type of tar that has none here */
};

struct row {
	const char *what;
	struct step step[3];
	enum wire_fail why;
	const char *names; /* what the refusal tells of */
};

#define F(name)                       \
	{                             \
		TAR_FILE, name, "", 0 \
	}
#define D(name)                            \
	{                                  \
		TAR_DIRECTORY, name, "", 0 \
	}
#define S(name, to)                      \
	{                                \
		TAR_SYMLINK, name, to, 0 \
	}
#define H(name, to)                       \
	{                                 \
		TAR_HARDLINK, name, to, 0 \
	}
#define X(name, type)                    \
	{                                \
		TAR_FILE, name, "", type \
	}

/* clang-format off */
static const struct row rows[] = {
    {"an absolute name", {F("/outside/x")}, WIRE_FAIL_ARCHIVE, "/outside/x"},
    {"an absolute name below", {F("/work/t/x")}, WIRE_FAIL_ARCHIVE, "/work"},
    {"a way up", {F("../x")}, WIRE_FAIL_ARCHIVE, "../x"},
    {"a way down and up", {F("a/../../x")}, WIRE_FAIL_ARCHIVE, "a/../../x"},
    {"a way up that stays", {F("a/../x")}, WIRE_FAIL_ARCHIVE, "a/../x"},
    {"a way up at the end", {D("a/..")}, WIRE_FAIL_ARCHIVE, "a/.."},
    {"a file without a name", {F(".")}, WIRE_FAIL_ARCHIVE, NULL},
    {"a link without a name", {S("./.", "x")}, WIRE_FAIL_ARCHIVE, NULL},
    {"a directory in a directory's place, by an absolute name", {D("/")},
	WIRE_FAIL_ARCHIVE, NULL},
    {"a link out", {S("l", "/outside")}, WIRE_FAIL_ESCAPES, "l"},
    {"a relative link out", {S("l", "../../outside")}, WIRE_FAIL_ESCAPES,
	"l"},
    {"a link up and up", {S("a/b/l", "../../../../x")}, WIRE_FAIL_ESCAPES,
	"a/b/l"},
    {"a link to what only looks like the root", {S("l", "/work2")},
	WIRE_FAIL_ESCAPES, "l"},
    {"a link out by way of the root", {S("l", "/work/../outside")},
	WIRE_FAIL_ESCAPES, "l"},
    {"through a link to beside the path",
	{S("l", "../beside"), F("l/x")}, WIRE_FAIL_ESCAPES, "l/x"},
    {"through a link to above the path", {S("l", ".."), F("l/x")},
	WIRE_FAIL_ESCAPES, "l/x"},
    {"through two links", {D("d"), S("d/l", ".."), S("d/l/m", "..")}, 0,
	NULL},
    {"a directory through a link", {S("l", "../beside"), D("l/d")},
	WIRE_FAIL_ESCAPES, "l/d"},
    {"a directory onto a link", {S("l", "../beside"), D("l")},
	WIRE_FAIL_ESCAPES, "l"},
    {"through a link that was there", {F("out/x")}, WIRE_FAIL_ESCAPES,
	"out/x"},
    {"a link through a link that was there", {S("out/x", "y")},
	WIRE_FAIL_ESCAPES, "out/x"},
    {"a directory onto a link that was there", {D("out")},
	WIRE_FAIL_ESCAPES, "out"},
    {"a loop", {S("l", "m"), S("m", "l"), F("l/x")}, WIRE_FAIL_NAME,
	"l/x"},
    {"a hard link out", {H("h", "/outside/secret")}, WIRE_FAIL_ARCHIVE, "h"},
    {"a relative hard link out", {H("h", "../../outside/secret")},
	WIRE_FAIL_ARCHIVE, "h"},
    {"a hard link through a link", {H("h", "out/secret")},
	WIRE_FAIL_ESCAPES, "out/secret"},
    {"a hard link to nothing", {H("h", "nothing")}, WIRE_FAIL_ABSENT,
	"nothing"},
    {"a hard link to a directory", {D("d"), H("h", "d")},
	WIRE_FAIL_DENIED, "d"},
    {"a hard link to the path", {H("h", ".")}, WIRE_FAIL_DENIED, NULL},
    {"a character device", {X("null", '3')}, WIRE_FAIL_ARCHIVE, "null"},
    {"a block device", {X("disk", '4')}, WIRE_FAIL_ARCHIVE, "disk"},
    {"a fifo", {X("pipe", '6')}, WIRE_FAIL_ARCHIVE, "pipe"},
    {"a sparse file", {X("holes", 'S')}, WIRE_FAIL_ARCHIVE, "holes"},
    {"what nobody knows", {X("what", 'Z')}, WIRE_FAIL_ARCHIVE, "what"},
};
/* clang-format on */

static void
check_row(const struct row *row)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);

	for (size_t i = 0; i < 3 && row->step[i].name != NULL; i++) {
		const struct step *step = &row->step[i];
		size_t at = a.size;

		archive_link(&a, step->type, step->name, step->link);
		if (step->special != '\0')
			archive_set_type(&a, at, step->special);
	}
	tar_put_end(&a);
	int rc = archive_unpack("t", &a);
	if (rc != (int)row->why)
		fail_msg("%s: %d, not %d", row->what, rc, (int)row->why);
	if (row->names != NULL && strstr(file_text, row->names) == NULL)
		fail_msg("%s: %s", row->what, file_text);
	is_absent("/work/x");
	is_absent("/work/beside/x");
	is_absent("/work/beside/d");
}

static void
make_world(void)
{
	if (mkdir("beside", 0755) != 0 || mkdir("t", 0755) != 0 ||
	    symlink("/outside", "t/out") != 0)
		_exit(1);
}

static void
nothing_leaves_the_path(void **state)
{
	(void)state;
	need_root();
	file_inside(make_world);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

/* -- while somebody changes it --------------------------------------------- */

/* A test that fails does not stop these. */
static void
end_with_test(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(1);
}

static _Atomic int *swaps; /* shared */

static void
swap_for_ever(void)
{
	end_with_test();
	for (;; ++*swaps) {
		(void)mkdir("t/d", 0755);
		(void)rename("t/d", "kept");
		(void)!symlink("/outside/dir", "t/d");
		(void)unlink("t/d");
		(void)rename("kept", "t/d");
		(void)unlink("t/d/secret");
	}
}

/* The fixture's end sees whether the secret is still what it was, and alone. */
static void
a_link_swapped_in_meanwhile_leads_nowhere(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);
	int whole = 0;

	(void)state;
	need_root();
	file_inside(make_world);
	swaps = mmap(NULL, sizeof(*swaps), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 4; i++) {
		archive_file(&a, "d/secret", "stolen");
		archive_add(&a,
		    &(struct tar_entry){
			.type = TAR_DIRECTORY, .name = "d", .mode = 0777},
		    NULL);
		archive_link(&a, TAR_SYMLINK, "d/secret", "stolen");
	}
	tar_put_end(&a);
	pid_t other = file_background(swap_for_ever);
	while (*swaps < SWAPS || whole < 3) {
		int rc = archive_unpack("t", &a);

		whole += rc == 0;
		if (rc != 0 && rc != WIRE_FAIL_ESCAPES &&
		    rc != WIRE_FAIL_ABSENT && rc != WIRE_FAIL_NOT_DIRECTORY &&
		    rc != WIRE_FAIL_EXISTS)
			fail_msg("%d: %s", rc, file_text);
	}
	file_stop(other);
}

/* -- too much -------------------------------------------------------------- */

static void
sizes_are_summed_before_anything_is_written(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);
	const struct wire_file ten = {.path = "", .limit = 10};

	(void)state;
	need_root();
	archive_file(&a, "one", "12345");
	archive_file(&a, "two", "67890");
	assert_int_equal(archive_unpack_x(&ten, &a), 0);
	archive_file(&a, "three", "!");
	assert_int_equal(archive_unpack_x(&ten, &a), WIRE_FAIL_LARGE);
	assert_non_null(strstr(file_text, "three"));
	is_absent("/work/three");
	/* The bomb itself need not come. */
	buf_reset(&a);
	archive_add(&a,
	    &(struct tar_entry){.name = "bomb", .size = INT64_MAX - 1}, NULL);
	assert_int_equal(archive_unpack_x(&ten, &a), WIRE_FAIL_LARGE);
	/* A name that is used twice counts twice. */
	buf_reset(&a);
	archive_file(&a, "same", "123456");
	archive_file(&a, "same", "123456");
	assert_int_equal(archive_unpack_x(&ten, &a), WIRE_FAIL_LARGE);
	is_absent("/work/bomb");
}

static void
deep_nesting_is_made_or_refused(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);
	char name[2 * DEEP + 2];

	(void)state;
	need_root();
	for (size_t i = 0; i < DEEP; i++)
		memcpy(name + 2 * i, "d/", 2);
	memcpy(name + 2 * (size_t)DEEP, "f", 2);
	archive_file(&a, name, "deep");
	tar_put_end(&a);
	int rc = archive_unpack("", &a);
	assert_true(rc == 0 || rc == WIRE_FAIL_NAME);
	buf_reset(&a);
	memset(name, 'n', 256);
	name[256] = '\0';
	archive_file(&a, name, "a name of 256 bytes");
	assert_int_equal(archive_unpack("t", &a), WIRE_FAIL_NAME);
}

static void
endless_entries_and_headers_end(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);
	BUF_AUTO part = BUF_INIT(WIRE_CHUNK);
	const struct wire_file x = {.what = WIRE_FILE_UNPACK, .path = ""};
	struct file_call c;
	bool taken = true;

	(void)state;
	need_root();
	while (part.size + TAR_BLOCK <= WIRE_CHUNK)
		archive_add(&part,
		    &(struct tar_entry){.type = TAR_DIRECTORY, .name = "."},
		    NULL);
	file_start(&c, &x);
	for (int i = 0; i < 10000 && taken; i++)
		taken = file_tell(&c, WIRE_DATA, part.data, part.size);
	assert_false(taken);
	assert_int_equal(file_finish(&c), WIRE_FAIL_LARGE);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, file_open_run, file_close_run)
	const struct CMUnitTest tests[] = {
	    TEST(nothing_leaves_the_path),
	    TEST(a_link_swapped_in_meanwhile_leads_nowhere),
	    TEST(sizes_are_summed_before_anything_is_written),
	    TEST(deep_nesting_is_made_or_refused),
	    TEST(endless_entries_and_headers_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
