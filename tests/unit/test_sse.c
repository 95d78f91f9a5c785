/* http/sse: event frames as the wire contract fixes them. */
#include "../check.h"
#include "http/sse.h"

#include <string.h>

static void
check_event(const char *data, size_t size, const char *want)
{
	struct buf out = BUF_INIT(1024);

	sse_event(&out, "stdout", data, size);
	assert_string_equal(out.data, want);
	buf_release(&out);
}

static void
each_line_of_data_is_a_data_line(void **state)
{
	(void)state;
	check_event("hello \nsandbox", 14,
	    "event: stdout\ndata: hello \ndata: sandbox\n\n");
	check_event("a\n\nb", 4, "event: stdout\ndata: a\ndata: \ndata: b\n\n");
	check_event("x", 1, "event: stdout\ndata: x\n\n");
}

static void
a_last_newline_is_one_more_empty_line(void **state)
{
	(void)state;
	check_event("a\n", 2, "event: stdout\ndata: a\ndata: \n\n");
	check_event("\n", 1, "event: stdout\ndata: \ndata: \n\n");
	check_event("", 0, "event: stdout\ndata: \n\n");
	check_event(NULL, 0, "event: stdout\ndata: \n\n");
}

static void
carriage_returns_pass_as_they_are(void **state)
{
	(void)state;
	check_event("a\rb\r\nc", 6, "event: stdout\ndata: a\rb\r\ndata: c\n\n");
}

static void
only_the_given_size_is_read(void **state)
{
	(void)state;
	check_event("abc\ndef", 4, "event: stdout\ndata: abc\ndata: \n\n");
	check_event("ab", 1, "event: stdout\ndata: a\n\n");
}

static void
events_and_comments_are_appended(void **state)
{
	struct buf out = BUF_INIT(1024);

	(void)state;
	sse_comment(&out, "ok");
	sse_event(&out, "exit", "{}", 2);
	assert_string_equal(out.data, ": ok\n\nevent: exit\ndata: {}\n\n");
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_line_of_data_is_a_data_line),
	    cmocka_unit_test(a_last_newline_is_one_more_empty_line),
	    cmocka_unit_test(carriage_returns_pass_as_they_are),
	    cmocka_unit_test(only_the_given_size_is_read),
	    cmocka_unit_test(events_and_comments_are_appended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
