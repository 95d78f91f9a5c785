/*
 * The main of a fuzz target in a plain build: replays the target's corpus,
 * tests/fuzz/corpus/<name>/ for fuzz_<name>, and a fixed number of mutations
 * of it, the same ones every time. Found beneath SBX_TEST_SOURCE, or the
 * working directory. A check that fails aborts; the input that made it do so
 * is left beside the program, as fuzz_<name>.crash.
 */
#include "../check.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUTATIONS 20000
#define INPUT_MAX (64u * 1024)
#define FILES_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t *bytes;
	size_t size;
};

static struct input files[FILES_MAX];
static size_t file_count;

static struct input current; /* for the handler of SIGABRT */
static char crash_path[1024];

/* xorshift64: https://doi.org/10.18637/jss.v008.i14 */
static uint64_t random_state = 88172645463325252u;

static size_t
below(size_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return limit == 0 ? 0 : (size_t)(random_state % limit);
}

static void
keep_input(int signal_number)
{
	(void)signal_number;
	FILE *to = fopen(crash_path, "wb");

	if (to != NULL) {
		(void)fwrite(current.bytes, 1, current.size, to);
		(void)fclose(to);
		fprintf(stderr, "the input is in %s\n", crash_path);
	}
	_exit(99);
}

/* An exact copy on the heap, so that a sanitizer sees a read beyond it. */
static void
run_one(const uint8_t *bytes, size_t size)
{
	current.bytes = mem_alloc(size);
	current.size = size;
	if (size > 0)
		memcpy(current.bytes, bytes, size);
	(void)LLVMFuzzerTestOneInput(current.bytes, size);
	free(current.bytes);
}

static void
open_gap(uint8_t *bytes, size_t *size, size_t at, size_t gap)
{
	if (*size + gap > INPUT_MAX)
		return;
	memmove(bytes + at + gap, bytes + at, *size - at);
	for (size_t i = 0; i < gap; i++)
		bytes[at + i] = (uint8_t)below(256);
	*size += gap;
}

static void
mutate(uint8_t *bytes, size_t *size)
{
	static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, '\n', '\r',
	    ' ', '"', '{', '}', '/', ':', '0', '9', '.', '%', '-'};
	size_t at = below(*size + 1);
	size_t span = below(*size - at + 1);
	const struct input *other = &files[below(file_count)];
	size_t from = below(other->size + 1);
	size_t take = below(other->size - from + 1);

	switch (below(6)) {
	case 0: /* flip a bit */
		if (at < *size)
			bytes[at] ^= (uint8_t)(1u << below(8));
		break;
	case 1: /* a byte that means something to someone */
		if (at < *size)
			bytes[at] = telling[below(sizeof(telling))];
		break;
	case 2: /* new bytes */
		open_gap(bytes, size, at, 1 + below(8));
		break;
	case 3: /* lose some */
		span = below(2) == 0 ? span : span % 4;
		memmove(bytes + at, bytes + at + span, *size - at - span);
		*size -= span;
		break;
	case 4: /* cut off */
		*size = at;
		break;
	default: /* a piece of another input */
		if (take <= INPUT_MAX - *size) {
			open_gap(bytes, size, at, take);
			memcpy(bytes + at, other->bytes + from, take);
		}
	}
}

static int
load_corpus(void **state)
{
	const char *root = getenv("SBX_TEST_SOURCE");
	const char *name = program_invocation_short_name;
	char directory[1024], path[2048];
	struct dirent *entry;

	(void)state;
	if (strncmp(name, "fuzz_", 5) == 0)
		name += 5;
	(void)snprintf(directory, sizeof(directory), "%s/tests/fuzz/corpus/%s",
	    root != NULL ? root : ".", name);
	DIR *d = opendir(directory);
	while (d != NULL && (entry = readdir(d)) != NULL) {
		struct err e = ERR_INIT;
		struct input *f = &files[file_count];

		if (entry->d_name[0] == '.' || file_count == FILES_MAX)
			continue;
		(void)snprintf(
		    path, sizeof(path), "%s/%s", directory, entry->d_name);
		f->bytes =
		    (uint8_t *)fd_read_file(path, INPUT_MAX, &f->size, &e);
		if (f->bytes == NULL)
			return -1;
		file_count++;
	}
	if (d != NULL)
		(void)closedir(d);
	if (file_count == 0)
		fprintf(stderr, "no corpus in %s\n", directory);
	return file_count > 0 ? 0 : -1;
}

static int
by_content(const void *a, const void *b)
{
	const struct input *x = a, *y = b;
	size_t shorter = x->size < y->size ? x->size : y->size;
	int order = memcmp(x->bytes, y->bytes, shorter);

	if (order != 0)
		return order;
	return x->size < y->size ? -1 : x->size > y->size;
}

static void
corpus_and_mutations_replay(void **state)
{
	static uint8_t bytes[INPUT_MAX];

	(void)state;
	/* The directory's order is not the same on every box. */
	qsort(files, file_count, sizeof(files[0]), by_content);
	(void)LLVMFuzzerTestOneInput(bytes, 0);
	for (size_t i = 0; i < file_count; i++)
		run_one(files[i].bytes, files[i].size);
	for (size_t i = 0; i < MUTATIONS; i++) {
		const struct input *f = &files[i % file_count];
		size_t size = f->size;

		memcpy(bytes, f->bytes, size);
		for (size_t times = 1 + below(4); times > 0; times--)
			mutate(bytes, &size);
		run_one(bytes, size);
	}
}

static int
free_corpus(void **state)
{
	(void)state;
	for (size_t i = 0; i < file_count; i++)
		free(files[i].bytes);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(corpus_and_mutations_replay),
	};

	(void)snprintf(crash_path, sizeof(crash_path), "%s.crash",
	    program_invocation_name);
	(void)signal(SIGABRT, keep_input);
	return cmocka_run_group_tests_name(
	    program_invocation_short_name, tests, load_corpus, free_corpus);
}
