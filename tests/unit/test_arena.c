/* lib/arena: allocations that live until the next reset. */
#include "../check.h"
#include "lib/arena.h"

#include <string.h>

static void
allocations_are_zeroed_and_aligned_also_after_a_reset(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t size = 0; size < 3000; size += 7) {
			char *p = arena_alloc(&a, size);

			assert_int_equal(
			    (uintptr_t)p % sizeof(max_align_t) % 16, 0);
			for (size_t i = 0; i < size; i++)
				assert_int_equal(p[i], 0);
			memset(p, 0xff, size);
		}
		arena_reset(&a);
	}
	arena_release(&a);
}

static void
allocations_do_not_overlap(void **state)
{
	struct arena a = ARENA_INIT;
	char *p[500];

	(void)state;
	for (size_t i = 0; i < 500; i++) {
		p[i] = arena_alloc(&a, i + 1);
		memset(p[i], (int)i, i + 1);
	}
	for (size_t i = 0; i < 500; i++)
		for (size_t k = 0; k <= i; k++)
			assert_int_equal(
			    (unsigned char)p[i][k], (unsigned char)i);
	arena_release(&a);
}

static void
a_large_block_does_not_stay_after_a_reset(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	(void)arena_alloc(&a, 10 * ARENA_KEEP);
	arena_reset(&a);
	assert_null(a.block);
	(void)arena_alloc(&a, 1);
	arena_reset(&a);
	assert_non_null(a.block);
	arena_release(&a);
	assert_null(a.block);
}

static void
text_is_copied_cut_and_formatted(void **state)
{
	struct arena a = ARENA_INIT;
	char big[3 * ARENA_KEEP];

	(void)state;
	assert_string_equal(arena_strdup(&a, "run"), "run");
	assert_string_equal(arena_strdup(&a, ""), "");
	assert_string_equal(arena_strndup(&a, "sandbox", 4), "sand");
	assert_string_equal(arena_printf(&a, "%s-%d", "sbx", 7), "sbx-7");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_string_equal(arena_printf(&a, "%s", big), big);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		allocations_are_zeroed_and_aligned_also_after_a_reset),
	    cmocka_unit_test(allocations_do_not_overlap),
	    cmocka_unit_test(a_large_block_does_not_stay_after_a_reset),
	    cmocka_unit_test(text_is_copied_cut_and_formatted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
