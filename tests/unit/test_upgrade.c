/* docker/upgrade: heads of answers to an upgrade request. */
#include "../check.h"
#include "docker/upgrade.h"

#include <string.h>

static void
a_head_is_complete_at_its_empty_line(void **state)
{
	static const char head[] = "HTTP/1.1 101 UPGRADED\r\n"
				   "Content-Type: application/x\r\n"
				   "Upgrade: tcp\r\n\r\n";
	struct upgrade u;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t size = 0; size < sizeof(head) - 1; size++)
		assert_int_equal(upgrade_head(head, size, &u, &e), 0);
	assert_int_equal(upgrade_head(head, sizeof(head) - 1, &u, &e), 1);
	assert_int_equal(u.status, 101);
	assert_int_equal(u.head_size, sizeof(head) - 1);
	assert_false(u.framed);
}

static int
look(const char *text, struct upgrade *ret_upgrade)
{
	struct err e = ERR_INIT;
	int rc = upgrade_head(text, strlen(text), ret_upgrade, &e);

	assert_true(rc >= 0 || e.kind == ERR_ENGINE);
	return rc;
}

static void
a_body_is_told_from_a_stream(void **state)
{
	struct upgrade u;

	(void)state;
	assert_int_equal(look("HTTP/1.0 200\n\nstream", &u), 1);
	assert_int_equal(u.status, 200);
	assert_int_equal(u.head_size, 14);
	assert_false(u.framed);
	assert_int_equal(
	    look("HTTP/1.1 409 Conflict\r\ncontent-LENGTH: \t42 \r\n\r\n", &u),
	    1);
	assert_int_equal(u.content_length, 42);
	assert_true(u.framed);
	assert_int_equal(
	    look("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &u),
	    1);
	assert_true(u.framed);
	assert_int_equal(u.content_length, 0);
}

static void
what_is_not_http_is_an_error(void **state)
{
	static const char *const bad[] = {"SSH-2.0-x\r\n", "HTTP/2 200\r\n",
	    "HTTP/1.1 20\r\n", "HTTP/1.1 2000\r\n", "HTTP/1.1 099 x\r\n",
	    "HTTP/1.1 600 x\r\n", "HTTP/1.1 abc x\r\n", "\r\n",
	    "HTTP/1.1 200 OK\r\nno colon\r\n",
	    "HTTP/1.1 200 OK\r\n: no name\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length:\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n"};
	struct upgrade u;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(look(bad[i], &u), -1);
}

static void
a_head_has_a_ceiling(void **state)
{
	static char text[UPGRADE_HEAD_MAX + 2];
	struct upgrade u;
	struct err e = ERR_INIT;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "HTTP/1.1 200 ", 13);
	assert_int_equal(upgrade_head(text, UPGRADE_HEAD_MAX, &u, &e), 0);
	check_fails(
	    upgrade_head(text, UPGRADE_HEAD_MAX + 1, &u, &e), &e, ERR_ENGINE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_head_is_complete_at_its_empty_line),
	    cmocka_unit_test(a_body_is_told_from_a_stream),
	    cmocka_unit_test(what_is_not_http_is_an_error),
	    cmocka_unit_test(a_head_has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
