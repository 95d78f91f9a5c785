/* docker/engine: what needs no engine. */
#include "../check.h"
#include "docker/engine.h"

static void
a_refusal_becomes_an_error_of_its_status(void **state)
{
	struct engine_reply reply = {404, BUF_INIT(1000), BUF_INIT(0)};
	struct err e = ERR_INIT;

	(void)state;
	buf_adds(&reply.body, "{\"message\":\"No such container: x\"}");
	check_fails(engine_refused(&reply, "cannot look", &e), &e, ERR_ABSENT);
	assert_string_equal(e.text, "cannot look: No such container: x");
	reply.status = 409;
	check_fails(
	    engine_refused(&reply, "cannot look", &e), &e, ERR_CONFLICT);
	reply.status = 500;
	buf_reset(&reply.body);
	buf_adds(&reply.body, "plain words");
	check_fails(engine_refused(&reply, "cannot look", &e), &e, ERR_ENGINE);
	assert_string_equal(e.text, "cannot look: Docker answered 500");
	engine_reply_release(&reply);
}

static void
text_is_escaped_for_a_url(void **state)
{
	BUF_AUTO path = BUF_INIT(1000);

	(void)state;
	engine_escape(&path, "aZ09-._~ /?%&=\"\xc3\xa9");
	assert_string_equal(path.data, "aZ09-._~%20%2F%3F%25%26%3D%22%C3%A9");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_refusal_becomes_an_error_of_its_status),
	    cmocka_unit_test(text_is_escaped_for_a_url),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
