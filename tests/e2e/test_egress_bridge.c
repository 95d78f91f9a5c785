/* Allowlist runs with a network of their own (SBX_EGRESS_MODE=bridge): what
 * they reach is their proxy, whatever else this box listens at. */
#include "../port.h"
#include "egress.h"
#include "harness.h"

#include "lib/address.h"
#include "lib/fd.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEPT_MS 30000 /* some rounds of the reaper's sweep */

/* One reaches `port` on this box's loopback, the other does not. */
static char allowed[ULID_SIZE], other[ULID_SIZE];
static int port, any_port;
static int any[4]; /* on every address of this box: TCP and UDP, 4 and 6 */

/* -- this box -------------------------------------------------------------- */

static int
listen_everywhere(int family, int type)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6,
	    .sin6_port = htons((uint16_t)any_port),
	    .sin6_addr = in6addr_any};
	struct sockaddr_in four = {
	    .sin_family = AF_INET, .sin_port = htons((uint16_t)any_port)};
	int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd < 0 && family == AF_INET6)
		return -1; /* a kernel without */
	if (family == AF_INET6) {
		assert_int_equal(
		    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)),
		    0);
		assert_int_equal(bind(fd, (void *)&six, sizeof(six)), 0);
	} else {
		assert_int_equal(bind(fd, (void *)&four, sizeof(four)), 0);
	}
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 64), 0);
	return fd;
}

/* Something came to one of them. */
static bool
was_reached(void)
{
	char byte;
	bool reached = false;

	for (int i = 0; i < 4; i++) {
		FD_AUTO fd =
		    i % 2 == 0 ? accept4(any[i], NULL, NULL, SOCK_CLOEXEC) : -1;

		reached = reached || fd >= 0 ||
			  (i % 2 == 1 && recv(any[i], &byte, 1, 0) >= 0);
	}
	return reached;
}

static struct reply
network_of(const char *id)
{
	char path[96], name[ULID_SIZE];

	(void)snprintf(name, sizeof(name), "%s", id);
	str_lower(name);
	(void)snprintf(path, sizeof(path), "/networks/teploy-sbx-%s", name);
	return docker_do("GET", path, NULL);
}

/* The proxy's address, and the run's, as the engine knows them. */
static void
addresses_of(const char *id, char gateway[64], char own[64])
{
	REPLY_AUTO r = network_of(id);
	const json_t *config =
	    json_array_get(json_at(r.json, "IPAM.Config"), 0);
	json_t *containers = json_object_get(r.json, "Containers");
	const char *text = json_string_value(json_object_get(
	    json_object_iter_value(json_object_iter(containers)),
	    "IPv4Address"));

	(void)snprintf(gateway, 64, "%s",
	    json_string_value(json_object_get(config, "Gateway")));
	(void)snprintf(own, 64, "%.*s", (int)strcspn(text, "/"), text);
}

/* -- the stack ------------------------------------------------------------- */

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_EGRESS_MODE=bridge", NULL};
	char entry[40];

	(void)state;
	port = egress_server();
	any_port = port_free();
	for (int i = 0; i < 4; i++)
		any[i] = listen_everywhere(i < 2 ? AF_INET : AF_INET6,
		    i % 2 == 0 ? SOCK_STREAM : SOCK_DGRAM);
	stack_start(env);
	image_need(IMAGE_PLAIN);
	(void)snprintf(entry, sizeof(entry), "127.0.0.1:%d", port);
	egress_new(entry, allowed);
	egress_new(NULL, other);
	return 0;
}

static int
teardown(void **state)
{
	run_end(allowed);
	run_end(other);
	return stack_stop(state);
}

static int
fetch(const char *id)
{
	char to[40];

	(void)snprintf(to, sizeof(to), "127.0.0.1:%d", port);
	return egress_fetch(id, to);
}

/* -- what is reached ------------------------------------------------------- */

static void
what_is_allowed_is_reached_and_nothing_else(void **state)
{
	char gateway[64], own[64], want[100];

	(void)state;
	assert_int_equal(fetch(allowed), 200);
	assert_int_equal(fetch(other), 403);
	addresses_of(allowed, gateway, own);
	EXECUTED_AUTO x = exec_sh(allowed, "env | grep -i _proxy= | sort");
	(void)snprintf(
	    want, sizeof(want), "HTTPS_PROXY=http://%s:3128\n", gateway);
	assert_non_null(strstr(x.out.data, want));
	(void)snprintf(
	    want, sizeof(want), "\nhttp_proxy=http://%s:3128\n", gateway);
	assert_non_null(strstr(x.out.data, want));
}

/* Try an address at some ports, with TCP and UDP, all at once. */
static void
add_try(struct buf *cmd, const char *address, const char *ports)
{
	buf_addf(cmd,
	    "for p in %s; do nc -w 1 %s $p -e touch /tmp/reached-%s-$p "
	    ">/dev/null 2>&1 & nslookup -timeout=1 -port=$p a.example %s "
	    ">/dev/null 2>&1 & done\n",
	    ports, address, address, address);
}

static void
add_box(struct buf *cmd)
{
	char text[INET6_ADDRSTRLEN], ports[16];
	struct ifaddrs *list;

	(void)snprintf(ports, sizeof(ports), "%d", any_port);
	assert_int_equal(getifaddrs(&list), 0);
	for (struct ifaddrs *a = list; a != NULL; a = a->ifa_next) {
		if (a->ifa_addr == NULL)
			continue;
		int family = a->ifa_addr->sa_family;
		const void *bytes =
		    family == AF_INET
			? (void *)&((struct sockaddr_in *)(void *)a->ifa_addr)
			      ->sin_addr
			: (void *)&((struct sockaddr_in6 *)(void *)a->ifa_addr)
			      ->sin6_addr;

		if ((family == AF_INET || family == AF_INET6) &&
		    inet_ntop(family, bytes, text, sizeof(text)) != NULL)
			add_try(cmd, text, ports);
	}
	freeifaddrs(list);
}

/* Else the next would mean nothing. */
static void
a_run_without_a_proxy_reaches_this_box(void **state)
{
	BUF_AUTO cmd = BUF_INIT(16384);
	char open_run[ULID_SIZE];

	(void)state;
	run_from(
	    json_pack("{s:s,s:s}", "image", IMAGE_PLAIN, "network", "open"),
	    open_run);
	add_box(&cmd);
	buf_adds(&cmd, "wait; ls /tmp");
	EXECUTED_AUTO x = exec_sh(open_run, cmd.data);
	assert_true(str_starts(x.out.data, "reached-"));
	assert_true(was_reached());
	while (was_reached())
		;
	run_end(open_run);
}

static void
nothing_of_this_box_or_of_other_runs_is_reached(void **state)
{
	char gateway[64], own[64], its_gateway[64], its[64], ports[64];
	BUF_AUTO cmd = BUF_INIT(16384);

	(void)state;
	addresses_of(allowed, gateway, own);
	addresses_of(other, its_gateway, its);
	(void)snprintf(
	    ports, sizeof(ports), "22 53 80 %d %d", any_port, stack.port);
	add_box(&cmd);
	add_try(&cmd, gateway, ports);
	add_try(&cmd, "169.254.169.254", "80");
	add_try(&cmd, its, ports);
	add_try(&cmd, its_gateway, "3128");
	buf_adds(&cmd, "wait; ls /tmp; echo tried");
	EXECUTED_AUTO x = exec_sh(allowed, cmd.data);
	assert_string_equal(x.out.data, "tried\n");
	assert_false(was_reached());
}

static void
its_link_ends_where_it_begins(void **state)
{
	char path[100];

	(void)state;
	EXECUTED_AUTO x = exec_sh(allowed, "ls /sys/class/net");
	/* gVisor shows what it took over when it began. */
	assert_string_equal(
	    x.out.data, stack_gvisor() ? "eth0\nlo\n" : "eth0\nlo\nsbx0\n");
	/* Nothing is on the bridge that the engine made for it. */
	REPLY_AUTO r = network_of(allowed);
	assert_true(json_is_true(json_at(r.json, "Internal")));
	(void)snprintf(path, sizeof(path), "/sys/class/net/br-%.12s/brif",
	    json_string_value(json_at(r.json, "Id")));
	DIR *dir = opendir(path);
	assert_non_null(dir);
	for (struct dirent *d; (d = readdir(dir)) != NULL;)
		assert_true(d->d_name[0] == '.');
	(void)closedir(dir);
	json_auto_t *c = docker_container(allowed);
	char *dropped =
	    json_dumps(json_at(c, "HostConfig.CapDrop"), JSON_ENCODE_ANY);
	assert_non_null(strstr(dropped, "NET_RAW"));
	free(dropped);
}

/* A name server in the run's network namespace. */
static int
serve_names(const char *id, const char *address)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(53)};
	json_auto_t *c = docker_container(id);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%lld/ns/net",
	    (long long)json_integer_value(json_at(c, "State.Pid")));
	FD_AUTO own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	FD_AUTO there = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
	assert_int_equal(setns(there, CLONE_NEWNET), 0);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool bound = bind(fd, (const void *)&at, sizeof(at)) == 0;
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	assert_true(bound);
	return fd;
}

/* Docker has a resolver in the run. What it passes on goes where the run itself
 * could answer, and to nobody else. */
static void
a_query_does_not_leave_the_run(void **state)
{
	static const char ask[] =
	    "cat /etc/resolv.conf; nslookup -timeout=1 a.example; echo $?";
	char gateway[64], own[64], query[512] = "";

	(void)state;
	addresses_of(other, gateway, own);
	FD_AUTO names = serve_names(other, gateway);
	EXECUTED_AUTO x = exec_sh(other, ask);
	assert_true(str_starts(x.out.data, "nameserver 127.0.0.11\n"));
	assert_non_null(strstr(x.out.data, "\n1\n"));
	if (stack_gvisor()) /* its loopback has no resolver of Docker's */
		return;
	struct pollfd p = {names, POLLIN, 0};
	assert_int_equal(poll(&p, 1, KEPT_MS), 1);
	assert_true(recv(names, query, sizeof(query), 0) > 0);
	assert_non_null(memmem(
	    query, sizeof(query), "\1a\7example", sizeof("\1a\7example")));
}

/* -- its life -------------------------------------------------------------- */

static void
a_run_that_is_gone_leaves_no_network(void **state)
{
	char run[ULID_SIZE];

	(void)state;
	egress_new(NULL, run);
	REPLY_AUTO r = network_of(run);
	assert_int_equal(r.status, 200);
	run_end(run);
	REPLY_AUTO gone = network_of(run);
	assert_int_equal(gone.status, 404);
}

static bool
has_new_proxy(const char *id, pid_t old)
{
	pid_t now = egress_proxy_of(id);

	return now != 0 && now != old;
}

static void
a_proxy_that_died_is_started_again_in_its_place(void **state)
{
	pid_t old = egress_proxy_of(allowed);

	(void)state;
	assert_true(old > 0);
	assert_int_equal(kill(old, SIGKILL), 0);
	/* What it was made by holds, not what holds for new ones. */
	stack_set("SBX_EGRESS_MODE=netns");
	stack_restart(SIGTERM);
	wait_until(has_new_proxy(allowed, old), KEPT_MS);
	wait_until(fetch(allowed) == 200, KEPT_MS);
	assert_int_equal(fetch(other), 403);
}

static void
a_proxy_that_nobody_finds_makes_room(void **state)
{
	pid_t old = egress_proxy_of(allowed);
	char path[128];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/runs/%s/egress.sock",
	    stack.run_dir, allowed);
	assert_int_equal(unlink(path), 0);
	wait_until(has_new_proxy(allowed, old), KEPT_MS);
	assert_false(proc_alive(old));
	wait_until(fetch(allowed) == 200, KEPT_MS);
}

/* The link of a container that was restarted by hand is another, and open. */
static void
what_begins_after_a_restart_by_hand_has_a_proxy(void **state)
{
	pid_t reaper, old = egress_proxy_of(other);
	char path[96], name[ULID_SIZE];

	(void)state;
	assert_int_equal(stack_pids(STACK_REAPER, &reaper, 1), 1);
	assert_int_equal(kill(reaper, SIGSTOP), 0);
	(void)snprintf(name, sizeof(name), "%s", other);
	str_lower(name);
	(void)snprintf(
	    path, sizeof(path), "/containers/teploy-sbx-%s/restart?t=0", name);
	REPLY_AUTO r = docker_do("POST", path, NULL);
	assert_int_equal(r.status, 204);
	EXECUTED_AUTO x = exec_sh(other, "echo hi");
	bool confined = has_new_proxy(other, old);
	assert_int_equal(kill(reaper, SIGCONT), 0);
	assert_string_equal(x.out.data, "hi\n");
	assert_true(confined);
	assert_int_equal(fetch(other), 403);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_allowed_is_reached_and_nothing_else),
	    cmocka_unit_test(a_run_without_a_proxy_reaches_this_box),
	    cmocka_unit_test(nothing_of_this_box_or_of_other_runs_is_reached),
	    cmocka_unit_test(its_link_ends_where_it_begins),
	    cmocka_unit_test(a_query_does_not_leave_the_run),
	    cmocka_unit_test(a_run_that_is_gone_leaves_no_network),
	    cmocka_unit_test(a_proxy_that_died_is_started_again_in_its_place),
	    cmocka_unit_test(a_proxy_that_nobody_finds_makes_room),
	    cmocka_unit_test(what_begins_after_a_restart_by_hand_has_a_proxy),
	};

	if (stack_gvisor() && getenv("SBX_TEST_NETSTACK") == NULL)
		return stack_skip("egress_bridge", tests,
		    sizeof(tests) / sizeof(tests[0]),
		    "it has loopback and nothing else (SBX_TEST_NETSTACK)");
	return cmocka_run_group_tests_name(
	    "egress_bridge", tests, setup, teardown);
}
