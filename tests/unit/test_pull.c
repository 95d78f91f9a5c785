/* docker/pull: the progress of a pull, and whose fault a failed one is. */
#include "../check.h"
#include "docker/pull.h"

#include <stdio.h>
#include <string.h>

static int
feed(struct pull *p, const char *text, struct err *e)
{
	return pull_feed(p, text, strlen(text), e);
}

static void
bytes_are_summed_over_the_layers(void **state)
{
	struct pull p = PULL_INIT;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(feed(&p,
		     "{\"status\":\"Pulling from team/bb\",\"id\":\"v1\"}\r\n"
		     "{\"status\":\"Pulling fs layer\",\"progressDetail\":{},"
		     "\"id\":\"a\"}\r\n",
		     &e),
	    &e);
	assert_int_equal(p.total, 0);
	check_ok(feed(&p,
		     "{\"status\":\"Downloading\",\"progressDetail\":"
		     "{\"current\":10,\"total\":100},\"id\":\"a\"}\r\n"
		     "{\"status\":\"Downloading\",\"progressDetail\":"
		     "{\"current\":5,\"total\":50},\"id\":\"b\"}\r\n"
		     "{\"status\":\"Downloading\",\"progressDetail\":"
		     "{\"current\":20,\"total\":100},\"id\":\"a\"}\r\n",
		     &e),
	    &e);
	assert_int_equal(p.current, 25);
	assert_int_equal(p.total, 150);
	check_ok(feed(&p,
		     "{\"status\":\"Download complete\",\"id\":\"a\"}\r\n"
		     "{\"status\":\"Extracting\",\"progressDetail\":"
		     "{\"current\":1,\"total\":100},\"id\":\"a\"}\r\n",
		     &e),
	    &e);
	assert_int_equal(p.current, 105);
	assert_int_equal(p.total, 150);
	assert_string_equal(p.error, "");
	pull_release(&p);
}

static void
an_error_in_the_stream_is_kept(void **state)
{
	struct pull p = PULL_INIT;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(feed(&p,
		     "{\"error\":\"denied\"}\n"
		     "{\"errorDetail\":{\"message\":\"unexpected EOF\"}}",
		     &e),
	    &e);
	assert_string_equal(p.error, "denied");
	check_ok(feed(&p, "\n", &e), &e);
	assert_string_equal(p.error, "unexpected EOF");
	pull_release(&p);
}

static void
sizes_that_make_no_sense_do_no_harm(void **state)
{
	struct pull p = PULL_INIT;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char line[200];

		(void)snprintf(line, sizeof(line),
		    "{\"status\":\"Downloading\",\"progressDetail\":"
		    "{\"current\":-1,\"total\":9223372036854775807},"
		    "\"id\":\"%d\"}\n",
		    i);
		check_ok(feed(&p, line, &e), &e);
	}
	assert_int_equal(p.current, 0);
	assert_true(p.total > 0);
	assert_int_equal(p.layer_count, PULL_LAYERS_MAX);
	pull_release(&p);
}

static void
what_is_no_json_object_or_too_long_is_an_error(void **state)
{
	static const char *const bad[] = {
	    "x\n", "[]\n", "{\"a\":\n", "{} {}\n"};
	static char long_line[PULL_LINE_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pull p = PULL_INIT;
		struct err e = ERR_INIT;

		check_fails(feed(&p, bad[i], &e), &e, ERR_ENGINE);
		pull_release(&p);
	}
	struct pull p = PULL_INIT;
	struct err e = ERR_INIT;
	memset(long_line, ' ', sizeof(long_line));
	check_ok(pull_feed(&p, long_line, PULL_LINE_MAX, &e), &e);
	check_fails(pull_feed(&p, long_line, 1, &e), &e, ERR_ENGINE);
	pull_release(&p);
}

/* What Docker 20.10 and later ones say, word for word. */
static void
docker_s_words_tell_whose_fault_it_is(void **state)
{
	static const struct {
		const char *words;
		enum err_kind kind;
	} rows[] = {
	    {"manifest for 127.0.0.1:1/a:b not found: manifest unknown: "
	     "manifest unknown",
		ERR_IMAGE_ABSENT},
	    {"name unknown", ERR_IMAGE_ABSENT},
	    {"denied", ERR_IMAGE_ABSENT},
	    {"unauthorized: authentication required", ERR_IMAGE_ABSENT},
	    {"Head \"http://127.0.0.1:1/v2/a/manifests/b\": no basic auth "
	     "credentials",
		ERR_IMAGE_ABSENT},
	    {"pull access denied for x, repository does not exist or may "
	     "require 'docker login': denied: requested access to the "
	     "resource is denied",
		ERR_IMAGE_ABSENT},
	    {"no matching manifest for linux/amd64 in the manifest list "
	     "entries",
		ERR_IMAGE_ABSENT},
	    {"failed to resolve reference \"h.example/a:b\": h.example/a:b: "
	     "not found",
		ERR_IMAGE_ABSENT},
	    {"Get \"https://h.example/v2/\": dial tcp: lookup h.example on "
	     "192.0.2.1:53: no such host",
		ERR_REGISTRY},
	    {"Get \"http://127.0.0.1:1/v2/\": dial tcp 127.0.0.1:1: connect: "
	     "connection refused",
		ERR_REGISTRY},
	    {"Get \"https://denied.example/v2/\": net/http: request canceled "
	     "while waiting for connection (Client.Timeout exceeded while "
	     "awaiting headers)",
		ERR_REGISTRY},
	    {"Get \"https://192.0.2.1/v2/\": x509: cannot validate "
	     "certificate for 192.0.2.1 because it doesn't contain any IP "
	     "SANs",
		ERR_REGISTRY},
	    {"received unexpected HTTP status: 503 Service Unavailable",
		ERR_REGISTRY},
	    {"toomanyrequests: You have reached your pull rate limit.",
		ERR_REGISTRY},
	    {"error unmarshalling content: invalid character '<' looking for "
	     "beginning of value",
		ERR_REGISTRY},
	    {"unexpected EOF", ERR_REGISTRY},
	    {"failed to register layer: Error processing tar file(exit status "
	     "1): write /x: no space left on device",
		ERR_ENGINE},
	    {"write /var/x/GetImageBlob1: no space left on device", ERR_ENGINE},
	    {"open /var/x/GetImageBlob1: permission denied", ERR_ENGINE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (pull_blame(rows[i].words) != rows[i].kind)
			fail_msg("%s: not %d", rows[i].words, rows[i].kind);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_are_summed_over_the_layers),
	    cmocka_unit_test(an_error_in_the_stream_is_kept),
	    cmocka_unit_test(sizes_that_make_no_sense_do_no_harm),
	    cmocka_unit_test(what_is_no_json_object_or_too_long_is_an_error),
	    cmocka_unit_test(docker_s_words_tell_whose_fault_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
