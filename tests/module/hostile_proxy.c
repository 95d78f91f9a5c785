/* The built sbx-proxy, by hand. */
#include "hostile_proxy.h"
#include "../port.h"
#include "../wait.h"
#include "hostile_origin.h"
#include "lib/fd.h"

#include <dirent.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define PATIENCE_MS 10000

static struct {
	pid_t pid;
	int port, closed_port;
	int descriptors; /* at first */
	char dir[64];
} proxy;

static const char hosts[] =
    "127.0.0.1 a.test b.test a_b.test sub.test x.sub.test y.x.sub.test\n"
    "127.0.0.1 denied.test x.a.test evilsub.test evila.test closed.test\n"
    "127.0.0.2 loop.test\n"
    "0.0.0.0 zero.test\n"
    "10.0.0.1 ten.test\n"
    "100.64.0.1 cgnat.test\n"
    "168.63.129.16 azure.test\n"
    "169.254.169.254 meta.test mixed.test\n"
    "127.0.0.1 mixed.test\n"
    "224.0.0.1 multi.test\n"
    "::1 six.test\n"
    "::ffff:10.0.0.1 mapped.test\n"
    "64:ff9b::a9fe:a9fe nat64.test\n"
    "2001::1 teredo.test\n"
    "2002:a9fe:a9fe::1 sixtofour.test\n"
    "fd00::1 ula.test\n"
    "fe80::1 link.test\n";

static const char policy[] =
    "a.test:{p}\nb.test:{p}\na_b.test:{p}\n.sub.test:{p}\n127.0.0.3:{p}\n"
    "closed.test:{c}\nnx.test:{p}\nloop.test:{p}\nzero.test:{p}\n"
    "ten.test:{p}\ncgnat.test:{p}\nazure.test:{p}\nmeta.test:{p}\n"
    "mixed.test:{p}\nmulti.test:{p}\nsix.test:{p}\nmapped.test:{p}\n"
    "nat64.test:{p}\nteredo.test:{p}\nsixtofour.test:{p}\nula.test:{p}\n"
    "link.test:{p}\nprivate 127.0.0.1\n";

void
hostile_fill_in(struct buf *out, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		int port = 0;

		if (size - i >= 3 && bytes[i] == '{' && bytes[i + 2] == '}')
			port = bytes[i + 1] == 'p'   ? origin_port()
			       : bytes[i + 1] == 'c' ? proxy.closed_port
			       : bytes[i + 1] == 'x' ? proxy.port
						     : 0;
		if (port == 0) {
			buf_addc(out, bytes[i]);
			continue;
		}
		buf_addf(out, "%d", port);
		i += 2;
	}
}

/* A file of the proxy's with that text; its path is in *path. */
static void
write_file(const char *name, const char *text, char path[128])
{
	BUF_AUTO filled = BUF_INIT(65536);
	struct err e = ERR_INIT;

	hostile_fill_in(&filled, text, strlen(text));
	(void)snprintf(path, 128, "%s/%s", proxy.dir, name);
	check_ok(fd_write_file(path, 0644, filled.data, filled.size, &e), &e);
}

int
hostile_connect_proxy(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)proxy.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		fd_close(&fd);
	return fd;
}

static bool
listens(void)
{
	FD_AUTO fd = hostile_connect_proxy();

	return fd >= 0;
}

/* Its descriptors; 0 where nobody may look. */
static int
count_descriptors(void)
{
	char path[64];
	int count = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)proxy.pid);
	DIR *d = opendir(path);
	while (d != NULL && readdir(d) != NULL)
		count++;
	if (d != NULL)
		(void)closedir(d);
	return count;
}

int
hostile_start(void **state)
{
	const char *build = getenv("SBX_TEST_BUILD");
	char program[4096], listen[64], resolv_text[64];
	char policy_path[128], hosts_path[128], resolv_path[128];

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)snprintf(proxy.dir, sizeof(proxy.dir), "/tmp/sbx-hostile-XXXXXX");
	assert_non_null(mkdtemp(proxy.dir));
	origin_start();
	proxy.port = port_free();
	proxy.closed_port = port_free();
	(void)snprintf(resolv_text, sizeof(resolv_text),
	    "nameserver 127.0.0.1:%d\n", origin_dns_port());
	write_file("policy", policy, policy_path);
	write_file("hosts", hosts, hosts_path);
	write_file("resolv", resolv_text, resolv_path);
	(void)snprintf(program, sizeof(program), "%s/sbx-proxy",
	    build != NULL ? build : "build");
	(void)snprintf(listen, sizeof(listen), "127.0.0.1:%d", proxy.port);
	char *argv[] = {program, "--listen", listen, "--policy", policy_path,
	    "--hosts", hosts_path, "--resolv", resolv_path, "--head-ms", "4000",
	    NULL};
	/* A search for leaks takes what a confined process may not do. */
	char leaks[] = "ASAN_OPTIONS=detect_leaks=0";
	char *env[] = {leaks, NULL};
	assert_int_equal(
	    posix_spawn(&proxy.pid, program, NULL, NULL, argv, env), 0);
	wait_until(listens(), PATIENCE_MS);
	/* That of listens() may still be among them, but no other. */
	proxy.descriptors = count_descriptors();
	return 0;
}

int
hostile_stop(void **state)
{
	int status = 0;
	char path[128];
	static const char *const files[] = {"policy", "hosts", "resolv"};

	(void)state;
	if (proxy.pid > 0) {
		wait_until(
		    count_descriptors() <= proxy.descriptors, PATIENCE_MS);
		assert_int_equal(waitpid(proxy.pid, &status, WNOHANG), 0);
		(void)kill(proxy.pid, SIGTERM);
		assert_int_equal(waitpid(proxy.pid, &status, 0), proxy.pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	origin_stop();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(
		    path, sizeof(path), "%s/%s", proxy.dir, files[i]);
		(void)unlink(path);
	}
	return rmdir(proxy.dir);
}
