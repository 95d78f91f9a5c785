/* docker/auth: credentials from a config.json. */
#include "../check.h"
#include "docker/auth.h"

#include <string.h>

/* printf 'bob:s3:cret' | base64, and so on */
static const char config[] =
    "{\"auths\":{"
    "\"https://index.docker.io/v1/\":{\"auth\":\"aHViOnB3\"},"
    "\"127.0.0.1:5000\":{\"auth\":\"Ym9iOnMzOmNyZXQ=\"},"
    "\"https://r.example/v2/\":{\"username\":\"u\",\"password\":\"p>>>???\"},"
    "\"token.example\":{\"auth\":\"PHRva2VuPjo=\",\"identitytoken\":\"abc\"},"
    "\"bad.example\":{\"auth\":\"no base64\"},"
    "\"half.example\":{\"auth\":\"Ym9i\"}"
    "},\"credsStore\":\"desktop\"}";

static void
check_header(const char *host, const char *want)
{
	struct buf header = BUF_INIT(4096);
	struct err e = ERR_INIT;

	check_ok(
	    auth_header(config, sizeof(config) - 1, host, &header, &e), &e);
	assert_string_equal(header.data, want);
	buf_release(&header);
}

/* The wanted values: printf '%s' JSON | base64 -w0 | tr '+/' '-_' */
static void
an_entry_is_found_by_its_registry(void **state)
{
	(void)state;
	/* {"username":"bob","password":"s3:cret",
	 *  "serveraddress":"127.0.0.1:5000"} */
	check_header("127.0.0.1:5000",
	    "eyJ1c2VybmFtZSI6ImJvYiIsInBhc3N3b3JkIjoiczM6Y3JldCIsInNlcnZlcmFkZ"
	    "HJlc3MiOiIxMjcuMC4wLjE6NTAwMCJ9");
	/* {"username":"hub","password":"pw",
	 *  "serveraddress":"https://index.docker.io/v1/"} */
	check_header("docker.io",
	    "eyJ1c2VybmFtZSI6Imh1YiIsInBhc3N3b3JkIjoicHciLCJzZXJ2ZXJhZGRyZXNzI"
	    "joiaHR0cHM6Ly9pbmRleC5kb2NrZXIuaW8vdjEvIn0=");
	/* {"username":"u","password":"p>>>???",
	 *  "serveraddress":"R.example"} */
	check_header("R.example",
	    "eyJ1c2VybmFtZSI6InUiLCJwYXNzd29yZCI6InA-Pj4_Pz8iLCJzZXJ2ZXJhZGRyZX"
	    "NzIjoiUi5leGFtcGxlIn0=");
	/* {"username":"<token>","password":"","identitytoken":"abc",
	 *  "serveraddress":"token.example"} */
	check_header("token.example",
	    "eyJ1c2VybmFtZSI6Ijx0b2tlbj4iLCJwYXNzd29yZCI6IiIsImlkZW50aXR5dG9rZW"
	    "4iOiJhYmMiLCJzZXJ2ZXJhZGRyZXNzIjoidG9rZW4uZXhhbXBsZSJ9");
}

static void
another_registry_gets_no_credentials(void **state)
{
	(void)state;
	check_header("127.0.0.1", "");
	check_header("127.0.0.1:50000", "");
	check_header("evil-r.example", "");
	check_header("r.example.evil", "");
}

static void
an_entry_that_makes_no_sense_is_an_error_without_secrets(void **state)
{
	static const char *const hosts[] = {"bad.example", "half.example"};
	struct buf header = BUF_INIT(4096);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct err e = ERR_INIT;

		check_fails(auth_header(config, sizeof(config) - 1, hosts[i],
				&header, &e),
		    &e, ERR_INTERNAL);
		assert_null(strstr(e.text, "Ym9i"));
		assert_non_null(strstr(e.text, hosts[i]));
	}
	buf_release(&header);
}

static void
a_file_without_auths_is_fine_and_one_without_json_is_not(void **state)
{
	struct buf header = BUF_INIT(4096);
	struct err e = ERR_INIT;

	(void)state;
	check_ok(auth_header("{}", 2, "docker.io", &header, &e), &e);
	assert_int_equal(header.size, 0);
	check_fails(
	    auth_header("[]", 2, "docker.io", &header, &e), &e, ERR_INTERNAL);
	check_fails(
	    auth_header("", 0, "docker.io", &header, &e), &e, ERR_INTERNAL);
	buf_release(&header);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_entry_is_found_by_its_registry),
	    cmocka_unit_test(another_registry_gets_no_credentials),
	    cmocka_unit_test(
		an_entry_that_makes_no_sense_is_an_error_without_secrets),
	    cmocka_unit_test(
		a_file_without_auths_is_fine_and_one_without_json_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
