/* Exec frames, to the letter of the wire contract. */
#include "api/exec_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct wire_exit exit_three = {.code = 3};

/* Frames of these bytes, cut at `cut`, then an exit of 3. */
static char *
frames(enum exec_format format, bool lines, const char *bytes, size_t size,
    size_t cut)
{
	struct buf out = BUF_INIT(1 << 20);
	struct exec_stream s;

	exec_stream_init(&s, format, lines);
	exec_stream_output(&s, EXEC_STDOUT, bytes, cut, &out);
	exec_stream_output(&s, EXEC_STDOUT, bytes + cut, size - cut, &out);
	exec_stream_exit(&s, &exit_three, NULL, &out);
	return buf_take(&out);
}

static void
expect(enum exec_format format, bool lines, const char *bytes, const char *want)
{
	char *got = frames(format, lines, bytes, strlen(bytes), strlen(bytes));

	assert_string_equal(got, want);
	free(got);
}

#define EXIT3 "event: exit\ndata: {\"exitCode\":3,\"timedOut\":false}\n\n"
#define JSON3 \
	"{\"event\":\"exit\",\"data\":{\"exitCode\":3,\"timedOut\":false}}\n"

static void
text_is_one_data_line_per_line(void **state)
{
	(void)state;
	expect(EXEC_TEXT, false, "hello \nsandbox",
	    "event: stdout\ndata: hello \ndata: sandbox\n\n" EXIT3);
	expect(EXEC_TEXT, false, "a\n\nb\r\nc\r",
	    "event: stdout\ndata: a\ndata: \ndata: b\r\ndata: c\r\n\n" EXIT3);
	expect(EXEC_TEXT, false, "x\n",
	    "event: stdout\ndata: x\ndata: \n\n" EXIT3);
	expect(EXEC_TEXT, false, "", EXIT3);
}

static void
json_and_base64_are_exact(void **state)
{
	(void)state;
	expect(EXEC_JSON, false, "a\r\nb\"",
	    "event: stdout\ndata: \"a\\r\\nb\\\"\"\n\n" EXIT3);
	expect(EXEC_BASE64, false, "\xff\n",
	    "event: stdout\ndata: /wo=\n\n" EXIT3);
	expect(
	    EXEC_BASE64, false, "abc", "event: stdout\ndata: YWJj\n\n" EXIT3);
	expect(EXEC_BASE64, false, "abcd",
	    "event: stdout\ndata: YWJjZA==\n\n" EXIT3);
}

static void
lines_are_the_same_events_as_json(void **state)
{
	(void)state;
	expect(EXEC_TEXT, true, "a\nb",
	    "{\"event\":\"stdout\",\"data\":\"a\\nb\"}\n" JSON3);
	expect(EXEC_BASE64, true, "\xff",
	    "{\"event\":\"stdout\",\"data\":\"/w==\"}\n" JSON3);
}

static void
no_character_is_split_over_two_frames(void **state)
{
	static const char text[] = "\xf0\x9f\x98\x80\xc3\xa9";
	(void)state;

	for (size_t cut = 0; cut < sizeof(text); cut++) {
		char *got =
		    frames(EXEC_TEXT, false, text, sizeof(text) - 1, cut);
		char joined[64] = "";

		assert_null(strstr(got, "\xef\xbf\xbd"));
		for (char *p = got; (p = strstr(p, "data: ")) != NULL;) {
			p += strlen("data: ");
			if (*p != '{')
				(void)strncat(joined, p, strcspn(p, "\n"));
		}
		assert_string_equal(joined, text);
		free(got);
	}
}

static void
an_unfinished_character_is_replaced_at_the_exit(void **state)
{
	(void)state;
	expect(EXEC_TEXT, false, "\xf0\x9f",
	    "event: stdout\ndata: \xef\xbf\xbd\n\n" EXIT3);
}

static void
the_streams_have_a_decoder_each(void **state)
{
	BUF_AUTO out = BUF_INIT(4096);
	struct exec_stream s;
	(void)state;

	exec_stream_init(&s, EXEC_TEXT, false);
	exec_stream_output(&s, EXEC_STDOUT, "\xc3", 1, &out);
	exec_stream_output(&s, EXEC_STDERR, "e", 1, &out);
	exec_stream_output(&s, EXEC_STDOUT, "\xa9", 1, &out);
	assert_string_equal(out.data,
	    "event: stderr\ndata: e\n\nevent: stdout\ndata: \xc3\xa9\n\n");
}

static void
the_exit_says_more_only_where_there_is_more(void **state)
{
	const struct wire_exit killed = {
	    .code = 137, .signal = 9, .oom_killed = true};
	const struct wire_exit timed_out = {
	    .code = -1, .signal = 9, .timed_out = true};
	const struct wire_exit lost = {.code = -1};
	BUF_AUTO out = BUF_INIT(4096);
	struct exec_stream s;
	(void)state;

	exec_stream_init(&s, EXEC_TEXT, false);
	exec_stream_exit(&s, &killed, NULL, &out);
	assert_string_equal(out.data,
	    "event: exit\ndata: {\"exitCode\":137,\"timedOut\":false,"
	    "\"signal\":\"SIGKILL\",\"oomKilled\":true}\n\n");
	buf_reset(&out);
	exec_stream_exit(&s, &timed_out, NULL, &out);
	assert_string_equal(out.data,
	    "event: exit\ndata: {\"exitCode\":-1,\"timedOut\":true}\n\n");
	buf_reset(&out);
	exec_stream_exit(&s, &lost, "gone", &out);
	assert_string_equal(out.data,
	    "event: stderr\ndata: sandbox: gone\ndata: \n\n"
	    "event: exit\ndata: {\"exitCode\":-1,\"timedOut\":false,"
	    "\"error\":\"gone\"}\n\n");
}

/* What came of these, in one stream that tells offsets. */
static char *
offsets(enum exec_format format, bool lines)
{
	struct buf out = BUF_INIT(1 << 20);
	struct exec_stream s;

	exec_stream_init(&s, format, lines);
	s.offsets = true;
	s.offset = 100;
	exec_stream_output(&s, EXEC_STDOUT, "ab", 2, &out);
	exec_stream_output(&s, EXEC_STDOUT, "c\xc3", 2, &out);
	exec_stream_output(&s, EXEC_STDERR, "d", 1, &out);
	exec_stream_output(&s, EXEC_STDOUT, "\xa4", 1, &out);
	exec_stream_output(&s, EXEC_STDOUT, "\xe2\x82", 2, &out);
	exec_stream_gap(&s, 200, &out);
	exec_stream_output(&s, EXEC_STDOUT, "e", 1, &out);
	exec_stream_exit(&s, &exit_three, "gone", &out);
	return buf_take(&out);
}

static void
frames_tell_offsets_where_no_character_is_cut(void **state)
{
	char *text = offsets(EXEC_TEXT, false),
	     *lines = offsets(EXEC_JSON, true);

	(void)state;
	assert_string_equal(text,
	    "id: 102\nevent: stdout\ndata: ab\n\n"
	    "event: stdout\ndata: c\n\n"
	    "event: stderr\ndata: d\n\n"
	    "id: 106\nevent: stdout\ndata: \xc3\xa4\n\n"
	    "id: 108\nevent: stdout\ndata: \xef\xbf\xbd\n\n"
	    "id: 200\nevent: gap\ndata: {\"offset\":200,\"dropped\":92}\n\n"
	    "id: 201\nevent: stdout\ndata: e\n\n"
	    "event: stderr\ndata: sandbox: gone\ndata: \n\n"
	    "event: exit\ndata: {\"exitCode\":3,\"timedOut\":false,"
	    "\"error\":\"gone\"}\n\n");
	assert_non_null(strstr(lines,
	    "{\"event\":\"stdout\",\"offset\":102,\"data\":\"ab\"}\n"
	    "{\"event\":\"stdout\",\"data\":\"c\"}\n"));
	assert_non_null(strstr(lines,
	    "{\"event\":\"gap\",\"offset\":200,\"data\":{\"offset\":200,"
	    "\"dropped\":92}}\n"));
	free(text);
	free(lines);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_is_one_data_line_per_line),
	    cmocka_unit_test(json_and_base64_are_exact),
	    cmocka_unit_test(lines_are_the_same_events_as_json),
	    cmocka_unit_test(no_character_is_split_over_two_frames),
	    cmocka_unit_test(an_unfinished_character_is_replaced_at_the_exit),
	    cmocka_unit_test(the_streams_have_a_decoder_each),
	    cmocka_unit_test(the_exit_says_more_only_where_there_is_more),
	    cmocka_unit_test(frames_tell_offsets_where_no_character_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
