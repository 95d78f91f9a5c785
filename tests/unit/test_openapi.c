/* api/openapi.json: it says what the table of routes does. */
#include "../check.h"
#include "api/openapi.h"
#include "api/routes.h"
#include "lib/str.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static json_t *document;

static int
setup(void **state)
{
	size_t size;
	const char *text = openapi_text(&size);

	(void)state;
	document = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	return document != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	json_decref(document);
	return 0;
}

/* "{path...}" is written "{path}" there. */
static void
path_of(const char *pattern, char to[256])
{
	size_t size = 0;

	for (; *pattern != '\0'; pattern++)
		if (!str_starts(pattern, "...}"))
			to[size++] = *pattern;
		else
			pattern += 2;
	to[size] = '\0';
}

static json_t *
operation_of(const struct route *r)
{
	char path[256], method[16];
	size_t i = 0;

	path_of(r->pattern, path);
	for (; r->method[i] != '\0'; i++)
		method[i] = (char)tolower((unsigned char)r->method[i]);
	method[i] = '\0';
	return json_object_get(
	    json_object_get(json_object_get(document, "paths"), path), method);
}

static void
every_route_is_in_it_and_nothing_else(void **state)
{
	const char *path, *method;
	json_t *methods, *operation;
	size_t described = 0;

	(void)state;
	for (size_t i = 0; i < route_count; i++)
		if (operation_of(&routes[i]) == NULL)
			fail_msg("%s %s is missing", routes[i].method,
			    routes[i].pattern);
	json_object_foreach(json_object_get(document, "paths"), path, methods)
	{
		json_object_foreach(methods, method, operation)
		{
			described++;
			assert_non_null(json_object_get(operation, "summary"));
		}
	}
	assert_int_equal(described, route_count);
}

static void
open_routes_need_no_token_and_others_do(void **state)
{
	(void)state;
	for (size_t i = 0; i < route_count; i++) {
		const json_t *security =
		    json_object_get(operation_of(&routes[i]), "security");

		assert_int_equal(security != NULL, routes[i].open);
		assert_int_equal(json_array_size(security), 0);
	}
}

/* Each {name} of a path has a parameter, in the path. */
static void
parameters_of_a_path_are_described(void **state)
{
	(void)state;
	for (size_t i = 0; i < route_count; i++) {
		const char *at = routes[i].pattern;
		size_t names = 0, found = 0, k;
		const json_t *p;

		for (; (at = strchr(at, '{')) != NULL; at++)
			names++;
		json_array_foreach(
		    json_object_get(operation_of(&routes[i]), "parameters"), k,
		    p)
		{
			const char *ref =
			    json_string_value(json_object_get(p, "$ref"));
			const char *in =
			    json_string_value(json_object_get(p, "in"));

			found += ref != NULL ? str_ends(ref, "/id") ||
						   str_ends(ref, "/eid") ||
						   str_ends(ref, "/path")
					     : str_eq(in, "path");
		}
		assert_int_equal(found, names);
	}
}

/* "#/components/schemas/Run" */
static bool
resolves(const char *ref)
{
	json_t *at = document;
	char text[256];
	char *rest = text;

	if (!str_starts(ref, "#/"))
		return false;
	(void)snprintf(text, sizeof(text), "%s", ref + 2);
	for (char *part; (part = strsep(&rest, "/")) != NULL;)
		at = json_object_get(at, part);
	return at != NULL;
}

static void
check_references(json_t *node)
{
	const char *key;
	json_t *value;
	size_t i;

	json_array_foreach(node, i, value) check_references(value);
	json_object_foreach(node, key, value)
	{
		if (str_eq(key, "$ref") && !resolves(json_string_value(value)))
			fail_msg("%s leads nowhere", json_string_value(value));
		check_references(value);
	}
}

static void
references_lead_somewhere(void **state)
{
	(void)state;
	assert_true(str_starts(
	    json_string_value(json_object_get(document, "openapi")), "3.1"));
	check_references(document);
}

static void
operations_have_names_of_their_own(void **state)
{
	json_auto_t *seen = json_object();

	(void)state;
	for (size_t i = 0; i < route_count; i++) {
		const char *name = json_string_value(
		    json_object_get(operation_of(&routes[i]), "operationId"));

		assert_non_null(name);
		assert_null(json_object_get(seen, name));
		(void)json_object_set_new(seen, name, json_true());
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_route_is_in_it_and_nothing_else),
	    cmocka_unit_test(open_routes_need_no_token_and_others_do),
	    cmocka_unit_test(parameters_of_a_path_are_described),
	    cmocka_unit_test(references_lead_somewhere),
	    cmocka_unit_test(operations_have_names_of_their_own),
	};

	return cmocka_run_group_tests_name("openapi", tests, setup, teardown);
}
