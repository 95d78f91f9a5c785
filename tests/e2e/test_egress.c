/* Runs with network "allowlist": what they reach, and that their proxies live
 * and die with them (DESIGN 5). The servers are this process' own. */
#include "../port.h"
#include "egress.h"
#include "harness.h"
#include "views.h"

#include "lib/fd.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 30000
#define KEPT_MS 60000  /* some rounds of the reaper's sweep */
#define GRACE_MS 60000 /* DESIGN 7 */

static int port, other_port;

/* -- runs ------------------------------------------------------------------ */

/* Through everything, till the last test; the second one's own entries are
 * taken away soon. */
static char lasting[ULID_SIZE], narrowed[ULID_SIZE];
static int64_t lasting_since;

static json_t *
body_for(int allowed)
{
	json_t *body = json_pack("{s:s,s:s,s:i}", "image", IMAGE_PLAIN,
	    "network", "allowlist", "ttlSec", 3000);
	char entry[40];

	(void)snprintf(entry, sizeof(entry), "127.0.0.1:%d", allowed);
	if (allowed > 0)
		json_object_set_new(
		    body, "egressAllow", json_pack("[s]", entry));
	return body;
}

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_EGRESS_ALLOW=box.example", NULL};

	(void)state;
	port = egress_server();
	other_port = port_free();
	stack_start(env);
	image_need(IMAGE_PLAIN);
	run_from(body_for(port), lasting);
	run_from(body_for(port), narrowed);
	lasting_since = clock_mono_ms();
	return 0;
}

static int
teardown(void **state)
{
	run_end(lasting);
	run_end(narrowed);
	return stack_stop(state);
}

/* The answer to GET http://127.0.0.1:to/ through the run's proxy. */
static struct executed
fetch(const char *id, int to)
{
	char cmd[256];

	(void)snprintf(cmd, sizeof(cmd),
	    "printf 'GET http://127.0.0.1:%d/ HTTP/1.1\\r\\nHost: x\\r\\n"
	    "Connection: close\\r\\n\\r\\n' | nc -w 10 127.0.0.1 3128 2>&1",
	    to);
	return exec_sh(id, cmd);
}

static bool
reaches(const char *id, int to)
{
	EXECUTED_AUTO x = fetch(id, to);

	return strstr(x.out.data, "HTTP/1.1 200 ") == x.out.data &&
	       strstr(x.out.data, "\r\n\r\nhello\n") != NULL;
}

static bool
is_answered(const char *id, int to, const char *status)
{
	EXECUTED_AUTO x = fetch(id, to);

	return str_starts(x.out.data, "HTTP/1.1 ") &&
	       str_starts(x.out.data + strlen("HTTP/1.1 "), status);
}

static bool
is_denied(const char *id, int to)
{
	return is_answered(id, to, "403 ");
}

static bool
has_directory(const char *id)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/runs/%s", stack.run_dir, id);
	return access(path, F_OK) == 0;
}

/* -- what it is ------------------------------------------------------------ */

static void
what_is_allowed_is_reached_and_nothing_else(void **state)
{
	char want[80];

	(void)state;
	assert_true(reaches(lasting, port));
	EXECUTED_AUTO x = fetch(lasting, other_port);
	assert_true(strstr(x.out.data, "HTTP/1.1 403 ") == x.out.data);
	assert_non_null(strstr(x.out.data, "text/plain"));
	(void)snprintf(want, sizeof(want),
	    "\"egressAllow\": [\"127.0.0.1:%d\"]", other_port);
	assert_non_null(strstr(x.out.data, want));
	(void)snprintf(
	    want, sizeof(want), "SBX_EGRESS_ALLOW=127.0.0.1:%d", other_port);
	assert_non_null(strstr(x.out.data, want));
	assert_non_null(strstr(x.out.data, "network:\"open\""));
}

static void
there_is_no_way_but_the_proxy(void **state)
{
	char cmd[200];

	(void)state;
	EXECUTED_AUTO x = exec_sh(lasting,
	    "ls /sys/class/net; cat /proc/net/route /proc/net/ipv6_route | "
	    "grep -v '^Iface' | grep -vw lo; nslookup box.example || echo no");
	assert_true(strstr(x.out.data, "lo\n") == x.out.data);
	assert_true(str_ends(x.out.data, "no\n"));
	assert_null(strstr(x.out.data, "eth"));
	(void)snprintf(cmd, sizeof(cmd),
	    "nc -w 2 127.0.0.1 %d </dev/null; echo $?; "
	    "netstat -ltn | grep -c :",
	    port);
	EXECUTED_AUTO direct = exec_sh(lasting, cmd);
	assert_string_equal(direct.out.data, "1\n1\n");
	json_auto_t *c = docker_container(lasting);
	assert_string_equal(
	    json_string_value(json_at(c, "HostConfig.NetworkMode")), "none");
}

static void
a_run_has_no_part_in_anothers_proxy(void **state)
{
	char none[ULID_SIZE], mine[ULID_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, none);
	run_from(body_for(0), mine);
	EXECUTED_AUTO x = fetch(none, port);
	assert_non_null(strstr(x.out.data, "refused"));
	assert_true(is_denied(mine, port));
	assert_true(reaches(lasting, port));
	run_end(none);
	run_end(mine);
}

static void
commands_are_told_of_the_proxy_and_may_be_told_otherwise(void **state)
{
	static const char show[] = "env | grep -i proxy | sort";
	char id[ULID_SIZE];

	(void)state;
	EXECUTED_AUTO x = exec_sh(lasting, show);
	assert_string_equal(x.out.data, "HTTPS_PROXY=http://127.0.0.1:3128\n"
					"HTTP_PROXY=http://127.0.0.1:3128\n"
					"NO_PROXY=localhost,127.0.0.1\n"
					"http_proxy=http://127.0.0.1:3128\n"
					"https_proxy=http://127.0.0.1:3128\n"
					"no_proxy=localhost,127.0.0.1\n");
	json_t *body = body_for(0);
	json_object_set_new(body, "env",
	    json_pack("{s:s,s:s}", "HTTP_PROXY", "run", "no_proxy", "run"));
	run_from(body, id);
	EXECUTED_AUTO mine =
	    exec_json(id, json_pack("{s:s,s:{s:s,s:s}}", "cmd", show, "env",
			      "no_proxy", "exec", "https_proxy", ""));
	assert_string_equal(mine.out.data, "HTTPS_PROXY=http://127.0.0.1:3128\n"
					   "HTTP_PROXY=run\n"
					   "NO_PROXY=localhost,127.0.0.1\n"
					   "http_proxy=http://127.0.0.1:3128\n"
					   "https_proxy=\n"
					   "no_proxy=exec\n");
	json_auto_t *c = docker_container(id);
	char *text = json_dumps(json_at(c, "Config.Env"), JSON_ENCODE_ANY);
	assert_null(strcasestr(text, "proxy"));
	free(text);
	run_end(id);
}

static void
the_init_command_has_the_proxy_already(void **state)
{
	char cmd[200], id[ULID_SIZE];
	json_t *body = body_for(port);

	(void)state;
	(void)snprintf(cmd, sizeof(cmd),
	    "printf 'GET http://127.0.0.1:%d/ HTTP/1.0\\r\\n\\r\\n' | "
	    "nc -w 10 127.0.0.1 3128 | grep -q hello && env | grep -q "
	    "^http_proxy=",
	    port);
	json_object_set_new(body, "init", json_pack("{s:s}", "cmd", cmd));
	run_from(body, id);
	run_end(id);
}

/* -- what it is made of ---------------------------------------------------- */

static void
entries_are_checked_shown_and_canonical(void **state)
{
	(void)state;
	REPLY_AUTO bad = http_json("POST", "/v1/runs",
	    json_pack("{s:s,s:s,s:[s,s]}", "image", IMAGE_PLAIN, "network",
		"allowlist", "egressAllow", "a.example", "https://b/x"));
	check_problem(&bad, 400, "invalid_input", "\"https://b/x\"");
	REPLY_AUTO none = http_json("POST", "/v1/runs",
	    json_pack("{s:s,s:[s]}", "image", IMAGE_PLAIN, "egressAllow",
		"a.example"));
	check_problem(&none, 400, "invalid_input", "egressAllow");

	REPLY_AUTO r = http_json("POST", "/v1/runs",
	    json_pack("{s:s,s:s,s:[s,s]}", "image", IMAGE_PLAIN, "network",
		"egress", "egressAllow", ".A.Example.", "b.example:8080"));
	assert_int_equal(r.status, 201);
	assert_string_equal(
	    json_string_value(json_at(r.json, "network")), "allowlist");
	const char *id = json_string_value(json_at(r.json, "id"));
	REPLY_AUTO shown = http_do("GET", run_url(id, ""), NULL, NULL);
	json_auto_t *want = json_pack("[s,s]", ".a.example", "b.example:8080");
	assert_true(json_equal(json_at(shown.json, "egressAllow"), want));
	json_auto_t *c = docker_container(id);
	assert_string_equal(
	    json_string_value(json_object_get(
		json_at(c, "Config.Labels"), "teploy.sandbox.egress")),
	    "[\".a.example\",\"b.example:8080\"]");
	run_end(id);
}

static void
a_run_that_is_gone_leaves_nothing_of_its_proxy(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_from(body_for(port), id);
	pid_t proxy = egress_proxy_of(id);
	assert_true(proxy > 0 && has_directory(id));
	run_end(id);
	assert_false(proc_alive(proxy));
	assert_false(has_directory(id));
	/* At its deadline as well. */
	json_t *body = body_for(port);
	json_object_set_new(body, "ttlSec", json_integer(2));
	run_from(body, id);
	proxy = egress_proxy_of(id);
	assert_true(proxy > 0);
	wait_until(!has_directory(id) && !proc_alive(proxy), END_MS);
	assert_int_equal(egress_proxy_of(id), 0);
}

/* -- what is done to it ---------------------------------------------------- */

static bool
has_new_proxy(const char *id, pid_t old)
{
	pid_t now = egress_proxy_of(id);

	return now != 0 && now != old;
}

static void
a_proxy_that_was_killed_is_started_again(void **state)
{
	pid_t old = egress_proxy_of(lasting);

	(void)state;
	assert_int_equal(kill(old, SIGKILL), 0);
	wait_until(has_new_proxy(lasting, old), KEPT_MS);
	wait_until(reaches(lasting, port), END_MS);
	assert_true(is_denied(lasting, other_port));
}

static void
a_proxy_that_hangs_is_replaced(void **state)
{
	pid_t old = egress_proxy_of(lasting);

	(void)state;
	assert_int_equal(kill(old, SIGSTOP), 0);
	wait_until(has_new_proxy(lasting, old), END_MS);
	wait_until(reaches(lasting, port), END_MS);
}

static void
act_on(const char *id, const char *what)
{
	char path[128], name[ULID_SIZE];

	(void)snprintf(name, sizeof(name), "%s", id);
	str_lower(name);
	(void)snprintf(
	    path, sizeof(path), "/containers/teploy-sbx-%s%s", name, what);
	REPLY_AUTO r = docker_do("POST", path, NULL);
	assert_int_equal(r.status, 204);
}

static void
a_container_restarted_by_hand_gets_a_new_proxy(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_from(body_for(port), id);
	pid_t old = egress_proxy_of(id);
	act_on(id, "/restart?t=0");
	wait_until(has_new_proxy(id, old), KEPT_MS);
	assert_false(proc_alive(old));
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);
	if (str_eq(json_string_value(json_at(r.json, "state")), "running"))
		wait_until(reaches(id, port), END_MS);
	run_end(id);
}

static void
runs_go_on_under_the_lists_of_a_new_configuration(void **state)
{
	char wide[80];

	(void)state;
	pid_t proxy = egress_proxy_of(lasting);
	(void)snprintf(
	    wide, sizeof(wide), "SBX_EGRESS_ALLOW=127.0.0.1:%d", other_port);
	assert_true(is_denied(lasting, other_port));
	stack_set(wide);
	stack_restart(SIGTERM);
	/* Nobody listens there, but it is admitted. */
	wait_until(is_answered(lasting, other_port, "502 "), KEPT_MS);
	stack_set("SBX_EGRESS_ALLOW=box.example");
	stack_restart(SIGTERM);
	wait_until(is_denied(lasting, other_port), KEPT_MS);
	assert_true(reaches(lasting, port));
	assert_int_equal(
	    egress_proxy_of(lasting), proxy); /* it was told, not cut */
}

static void
shell(const char *command)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
entries_that_were_taken_away_are_gone(void **state)
{
	(void)state;
	assert_true(reaches(narrowed, port));
	REPLY_AUTO r = http_do(
	    "PUT", run_url(narrowed, "egress"), "{\"egressAllow\":[]}", NULL);
	assert_int_equal(r.status, 200);
	assert_true(is_denied(narrowed, port));
	assert_true(reaches(lasting, port));
}

/* The host's directory of a run tells more than its labels. */
static void
a_flush_and_the_death_of_everything_lose_no_proxy(void **state)
{
	pid_t old = egress_proxy_of(lasting);
	char erase[160];

	(void)state;
	wait_until(clock_mono_ms() - lasting_since > GRACE_MS, GRACE_MS);
	REPLY_AUTO before = http_do("GET", run_url(lasting, ""), NULL, NULL);
	freeReplyObject(redis_do("FLUSHALL"));
	stack_kill(STACK_STREAM);
	stack_kill(STACK_CONTROL);
	stack_kill(STACK_REAPER);
	assert_int_equal(kill(old, SIGKILL), 0);
	(void)snprintf(
	    erase, sizeof(erase), "rm -r %s/runs/%s", stack.run_dir, lasting);
	shell(erase); /* then the label tells of its entries */
	stack_restart(SIGKILL);
	wait_until(str_eq(views_state(lasting), "running"), END_MS);
	wait_until(str_eq(views_state(narrowed), "running"), END_MS);
	assert_true(is_denied(narrowed, port));
	wait_until(has_new_proxy(lasting, old), KEPT_MS);
	wait_until(reaches(lasting, port), END_MS);
	assert_true(is_denied(lasting, other_port));
	REPLY_AUTO after = http_do("GET", run_url(lasting, ""), NULL, NULL);
	assert_true(json_equal(json_at(before.json, "egressAllow"),
	    json_at(after.json, "egressAllow")));
	assert_true(is_denied(narrowed, port));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_allowed_is_reached_and_nothing_else),
	    cmocka_unit_test(there_is_no_way_but_the_proxy),
	    cmocka_unit_test(a_run_has_no_part_in_anothers_proxy),
	    cmocka_unit_test(
		commands_are_told_of_the_proxy_and_may_be_told_otherwise),
	    cmocka_unit_test(entries_that_were_taken_away_are_gone),
	    cmocka_unit_test(the_init_command_has_the_proxy_already),
	    cmocka_unit_test(entries_are_checked_shown_and_canonical),
	    cmocka_unit_test(a_run_that_is_gone_leaves_nothing_of_its_proxy),
	    cmocka_unit_test(a_proxy_that_was_killed_is_started_again),
	    cmocka_unit_test(a_proxy_that_hangs_is_replaced),
	    cmocka_unit_test(a_container_restarted_by_hand_gets_a_new_proxy),
	    cmocka_unit_test(runs_go_on_under_the_lists_of_a_new_configuration),
	    cmocka_unit_test(a_flush_and_the_death_of_everything_lose_no_proxy),
	};

	return run_on_host_kernel("egress", tests, setup, teardown,
	    "their network stack is their own");
}
