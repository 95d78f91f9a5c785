/* app/config: defaults, bounds, and that a bad value names itself. */
#include "../check.h"
#include "config.h"
#include "lib/str.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What config_read returns lives as long as the process, by its contract:
 * LeakSanitizer asks this. */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return 1;
}

/* Every variable of the table, so that no test sees another's setting. */
static const char *const names[] = {
#define V(name, field, type, min, max, def, text) "SBX_" #name,
#include "config.def"
#undef V
};

static int
clear(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);
	return 0;
}

static void
an_empty_environment_gives_the_defaults(void **state)
{
	struct config c;
	struct err e = ERR_INIT;
	char host[256] = "";

	(void)state;
	check_ok(config_read(&c, &e), &e);
	(void)gethostname(host, sizeof(host) - 1);
	assert_string_equal(c.addr, "127.0.0.1:7439");
	assert_string_equal(c.server, host);
	assert_string_equal(c.token_file, "/deployments/sandbox/token");
	assert_string_equal(
	    c.redis_url, "unix:///run/teploy-sandbox/redis.sock");
	assert_int_equal(c.shm_mb, 512);
	assert_int_equal(c.client_stall_sec, 300);
	assert_int_equal(c.max_upload_mb, 1024);
	assert_int_equal(c.cache_max_gb, 20);
	assert_true(str_ends(c.init, "/sbx-init"));
	assert_int_equal(*c.init, '/');
}

static void
what_nobody_knows_is_told_with_what_may_be_meant(void **state)
{
	static const struct {
		const char *setting, *meant;
	} given[] = {{"SBX_SHM_BM", "SBX_SHM_MB"},
	    {"SBX_MAX_UPLOAD_M", "SBX_MAX_UPLOAD_MB"},
	    {"SBX_GUESTS", "SBX_GUEST"}, {"SBX_NO_SUCH_THING", NULL}};
	static const char *const others[] = {
	    "SBX_GUEST", "SBX_TEST_X", "SBX_TOKEN", "SBXGUEST"};
	char name[CONFIG_NAME];
	const char *meant;
	size_t at = 0, found = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		(void)setenv(given[i].setting, "secret", 1);
	for (size_t i = 0; i < 4; i++)
		(void)setenv(others[i], "x", 1);
	while (config_unknown(&at, name, &meant)) {
		size_t i = 0;

		for (size_t k = 0; k < 4; k++)
			assert_string_not_equal(name, others[k]);
		while (i < 4 && !str_eq(given[i].setting, name))
			i++;
		if (i == 4) /* of who runs the tests */
			continue;
		found++;
		if (given[i].meant == NULL)
			assert_null(meant);
		else
			assert_string_equal(meant, given[i].meant);
	}
	assert_int_equal(found, 4);
	for (size_t i = 0; i < 4; i++) {
		(void)unsetenv(given[i].setting);
		(void)unsetenv(others[i]);
	}
}

static void
an_empty_value_counts_as_unset_but_for_the_cache(void **state)
{
	struct config c;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)setenv(names[i], "", 1);
	check_ok(config_read(&c, &e), &e);
	assert_string_equal(c.addr, "127.0.0.1:7439");
	assert_int_equal(c.workers, 2);
	assert_string_equal(c.cache_root, "");
	(void)unsetenv("SBX_CACHE_ROOT");
	(void)setenv("SBX_STATE_DIR", "/var/lib/other", 1);
	check_ok(config_read(&c, &e), &e);
	assert_string_equal(c.cache_root, "/var/lib/other/cache");
}

struct bad {
	const char *name, *value, *says;
};

static const struct bad bad[] = {
    {"SBX_WORKERS", "0", "1 to 64"},
    {"SBX_WORKERS", "65", "1 to 64"},
    {"SBX_WORKERS", "2x", "whole number"},
    {"SBX_WORKERS", " 2", "whole number"},
    {"SBX_WORKERS", "2.5", "whole number"},
    {"SBX_WORKERS", "-1", "whole number"},
    {"SBX_STREAM_THREADS", "0", "1 to 4096"},
    {"SBX_CONTROL_THREADS", "1", "2 to 1024"},
    {"SBX_SHM_MB", "99999999999999999999", "whole number"},
    {"SBX_MAX_MEMORY_MB", "-5", "0 to"},
    {"SBX_DRAIN_SEC", "forever", "whole number"},
    {"SBX_CLIENT_STALL_SEC", "0", "1 to 86400"},
    {"SBX_MAX_UPLOAD_MB", "0", "1 to"},
    {"SBX_CACHE_MAX_GB", "-1", "0 to"},
    {"SBX_REAP_INTERVAL", "3601", "1 to 3600"},
    {"SBX_ALLOW_PUBLIC", "yes", "0 to 1"},
    {"SBX_ALLOW_PUBLIC", "2", "0 to 1"},
    {"SBX_TOKEN_FILE", "token", "absolute"},
    {"SBX_STATE_DIR", "./state", "absolute"},
    {"SBX_RUN_DIR", "run", "absolute"},
    {"SBX_RUN_DIR",
	"/a-path-of-more-than-sixty-bytes-would-make-socket-names-too-long",
	"bytes"},
    {"SBX_DOCKER_SOCKET", "docker.sock", "absolute"},
    {"SBX_DOCKER_CONFIG", "config.json", "absolute"},
    {"SBX_INIT", "sbx-init", "absolute"},
    {"SBX_CACHE_ROOT", "cache", "absolute"},
    {"SBX_PROXY", "sbx-proxy", "absolute"},
    {"SBX_GUEST", "pipe", "auto, socket or exec"},
    {"SBX_EGRESS_ALLOW", "a.example, https://b.example/", "\"https://b.exa"},
    {"SBX_EGRESS_ALLOW", "a.example *.b.example", "\"*.b.example\""},
    {"SBX_EGRESS_PRIVATE", "10.0.0.0/8 10.0.0.1/8", "\"10.0.0.1/8\""},
    {"SBX_EGRESS_PRIVATE", "10.0.0.0/33", "network like"},
    {"SBX_EGRESS_SNI", "no", "on or off"},
    {"SBX_EGRESS_MODE", "host", "auto, netns or bridge"},
    {"SBX_EGRESS_POOL", "10.219.0.0/30", "from /8 to /29"},
    {"SBX_EGRESS_POOL", "10.219.0.1/16", "no bit set"},
    {"SBX_EGRESS_POOL", "fd00:0:0:1::/64", "like 10.219.0.0/16"},
    {"SBX_EGRESS_UID_BASE", "2147483647", "SBX_EGRESS_UID_BASE"},
    {"SBX_EGRESS_START", "fork", "auto, spawn or systemd"},
    {"SBX_ADDR", "7439", "HOST:PORT"},
    {"SBX_ADDR", ":7439", "HOST:PORT"},
    {"SBX_ADDR", "127.0.0.1", "HOST:PORT"},
    {"SBX_ADDR", "127.0.0.1:", "HOST:PORT"},
    {"SBX_ADDR", "127.0.0.1:0", "HOST:PORT"},
    {"SBX_ADDR", "127.0.0.1:65536", "HOST:PORT"},
    {"SBX_ADDR", "127.0.0.1:80;", "HOST:PORT"},
    {"SBX_ADDR", "127.0.0.1 x:80", "HOST:PORT"},
    {"SBX_ADDR", "0.0.0.0:7439", "not loopback"},
    {"SBX_ADDR", "192.0.2.1:7439", "not loopback"},
    {"SBX_ADDR", "[::]:7439", "not loopback"},
    {"SBX_ADDR", "example.com:7439", "not loopback"},
    {"SBX_ADDR", "127.example.com:7439", "not loopback"},
    {"SBX_ADDR", "127.0.0.1.example.com:7439", "not loopback"},
    {"SBX_ADDR", "localhost.example.com:7439", "not loopback"},
    {"SBX_REDIS_URL", "rediss://h/0", "TLS"},
    {"SBX_REDIS_URL", "http://h", "redis://"},
    {"SBX_REDIS_URL", "/run/redis.sock", "unix:///"},
};

static void
a_bad_value_names_its_variable_and_the_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct config c;
		struct err e = ERR_INIT;

		(void)setenv(bad[i].name, bad[i].value, 1);
		if (config_read(&c, &e) == 0)
			fail_msg("%s=%s was taken", bad[i].name, bad[i].value);
		assert_int_equal(e.kind, ERR_INPUT);
		if (strstr(e.text, bad[i].name) == NULL ||
		    strstr(e.text, bad[i].says) == NULL)
			fail_msg("%s=%s: \"%s\" does not say \"%s\"",
			    bad[i].name, bad[i].value, e.text, bad[i].says);
		(void)unsetenv(bad[i].name);
	}
}

static void
the_redis_password_is_not_in_the_complaint(void **state)
{
	struct config c;
	struct err e = ERR_INIT;

	(void)state;
	(void)setenv("SBX_REDIS_URL", "rediss://user:s3cr3t@h/0", 1);
	check_fails(config_read(&c, &e), &e, ERR_INPUT);
	assert_null(strstr(e.text, "s3cr3t"));
}

static void
loopback_in_any_spelling_is_taken_and_more_when_allowed(void **state)
{
	static const char *const loopback[] = {
	    "127.0.0.1:1", "127.9.9.9:65535", "[::1]:7439", "localhost:7439"};
	struct config c;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++) {
		(void)setenv("SBX_ADDR", loopback[i], 1);
		check_ok(config_read(&c, &e), &e);
		assert_string_equal(c.addr, loopback[i]);
	}
	(void)setenv("SBX_ADDR", "0.0.0.0:7439", 1);
	(void)setenv("SBX_ALLOW_PUBLIC", "1", 1);
	check_ok(config_read(&c, &e), &e);
}

static void
a_shell_reads_back_what_is_printed(void **state)
{
	struct config c;
	struct err e = ERR_INIT;
	char *text = NULL;
	size_t size = 0;

	(void)state;
	(void)setenv("SBX_SERVER", "it's $(here) `x`\n\\", 1);
	(void)setenv("SBX_WORKERS", "7", 1);
	check_ok(config_read(&c, &e), &e);
	FILE *to = open_memstream(&text, &size);
	assert_non_null(to);
	config_print(&c, to);
	assert_int_equal(fclose(to), 0);
	assert_non_null(
	    strstr(text, "SBX_SERVER='it'\\''s $(here) `x`\n\\'\n"));
	assert_non_null(strstr(text, "SBX_WORKERS=7\n"));
	free(text);
}

static void
help_names_every_variable(void **state)
{
	char *text = NULL;
	size_t size = 0;

	(void)state;
	FILE *to = open_memstream(&text, &size);
	assert_non_null(to);
	config_help(to);
	assert_int_equal(fclose(to), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_non_null(strstr(text, names[i]));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(
		an_empty_environment_gives_the_defaults, clear),
	    cmocka_unit_test_setup(
		what_nobody_knows_is_told_with_what_may_be_meant, clear),
	    cmocka_unit_test_setup(
		an_empty_value_counts_as_unset_but_for_the_cache, clear),
	    cmocka_unit_test_setup(
		a_bad_value_names_its_variable_and_the_rule, clear),
	    cmocka_unit_test_setup(
		the_redis_password_is_not_in_the_complaint, clear),
	    cmocka_unit_test_setup(
		loopback_in_any_spelling_is_taken_and_more_when_allowed, clear),
	    cmocka_unit_test_setup(a_shell_reads_back_what_is_printed, clear),
	    cmocka_unit_test_setup(help_names_every_variable, clear),
	};

	return cmocka_run_group_tests(tests, clear, NULL);
}
