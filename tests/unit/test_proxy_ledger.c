/* proxy/ledger: what was decided, counted and told. */
#include "../../proxy/ledger.h"
#include "../wait.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
add(struct ledger *l, enum ledger_verdict verdict, const char *host)
{
	const struct ledger_entry x = {.verdict = verdict,
	    .method = "GET",
	    .host = host,
	    .port = 80,
	    .address = "",
	    .reason = "",
	    .up = 1,
	    .down = 10};

	ledger_add(l, &x);
}

static json_t *
counts(const struct ledger *l)
{
	BUF_AUTO out = BUF_INIT(1 << 20);

	ledger_counts(l, &out);
	assert_null(strchr(out.data, '\n'));
	json_t *root = json_loads(out.data, 0, NULL);
	assert_non_null(root);
	return root;
}

/* A member of that host's row; -1: there is none. */
static json_int_t
count(const json_t *root, const char *host, const char *name)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(root, "hosts"), i, row)
	{
		const char *h = json_string_value(json_object_get(row, "host"));

		if (strcmp(h, host) == 0)
			return json_integer_value(json_object_get(row, name));
	}
	return -1;
}

static void
each_host_has_its_counters(void **state)
{
	struct ledger *l = ledger_new();

	(void)state;
	add(l, LEDGER_ALLOWED, "a.test");
	add(l, LEDGER_ALLOWED, "a.test");
	add(l, LEDGER_DENIED, "a.test");
	add(l, LEDGER_UNREACHED, "a.test");
	add(l, LEDGER_TIMED_OUT, "a.test");
	add(l, LEDGER_DENIED, "b.test");
	add(l, LEDGER_MALFORMED, "");
	ledger_connections(l, 1);
	ledger_connections(l, 1);
	ledger_connections(l, -1);
	json_t *root = counts(l);
	assert_int_equal(count(root, "a.test", "allowed"), 2);
	assert_int_equal(count(root, "a.test", "denied"), 1);
	assert_int_equal(count(root, "a.test", "failed"), 2);
	assert_int_equal(count(root, "a.test", "up"), 5);
	assert_int_equal(count(root, "a.test", "down"), 50);
	assert_int_equal(count(root, "a.test", "port"), 80);
	assert_int_equal(count(root, "b.test", "denied"), 1);
	assert_int_equal(count(root, "other", "denied"), -1);
	assert_int_equal(
	    json_integer_value(json_object_get(root, "connections")), 1);
	assert_int_equal(
	    json_integer_value(json_object_get(root, "malformed")), 1);
	json_decref(root);
	ledger_free(l);
}

static void
hosts_beyond_256_count_as_other(void **state)
{
	struct ledger *l = ledger_new();
	char host[32];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(host, sizeof(host), "h%d.test", i);
		add(l, LEDGER_ALLOWED, host);
	}
	json_t *root = counts(l);
	assert_int_equal(
	    json_array_size(json_object_get(root, "hosts")), LEDGER_HOSTS + 1);
	assert_int_equal(count(root, "other", "allowed"), 1000 - LEDGER_HOSTS);
	json_decref(root);
	ledger_free(l);
}

static void
refused_names_leave_room_for_real_ones(void **state)
{
	struct ledger *l = ledger_new();
	char host[32];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(host, sizeof(host), "h%d.test", i);
		add(l, LEDGER_DENIED, host);
	}
	add(l, LEDGER_ALLOWED, "real.test");
	add(l, LEDGER_ALLOWED, "h0.test"); /* makes room for one refused more */
	add(l, LEDGER_DENIED, "h999.test");
	add(l, LEDGER_DENIED, "h998.test");
	json_t *root = counts(l);
	assert_int_equal(count(root, "real.test", "allowed"), 1);
	assert_int_equal(count(root, "h0.test", "denied"), 1);
	assert_int_equal(count(root, "h0.test", "allowed"), 1);
	assert_int_equal(count(root, "h999.test", "denied"), 1);
	assert_int_equal(
	    count(root, "other", "denied"), 1000 - LEDGER_REFUSED + 1);
	json_decref(root);
	ledger_free(l);
}

/* Lines from there on, as text; each of them is JSON. */
static char *
lines(const struct ledger *l, uint64_t from, uint64_t *ret_lost)
{
	struct buf out = BUF_INIT(LEDGER_RING);

	(void)ledger_log(l, from, LEDGER_RING, &out, ret_lost);
	for (char *at = out.data; *at != '\0';) {
		char *end = strchr(at, '\n');

		assert_non_null(end);
		json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL);
		assert_non_null(line);
		json_decref(line);
		at = end + 1;
	}
	return buf_take(&out);
}

static void
a_line_says_what_happened_and_escapes_it(void **state)
{
	struct ledger *l = ledger_new();
	const struct ledger_entry x = {LEDGER_DENIED, "G\"ET", "a\\\n\x01.test",
	    8080, "192.0.2.1", "it is \xff", 403, 1, 2, 3};
	uint64_t lost;

	(void)state;
	ledger_add(l, &x);
	char *text = lines(l, 0, &lost);
	json_t *line = json_loads(text, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(line, "n")), 1);
	assert_string_equal(
	    json_string_value(json_object_get(line, "host")), "a\\\n\x01.test");
	assert_string_equal(
	    json_string_value(json_object_get(line, "verdict")), "denied");
	assert_int_equal(
	    json_integer_value(json_object_get(line, "status")), 403);
	assert_non_null(strstr(text, "\"reason\":\"it is \xef\xbf\xbd\""));
	json_decref(line);
	free(text);
	ledger_free(l);
}

/* The longest line there is: a second's worth of them overflows the ring. */
static void
add_long(struct ledger *l)
{
	char text[400];

	memset(text, 1, sizeof(text)); /* 6 bytes each as JSON */
	text[sizeof(text) - 1] = '\0';
	const struct ledger_entry x = {
	    LEDGER_DENIED, text, text, 80, text, text, 403, 0, 0, 0};
	ledger_add(l, &x);
}

static void
lines_fall_out_of_the_ring_and_readers_learn_how_many(void **state)
{
	struct ledger *l = ledger_new();
	BUF_AUTO out = BUF_INIT(2 * LEDGER_RING);
	uint64_t lost;

	(void)state;
	for (int i = 0; i < LEDGER_RATE; i++)
		add_long(l);
	assert_int_equal(ledger_log_end(l), LEDGER_RATE + 1);
	char *text = lines(l, 0, &lost);
	assert_int_equal(lost, 0); /* who asks for all there is misses none */
	int first;
	assert_int_equal(sscanf(text, "{\"n\":%d,", &first), 1);
	assert_in_range(strlen(text), LEDGER_RING - 10000, LEDGER_RING);
	free(text);
	text = lines(l, 5, &lost);
	assert_int_equal(lost, first - 5);
	free(text);
	/* A reader that takes a few at a time gets every one once. */
	uint64_t at = (uint64_t)first;
	while (at < ledger_log_end(l)) {
		int n;

		out.size = 0;
		uint64_t next = ledger_log(l, at, 25000, &out, &lost);
		assert_int_equal(next, at + 2);
		assert_int_equal(lost, 0);
		assert_int_equal(sscanf(out.data, "{\"n\":%d,", &n), 1);
		assert_int_equal(n, at);
		at = next;
		if (at + 1 == ledger_log_end(l))
			break;
	}
	ledger_free(l);
}

static void
a_position_that_never_was_is_the_oldest(void **state)
{
	struct ledger *l = ledger_new();
	BUF_AUTO out = BUF_INIT(LEDGER_RING);
	uint64_t lost;

	(void)state;
	assert_int_equal(ledger_log(l, 0, 1000, &out, &lost), 1);
	add(l, LEDGER_ALLOWED, "a.test");
	assert_int_equal(ledger_log(l, 2, 1000, &out, &lost), 2);
	assert_int_equal(out.size, 0);
	assert_int_equal(ledger_log(l, 1, 10, &out, &lost), 1);
	assert_int_equal(out.size, 0);
	assert_int_equal(ledger_log(l, 700, 1000, &out, &lost), 2);
	assert_int_equal(lost, 0);
	assert_true(out.size > 0);
	ledger_free(l);
}

static void
count_line(void *arg)
{
	++*(int *)arg;
}

/* Nothing is waited for, where the flood was no longer than a second. */
static bool
is_told_at_the_end(struct ledger *l)
{
	uint64_t lost;

	for (int i = 0; i < 2 * LEDGER_RATE; i++)
		add(l, LEDGER_DENIED, "a.test");
	ledger_end(l);
	char *text = lines(l, ledger_log_end(l) - 1, &lost);
	bool told = strstr(text, "\"verdict\":\"omitted\"") != NULL;
	free(text);
	return told;
}

static void
a_flood_of_lines_is_cut_and_says_so(void **state)
{
	struct ledger *l = ledger_new();
	int told = 0;
	uint64_t lost;

	(void)state;
	ledger_listen(l, count_line, &told);
	int64_t begun = clock_mono_ms();
	for (int i = 0; i < 3 * LEDGER_RATE; i++)
		add(l, LEDGER_DENIED, "a.test");
	if (clock_mono_ms() - begun >= 1000)
		skip();
	assert_int_equal(told, LEDGER_RATE);
	wait_until((ledger_settle(l), told > LEDGER_RATE), 10000);
	char *text = lines(l, LEDGER_RATE + 1, &lost);
	assert_non_null(strstr(text, "\"verdict\":\"omitted\",\"count\":400}"));
	free(text);
	add(l, LEDGER_DENIED, "a.test");
	assert_int_equal(told, LEDGER_RATE + 2);
	json_t *root = counts(l);
	assert_int_equal(count(root, "a.test", "denied"), 3 * LEDGER_RATE + 1);
	json_decref(root);
	wait_until(is_told_at_the_end(l), 10000);
	ledger_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_host_has_its_counters),
	    cmocka_unit_test(hosts_beyond_256_count_as_other),
	    cmocka_unit_test(refused_names_leave_room_for_real_ones),
	    cmocka_unit_test(a_line_says_what_happened_and_escapes_it),
	    cmocka_unit_test(
		lines_fall_out_of_the_ring_and_readers_learn_how_many),
	    cmocka_unit_test(a_position_that_never_was_is_the_oldest),
	    cmocka_unit_test(a_flood_of_lines_is_cut_and_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
