/* proxy/pipe: pipes that are few, some of them large. */
#include "../../proxy/pipe.h"
#include "../check.h"

#include <fcntl.h>
#include <unistd.h>

static struct pipe *
must_take(struct pipes *all)
{
	struct pipe *p = pipe_take(all);

	/* A user that may not have more pages has had its share already. */
	if (p == NULL)
		skip();
	return p;
}

static void
some_are_large_and_none_is_small(void **state)
{
	struct pipes all = {.count = 0};
	struct pipe *taken[PIPES_MOST];
	int large = 0;

	(void)state;
	for (int i = 0; i < PIPES_MOST; i++) {
		taken[i] = must_take(&all);
		int size = fcntl(taken[i]->to, F_GETPIPE_SZ);
		assert_true(size >= (taken[i]->large ? PIPE_LARGE : PIPE_SIZE));
		large += taken[i]->large;
	}
	assert_true(large <= PIPES_LARGE);
	assert_int_equal(all.large, large);
	assert_null(pipe_take(&all));
	for (int i = 0; i < PIPES_MOST; i++)
		pipe_give(&all, taken[i], 0);
	assert_int_equal(all.count, PIPES_SPARE);
	assert_int_equal(all.spares, PIPES_SPARE);
	pipes_release(&all);
	assert_int_equal(all.count, 0);
	assert_int_equal(all.large, 0);
}

static void
one_with_something_in_it_is_not_taken_again(void **state)
{
	struct pipes all = {.count = 0};
	struct pipe *p = must_take(&all);

	(void)state;
	assert_int_equal(write(p->to, "x", 1), 1);
	pipe_give(&all, p, 1);
	assert_int_equal(all.count, 0);
	p = must_take(&all);
	pipe_give(&all, p, 0);
	assert_int_equal(all.spares, 1);
	assert_ptr_equal(pipe_take(&all), p);
	char byte;
	assert_int_equal(read(p->from, &byte, 1), -1);
	pipe_give(&all, p, 0);
	pipes_release(&all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(some_are_large_and_none_is_small),
	    cmocka_unit_test(one_with_something_in_it_is_not_taken_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
