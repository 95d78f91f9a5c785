/* lib/tar: archives of GNU tar read, and our own written. Those in
 * tests/fuzz/corpus/tar are behind one byte for the fuzzer. */
#include "../check.h"
#include "../tar_text.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static void
load(struct buf *to, const char *name)
{
	const char *root = getenv("SBX_TEST_SOURCE");
	struct err e = ERR_INIT;
	char path[1000];
	size_t size;

	(void)snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/tar/%s",
	    root != NULL ? root : ".", name);
	char *bytes = fd_read_file(path, ARCHIVE_MAX, &size, &e);
	if (bytes == NULL)
		fail_msg("%s", e.text);
	buf_reset(to);
	buf_add(to, bytes + 1, size - 1);
	free(bytes);
}

/* -- reading --------------------------------------------------------------- */

static void
archives_of_each_format_say_the_same(void **state)
{
	static const char *const names[] = {"v7", "ustar", "gnu", "posix"};
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		load(&archive, names[i]);
		tar_says(&archive,
		    "d dir 755 0 1700000003000000000 1000:100\n"
		    "f dir/hello 640 6 1700000000000000000 1000:100\n"
		    "hello\n"
		    "l dir/link>hello 777 0 1700000001000000000 1000:100\n"
		    "h dir/twin>dir/hello 640 0 1700000000000000000 1000:100\n"
		    "f empty 644 0 1700000002000000000 1000:100\n"
		    "f tool 4755 10 1700000000000000000 1000:100\n"
		    "a program\n"
		    "end");
	}
}

static void
long_names_are_read_in_each_way(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
	BUF_AUTO expected = BUF_INIT(ARCHIVE_MAX);
	char d[91], f[91], n[251];

	(void)state;
	memset(d, 'd', 90);
	memset(f, 'f', 90);
	memset(n, 'n', 250);
	d[90] = f[90] = n[250] = '\0';
	load(&archive, "ustar-prefix");
	buf_addf(&expected,
	    "d %s 755 0 1700000004000000000 1000:100\n"
	    "f %s/%s 644 1 1700000004000000000 1000:100\nxend",
	    d, d, f);
	tar_says(&archive, expected.data);
	buf_reset(&expected);
	buf_addf(&expected,
	    "f %s 644 4 1700000005000000000 1000:100\nlong"
	    "l far>%s/%s 777 0 1700000006000000000 1000:100\nend",
	    n, n, n);
	load(&archive, "gnu-long");
	tar_says(&archive, expected.data);
	load(&archive, "posix-long");
	tar_says(&archive, expected.data);
}

static void
numbers_and_names_beyond_ustar_are_read(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	load(&archive, "posix-odd");
	tar_says(&archive,
	    "f odd\xff\n\xc3\xa9 644 10 -1500000000 3000000000:100\n"
	    "\xff\xfe caf\xc3\xa9\nxend");
	/* GNU tar's own format has whole seconds. */
	load(&archive, "gnu-odd");
	tar_says(&archive,
	    "f odd\xff\n\xc3\xa9 644 10 -2000000000 3000000000:100\n"
	    "\xff\xfe caf\xc3\xa9\nxend");
	load(&archive, "posix-global");
	tar_says(&archive, "f empty 644 0 1700000002000000000 1000:100\nend");
	load(&archive, "ustar-special");
	tar_says(&archive, "o pipe 644 0 1700000007000000000 1000:100\n"
			   "o null 644 0 1700000007000000000 1000:100\n"
			   "f empty 644 0 1700000002000000000 1000:100\nend");
}

static void
any_cut_gives_the_same_events(void **state)
{
	static const char *const names[] = {
	    "posix-odd", "gnu-odd", "ustar-special", "posix-global"};
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
	BUF_AUTO whole = BUF_INIT(ARCHIVE_MAX);
	BUF_AUTO parts = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		load(&archive, names[i]);
		tar_text_cut(&archive, 0, 0, &whole);
		for (size_t first = 0; first < archive.size; first++)
			for (size_t n = 1; first + n < archive.size; n += 173) {
				tar_text_cut(
				    &archive, first, first + n, &parts);
				assert_string_equal(parts.data, whole.data);
			}
	}
}

static void
an_archive_cut_short_is_not_whole(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
	BUF_AUTO text = BUF_INIT(ARCHIVE_MAX);
	int idle = 0;

	(void)state;
	load(&archive, "posix-odd"); /* one entry: 5 blocks, and 2 at the end */
	while (archive.size > 0) {
		archive.size--;
		tar_text_cut(&archive, 0, 0, &text);
		idle += strstr(text.data, "idle") != NULL;
		assert_null(strstr(text.data, "end"));
	}
	/* Behind the entry, behind the first of the end blocks, and nothing. */
	assert_int_equal(idle, 3);
}

/* -- writing --------------------------------------------------------------- */

static void
check_round_trip(const struct tar_entry *x, size_t blocks)
{
	BUF_AUTO archive = BUF_INIT(TAR_PUT_MAX);
	BUF_AUTO text = BUF_INIT(ARCHIVE_MAX);
	BUF_AUTO expected = BUF_INIT(ARCHIVE_MAX);

	tar_put(&archive, x);
	assert_false(archive.over);
	if (blocks > 0)
		assert_int_equal(archive.size, blocks * TAR_BLOCK);
	tar_text_entry(&expected, x);
	buf_adds(&expected, x->size > 0 ? "cut" : "idle");
	tar_text_cut(&archive, 0, 0, &text);
	assert_string_equal(text.data, expected.data);
}

static void
names_of_any_length_come_back(void **state)
{
	static const size_t slashes[] = {0, 1, 50, 99, 100, 101, 154, 155, 156};
	char name[TAR_PATH_MAX + 1];

	(void)state;
	for (size_t size = 1; size <= TAR_PATH_MAX;
	     size += size < 300 ? 1 : 379)
		for (size_t i = 0; i < 9 && slashes[i] + 1 < size; i++) {
			memset(name, 'n', size);
			name[size] = '\0';
			name[slashes[i]] = '/';
			for (enum tar_type type = TAR_FILE; type < TAR_OTHER;
			     type++)
				check_round_trip(
				    &(struct tar_entry){.type = type,
					.name = name,
					.link = type == TAR_HARDLINK ||
							type == TAR_SYMLINK
						    ? name
						    : ""},
				    0);
		}
	memset(name, 'n', TAR_PATH_MAX);
	check_round_trip(&(struct tar_entry){TAR_SYMLINK, name, name, 0777, 0,
			     -1, 1u << 31, 1u << 31},
	    0);
}

static void
what_fits_ustar_is_one_block(void **state)
{
	const struct tar_entry fits[] = {
	    {TAR_FILE, "a", "", 07777, 077777777777, 077777777777 * SECOND,
		07777777, 07777777},
	    {TAR_DIRECTORY, "a", "", 0, 0, 0, 0, 0},
	};
	const struct tar_entry does_not[] = {
	    {TAR_FILE, "a", "", 0, 0100000000000, 0, 0, 0},
	    {TAR_FILE, "a", "", 0, INT64_MAX - 1, 0, 0, 0},
	    {TAR_FILE, "a", "", 0, 0, -1, 0, 0},
	    {TAR_FILE, "a", "", 0, 0, 1, 0, 0},
	    {TAR_FILE, "a", "", 0, 0, -SECOND, 0, 0},
	    {TAR_FILE, "a", "", 0, 0, 0100000000000 * SECOND, 0, 0},
	    {TAR_FILE, "a", "", 0, 0, INT64_MIN, 0, 0},
	    {TAR_FILE, "a", "", 0, 0, INT64_MAX, 0, 0},
	    {TAR_FILE, "a", "", 0, 0, 0, 010000000, 0},
	    {TAR_FILE, "a", "", 0, 0, 0, 0, UINT32_MAX},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++)
		check_round_trip(&fits[i], 1);
	for (size_t i = 0; i < sizeof(does_not) / sizeof(does_not[0]); i++)
		check_round_trip(&does_not[i], 3);
}

static void
padding_fills_the_last_block(void **state)
{
	BUF_AUTO out = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	tar_put_padding(&out, 0);
	tar_put_padding(&out, TAR_BLOCK);
	tar_put_padding(&out, UINT64_C(1) << 40);
	assert_int_equal(out.size, 0);
	tar_put_padding(&out, 1);
	assert_int_equal(out.size, TAR_BLOCK - 1);
	tar_put_padding(&out, (UINT64_C(1) << 40) - 1);
	assert_int_equal(out.size, TAR_BLOCK);
}

/* -- the box's own tar ----------------------------------------------------- */

/* `tar` with these arguments, writing to and reading from that file. */
static int
run_tar(const char *file, const char *const *argv)
{
	const char *all[20] = {"tar", "-f", file};
	size_t n = 3;
	int status;

	for (; *argv != NULL; argv++)
		all[n++] = *argv;
	pid_t pid = fork();
	if (pid == 0) {
		(void)execvp("tar", (char *const *)(uintptr_t)all);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
sparse_files_of_tar_are_skipped(void **state)
{
	static const char *const formats[] = {"--format=gnu",
	    "--sparse-version=0.0", "--sparse-version=0.1",
	    "--sparse-version=1.0"};
	char dir[] = "/tmp/sbx-tar-XXXXXX", holes[40], out[40];
	struct err e = ERR_INIT;
	size_t size;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(holes, sizeof(holes), "%s/holes", dir);
	(void)snprintf(out, sizeof(out), "%s/out", dir);
	FD_AUTO fd = open(holes, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	for (off_t i = 0; i < 30; i++)
		assert_int_equal(pwrite(fd, "x", 1, i << 16), 1);
	assert_int_equal(ftruncate(fd, 4 << 20), 0);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		const char *const argv[] = {"-c", "-S", formats[i], "-C", dir,
		    "holes", "--no-recursion", ".", NULL};
		BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
		BUF_AUTO text = BUF_INIT(ARCHIVE_MAX);

		int status = run_tar(out, argv);
		char *bytes = fd_read_file(out, ARCHIVE_MAX, &size, &e);
		if (status != 99) {
			assert_non_null(bytes);
			buf_add(&archive, bytes, size);
			tar_text_cut(&archive, 0, 0, &text);
			assert_int_equal(text.data[0], 'o');
			assert_non_null(strstr(text.data, "\nd . "));
			assert_string_equal(text.data + text.size - 3, "end");
		}
		free(bytes);
	}
	(void)unlink(holes);
	(void)unlink(out);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(archives_of_each_format_say_the_same),
	    cmocka_unit_test(long_names_are_read_in_each_way),
	    cmocka_unit_test(numbers_and_names_beyond_ustar_are_read),
	    cmocka_unit_test(any_cut_gives_the_same_events),
	    cmocka_unit_test(an_archive_cut_short_is_not_whole),
	    cmocka_unit_test(names_of_any_length_come_back),
	    cmocka_unit_test(what_fits_ustar_is_one_block),
	    cmocka_unit_test(padding_fills_the_last_block),
	    cmocka_unit_test(sparse_files_of_tar_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
