/*
 * run/lock_hash: which directory is a repository's root, and its hash.
 *
 * The hashes here are not this program's own: they come from Python's hashlib,
 *
 *	def lock_hash(dir, files):	# name -> content
 *		text = f"dir {dir}\n"
 *		for name in ORDER:	# as in CONTRACT 7
 *			if name in files:
 *				text += f"{name} {sha256(files[name])}\n"
 *		return sha256(text)
 */
#include "../check.h"
#include "lib/fd.h"
#include "lib/tree.h"
#include "run/lock_hash.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* lock_hash(".", {}) */
#define NOTHING \
	"0819327635d3c0417b8d66210cdd5111798852735de3ce3af44a3c2476726115"
/* lock_hash(".", {"go.mod": b"module x\n"}) */
#define ONE "dd53097bc7e6071b5040b67aa5b12f27ffeeac2cf22bce46e52c2dbe74f50f5b"
/* lock_hash("repo", {"package-lock.json": b"{}\n", "yarn.lock": b""}) */
#define TWO_BELOW \
	"dc664587300f52f36ab4653e3dbe481b08fce0c3355a035b3a332d53b94fc12c"
/* lock_hash(".", {n: n.encode() for n in ORDER}) */
#define ALL "ec82277243bde8c31ed1b84a55fee71271ff7354305c00410bc39930a33e05e3"
/* lock_hash("My-repo_1.x", {n: (n + "\n").encode() for n in ORDER}) */
#define ALL_BELOW \
	"ccd674ad9e05f07898d82ee3a54bfc180157773658eb9a95b502fda143bf6f85"
/* lock_hash(".", {"Cargo.lock": b"\0" * (64 << 20)}) */
#define LARGEST \
	"217a184446273ce88fb994adafc957b4790caa0c0a8c715244d73fd2f82e7d70"
/* lock_hash(".", {"yarn.lock": b""}) */
#define EMPTY_FILE \
	"677c6c19f68c75582cf0c619ff3fa2aa27ef7b446d805e9a3a8b7640f8024c59"
/* lock_hash("repo", {"yarn.lock": b"y"}) */
#define YARN_BELOW \
	"93137f0bbdd8f0fb7836f32418aba4759692c7aecb0617f13da326b7a476d0c4"

/* In no order that anybody would hash them in. */
static const char *const names[] = {"yarn.lock", "stack.yaml.lock", "go.mod",
    "Package.resolved", "flake.lock", "Cargo.lock", "uv.lock", "mix.lock",
    "bun.lockb", "npm-shrinkwrap.json", "deno.lock", "package-lock.json",
    "go.sum", "Gemfile.lock", "pubspec.lock", "composer.lock", "bun.lock",
    "poetry.lock", "gradle.lockfile", "Pipfile.lock", "pnpm-lock.yaml"};

#define NAMES (sizeof(names) / sizeof(names[0]))

static char base[64];
static int root = -1;

static int
begin(void **state)
{
	(void)state;
	(void)snprintf(base, sizeof(base), "/tmp/sbx-lock-XXXXXX");
	root = mkdtemp(base) != NULL ? open(base, O_RDONLY | O_DIRECTORY) : -1;
	return root >= 0 ? 0 : -1;
}

static int
end(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	fd_close(&root);
	return tree_remove(AT_FDCWD, base, NULL, &e);
}

static void
put(const char *path, const char *text)
{
	FD_AUTO fd =
	    openat(root, path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
make_dir(const char *path)
{
	assert_int_equal(mkdirat(root, path, 0700), 0);
}

static void
check_hash(const char *dir, const char *hash)
{
	struct err e = ERR_INIT;
	struct lock_hash h;

	check_ok(lock_hash(root, &h, &e), &e);
	assert_string_equal(h.dir, dir);
	assert_string_equal(h.hash, hash);
}

static void
an_empty_volume_has_a_hash(void **state)
{
	(void)state;
	check_hash(".", NOTHING);
	put("README.md", "no lockfile");
	put("cargo.lock", "nor this, of another case");
	check_hash(".", NOTHING);
}

static void
the_volume_is_the_root_where_it_holds_a_lockfile(void **state)
{
	(void)state;
	put("go.mod", "module x\n");
	make_dir("repo");
	put("repo/yarn.lock", "y");
	check_hash(".", ONE);
	put("go.mod", "");
	assert_int_equal(unlinkat(root, "go.mod", 0), 0);
	put("yarn.lock", "");
	check_hash(".", EMPTY_FILE);
}

static void
all_lockfiles_count_in_their_order(void **state)
{
	char path[64], text[64];

	(void)state;
	for (size_t i = 0; i < NAMES; i++)
		put(names[i], names[i]);
	check_hash(".", ALL);
	for (size_t i = 0; i < NAMES; i++)
		assert_int_equal(unlinkat(root, names[i], 0), 0);
	make_dir("My-repo_1.x");
	for (size_t i = 0; i < NAMES; i++) {
		(void)snprintf(path, sizeof(path), "My-repo_1.x/%s", names[i]);
		(void)snprintf(text, sizeof(text), "%s\n", names[i]);
		put(path, text);
	}
	check_hash("My-repo_1.x", ALL_BELOW);
}

static void
the_only_directory_with_a_lockfile_is_the_root(void **state)
{
	(void)state;
	make_dir("repo");
	put("repo/package-lock.json", "{}\n");
	put("repo/yarn.lock", "");
	check_hash("repo", TWO_BELOW);
	/* Others that hold none change nothing. */
	make_dir(".cache");
	make_dir(".cache/below");
	put(".cache/below/yarn.lock", "too deep");
	check_hash("repo", TWO_BELOW);
	make_dir("second");
	put("second/go.sum", "");
	check_hash(".", NOTHING);
}

static void
directories_of_other_names_are_no_root(void **state)
{
	(void)state;
	make_dir("my repo");
	put("my repo/yarn.lock", "y");
	check_hash(".", NOTHING);
	make_dir("r\xc3\xa9po");
	put("r\xc3\xa9po/yarn.lock", "y");
	check_hash(".", NOTHING);
	make_dir("repo");
	put("repo/yarn.lock", "y");
	check_hash("repo", YARN_BELOW);
}

static void
links_and_what_is_no_file_are_no_lockfiles(void **state)
{
	(void)state;
	put("real", "y");
	assert_int_equal(symlinkat("real", root, "yarn.lock"), 0);
	assert_int_equal(mkfifoat(root, "go.mod", 0600), 0);
	make_dir("Cargo.lock");
	check_hash(".", NOTHING);
	make_dir("repo");
	put("repo/yarn.lock", "y");
	assert_int_equal(symlinkat("repo", root, "again"), 0);
	check_hash("repo", YARN_BELOW);
}

static void
the_largest_lockfile_counts_and_a_larger_one_does_not(void **state)
{
	(void)state;
	put("Cargo.lock", "");
	FD_AUTO fd = openat(root, "Cargo.lock", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, LOCK_FILE_MAX), 0);
	check_hash(".", LARGEST);
	assert_int_equal(ftruncate(fd, LOCK_FILE_MAX + 1), 0);
	check_hash(".", NOTHING);
	make_dir("repo");
	put("repo/yarn.lock", "y");
	check_hash("repo", YARN_BELOW);
}

static void
bytes_are_hashed_as_they_come(void **state)
{
	char hex[DIGEST_HEX_SIZE];
	struct digest d;

	(void)state;
	digest_begin(&d);
	digest_add(&d, "a", 1);
	digest_add(&d, "", 0);
	digest_add(&d, "bc", 2);
	digest_end(&d, hex);
	/* FIPS 180-2, B.1 */
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223"
				 "b00361a396177a9cb410ff61f20015ad");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(an_empty_volume_has_a_hash),
	    TEST(the_volume_is_the_root_where_it_holds_a_lockfile),
	    TEST(all_lockfiles_count_in_their_order),
	    TEST(the_only_directory_with_a_lockfile_is_the_root),
	    TEST(directories_of_other_names_are_no_root),
	    TEST(links_and_what_is_no_file_are_no_lockfiles),
	    TEST(the_largest_lockfile_counts_and_a_larger_one_does_not),
	    TEST(bytes_are_hashed_as_they_come),
	};

	return cmocka_run_group_tests_name("lock_hash", tests, NULL, NULL);
}
