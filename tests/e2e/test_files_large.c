/* Files of a GiB, up and down, in little memory. */
#include "files.h"
#include "harness.h"

#include <stdlib.h>

#define SIZE (1ull << 30)
#define GROWTH_KB (16 * 1024)

static char run[ULID_SIZE];

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	run_from(json_pack("{s:s,s:{s:i}}", "image", IMAGE_PLAIN, "limits",
		     "memoryMb", 64),
	    run);
	return 0;
}

static int
teardown(void **state)
{
	run_end(run);
	return stack_stop(state);
}

static int64_t
memory_kb(enum stack_kind kind)
{
	pid_t pids[64];
	size_t count = stack_pids(kind, pids, 64);
	int64_t kb = 0;

	assert_true(count > 0 && count <= 64);
	for (size_t i = 0; i < count; i++)
		kb += proc_private_kb(pids[i]);
	return kb;
}

/* The run has a sixteenth of it. */
static void
a_gib_goes_up_and_down_in_little_memory(void **state)
{
	(void)state;
	int64_t workers = memory_kb(STACK_STREAM);
	int64_t nginx = memory_kb(STACK_NGINX_WORKER);
	REPLY_AUTO up = bulk_put(run, "big", SIZE);
	if (up.status != 204)
		fail_msg("%ld %s", up.status, up.body.data);
	assert_true(bulk_is(run, "big", SIZE));
	assert_true(memory_kb(STACK_STREAM) < workers + GROWTH_KB);
	assert_true(memory_kb(STACK_NGINX_WORKER) < nginx + GROWTH_KB);
	char *size = file_sh(run, "stat -c %s big; rm big");
	assert_string_equal(size, "1073741824\n");
	free(size);
}

/* A TiB of nothing, and three bytes. */
static void
a_part_of_a_huge_file_costs_no_more_than_the_part(void **state)
{
	(void)state;
	free(file_sh(run, "dd if=/dev/zero of=huge bs=1 count=0 "
			  "seek=1099511627776 2>/dev/null; "
			  "printf end >>huge"));
	REPLY_AUTO head = file_do("HEAD", run, "huge");
	assert_string_equal(
	    http_header(&head.headers, "Content-Length"), "1099511627779");
	REPLY_AUTO r = http_do(
	    "GET", file_url(run, "huge"), NULL, "Range: bytes=-5", NULL);
	assert_int_equal(r.status, 206);
	assert_memory_equal(r.body.data, "\0\0end", 5);
	assert_string_equal(http_header(&r.headers, "Content-Range"),
	    "bytes 1099511627774-1099511627778/1099511627779");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_gib_goes_up_and_down_in_little_memory),
	    cmocka_unit_test(a_part_of_a_huge_file_costs_no_more_than_the_part),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
