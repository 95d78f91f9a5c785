/* http/problem: errors as documents, and what they must not say. */
#include "../check.h"
#include "http/problem.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char secret[] = "cannot open /var/lib/docker/secret";

/* The document of an error of that kind, parsed. */
static json_t *
document(enum err_kind kind, const char *text)
{
	struct buf out = BUF_INIT(4096);
	struct jw w = JW_INIT(&out);
	struct err problem = ERR_INIT;

	(void)err_set(&problem, kind, "%s", text);
	problem_write(&w, &problem, "box");
	json_t *doc = json_loadb(out.data, out.size, 0, NULL);
	assert_non_null(doc);
	buf_release(&out);
	return doc;
}

static const char *
member(const json_t *doc, const char *name)
{
	const char *text = json_string_value(json_object_get(doc, name));

	assert_non_null(text);
	return text;
}

static void
every_kind_has_a_whole_document(void **state)
{
	(void)state;
	for (int kind = ERR_NONE; kind < ERR_KINDS; kind++) {
		json_t *doc = document((enum err_kind)kind, "text");
		json_int_t status =
		    json_integer_value(json_object_get(doc, "status"));

		assert_int_equal(status, problem_status((enum err_kind)kind));
		assert_in_range(status, 400, 599);
		assert_string_equal(member(doc, "server"), "box");
		assert_true(*member(doc, "code") != '\0');
		assert_true(*member(doc, "detail") != '\0');
		if (kind != ERR_GONE_AWAY)
			assert_string_equal(
			    member(doc, "title"), problem_title((int)status));
		assert_string_not_equal(problem_title((int)status),
		    kind == ERR_GONE_AWAY ? "" : "Error");
		json_decref(doc);
	}
}

static void
types_titles_and_codes_are_the_contracts(void **state)
{
	static const struct {
		enum err_kind kind;
		int status;
		const char *type, *title, *code;
	} want[] = {
	    {ERR_INPUT, 400, "bad-request", "Bad Request", "invalid_input"},
	    {ERR_AUTH, 401, "unauthorized", "Unauthorized", "unauthorized"},
	    {ERR_RUN_ABSENT, 404, "not-found", "Not Found", "run_not_found"},
	    {ERR_IMAGE_ABSENT, 404, "not-found", "Not Found",
		"image_not_found"},
	    {ERR_METHOD, 405, "method-not-allowed", "Method Not Allowed",
		"method_not_allowed"},
	    {ERR_RUN_NOT_RUNNING, 409, "conflict", "Conflict",
		"run_not_running"},
	    {ERR_TOO_LARGE, 413, "content-too-large", "Content Too Large",
		"content_too_large"},
	    {ERR_INTERNAL, 500, "internal", "Internal Server Error",
		"internal"},
	    {ERR_UNSUPPORTED, 501, "not-implemented", "Not Implemented",
		"not_implemented"},
	    {ERR_REGISTRY, 502, "bad-gateway", "Bad Gateway",
		"registry_failed"},
	    {ERR_STORE_AWAY, 503, "unavailable", "Service Unavailable",
		"store_unavailable"},
	    {ERR_ENGINE_TIMEOUT, 504, "gateway-timeout", "Gateway Timeout",
		"engine_timeout"},
	};
	char type[64];

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		json_t *doc = document(want[i].kind, "text");

		(void)snprintf(type, sizeof(type),
		    "https://neutron.dev/errors/%s", want[i].type);
		assert_string_equal(member(doc, "type"), type);
		assert_string_equal(member(doc, "title"), want[i].title);
		assert_string_equal(member(doc, "code"), want[i].code);
		assert_int_equal(problem_status(want[i].kind), want[i].status);
		json_decref(doc);
	}
}

static void
texts_that_may_name_host_paths_are_not_shown(void **state)
{
	static const enum err_kind hidden[] = {ERR_NONE, ERR_INTERNAL,
	    ERR_ENGINE, ERR_ENGINE_AWAY, ERR_ENGINE_TIMEOUT, ERR_STORE,
	    ERR_STORE_AWAY, ERR_GUEST, ERR_DRAINING};

	(void)state;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		json_t *doc = document(hidden[i], secret);

		assert_null(strstr(member(doc, "detail"), "/var"));
		json_decref(doc);
	}
}

static void
texts_for_the_caller_are_shown(void **state)
{
	static const enum err_kind shown[] = {ERR_INPUT, ERR_JSON, ERR_PATH,
	    ERR_TOO_LARGE, ERR_AUTH, ERR_ROUTE, ERR_METHOD, ERR_UNSUPPORTED,
	    ERR_RUN_ABSENT, ERR_RUN_NOT_RUNNING, ERR_IMAGE_ABSENT, ERR_REGISTRY,
	    ERR_ABSENT, ERR_CONFLICT, ERR_NOT_READY, ERR_BUSY};

	(void)state;
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		json_t *doc = document(shown[i], "the \"cmd\" \xff member");

		assert_string_equal(
		    member(doc, "detail"), "the \"cmd\" \xef\xbf\xbd member");
		json_decref(doc);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_kind_has_a_whole_document),
	    cmocka_unit_test(types_titles_and_codes_are_the_contracts),
	    cmocka_unit_test(texts_that_may_name_host_paths_are_not_shown),
	    cmocka_unit_test(texts_for_the_caller_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
