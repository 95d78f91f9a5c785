/* What carries bytes to the origin. */
#include "relay.h"
#include "../check.h"
#include "../port.h"
#include "../wait.h"
#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define PIPE_BYTES (256 * 1024)

const char *const relay_name[RELAY_KINDS] = {
    "direct", "splice loop", "ours", "tinyproxy", "squid"};

static int
connect_to(int port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* -- a bare splice loop ---------------------------------------------------- */

/* The first bytes of the client, then all of the origin's. */
static void
splice_one(int client, int origin)
{
	char request[256];
	ssize_t n = recv(client, request, sizeof(request), 0);
	int pipes[2];

	if (n <= 0 || send(origin, request, (size_t)n, MSG_NOSIGNAL) != n ||
	    pipe2(pipes, O_CLOEXEC) != 0)
		return;
	(void)fcntl(pipes[1], F_SETPIPE_SZ, PIPE_BYTES);
	while ((n = splice(
		    origin, NULL, pipes[1], NULL, 1 << 20, SPLICE_F_MOVE)) > 0)
		while (n > 0) {
			ssize_t sent = splice(pipes[0], NULL, client, NULL,
			    (size_t)n, SPLICE_F_MOVE);

			if (sent <= 0)
				break;
			n -= sent;
		}
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

static void
loop(int listener, int origin_port)
{
	for (;;) {
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		int origin = connect_to(origin_port);

		splice_one(client, origin);
		(void)close(client);
		(void)close(origin);
	}
}

static int
listen_at(int port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

/* -- proxies --------------------------------------------------------------- */

static void
put_file(const struct relay *r, const char *name, const char *text)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	check_ok(fd_write_file(path, 0644, text, strlen(text), &e), &e);
}

static void
put_ours(const struct relay *r)
{
	BUF_AUTO text = BUF_INIT(4096);

	buf_addf(&text, "127.0.0.1:%d\norigin.test:%d\nprivate 127.0.0.0/8\n",
	    r->origin_port, r->origin_port);
	put_file(r, "policy", text.data);
	put_file(r, "hosts", "127.0.0.1 origin.test\n");
	put_file(r, "resolv", "nameserver 127.0.0.1\n");
}

static void
put_tinyproxy(const struct relay *r)
{
	BUF_AUTO text = BUF_INIT(4096);

	buf_addf(&text,
	    "Port %d\nListen 127.0.0.1\nTimeout 600\nMaxClients 2000\n"
	    "LogLevel Critical\nLogFile \"%s/log\"\n",
	    r->port, r->dir);
	put_file(r, "conf", text.data);
}

static void
put_squid(const struct relay *r)
{
	BUF_AUTO text = BUF_INIT(4096);

	buf_addf(&text,
	    "http_port 127.0.0.1:%d\nhttp_access allow all\ncache deny all\n"
	    "access_log none\ncache_log /dev/null\ncache_store_log none\n"
	    "pid_filename none\nshutdown_lifetime 0 seconds\n"
	    "coredump_dir %s\ncache_mem 8 MB\nnetdb_filename none\n"
	    "via off\nforwarded_for delete\n"
	    "max_filedescriptors 8192\n",
	    r->port, r->dir);
	put_file(r, "conf", text.data);
}

/* In the child; where it is not installed it ends. */
static void
run(const struct relay *r)
{
	const char *build = getenv("SBX_TEST_BUILD");
	char program[4096], at[32];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)snprintf(program, sizeof(program), "%s/sbx-proxy",
	    build != NULL ? build : "build");
	(void)snprintf(at, sizeof(at), "127.0.0.1:%d", r->port);
	if (r->kind == RELAY_OURS && build != NULL && build[0] != '/') {
		char *full = realpath(program, NULL);

		(void)snprintf(program, sizeof(program), "%s", full);
		free(full);
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(null, STDERR_FILENO);
	(void)!chdir(r->dir);
	if (r->kind == RELAY_OURS)
		(void)execl(program, program, "--listen", at, "--policy",
		    "policy", "--hosts", "hosts", "--resolv", "resolv",
		    "--connections", "4096", (char *)NULL);
	else if (r->kind == RELAY_TINYPROXY)
		(void)execl("/usr/bin/tinyproxy", "tinyproxy", "-d", "-c",
		    "conf", (char *)NULL);
	else
		(void)execl("/usr/sbin/squid", "squid", "-N", "-f", "conf",
		    (char *)NULL);
	_exit(127);
}

static void
start(struct relay *r)
{
	if (r->kind == RELAY_LOOP) {
		int listener = listen_at(r->port);

		r->pid = fork();
		assert_true(r->pid >= 0);
		if (r->pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			loop(listener, r->origin_port);
		}
		(void)close(listener);
		return;
	}
	r->pid = fork();
	assert_true(r->pid >= 0);
	if (r->pid == 0)
		run(r);
}

struct relay
relay_start(enum relay_kind kind, int origin_port)
{
	struct relay r = {.kind = kind,
	    .there = true,
	    .dir = "/tmp/sbx-bench-XXXXXX",
	    .port = kind == RELAY_DIRECT ? origin_port : port_free(),
	    .origin_port = origin_port};
	int fd = -1;

	if (kind == RELAY_DIRECT)
		return r;
	assert_non_null(mkdtemp(r.dir));
	assert_int_equal(chmod(r.dir, 0755), 0);
	if (kind == RELAY_OURS)
		put_ours(&r);
	else if (kind == RELAY_TINYPROXY)
		put_tinyproxy(&r);
	else if (kind == RELAY_SQUID)
		put_squid(&r);
	start(&r);
	if (kind == RELAY_LOOP)
		return r;
	wait_until((fd = connect_to(r.port)) >= 0 ||
		       waitpid(r.pid, NULL, WNOHANG) == r.pid,
	    PATIENCE_MS);
	r.there = fd >= 0;
	if (r.there)
		(void)close(fd);
	return r;
}

void
relay_stop(struct relay *r)
{
	static const char *const files[] = {
	    "policy", "hosts", "resolv", "conf", "log"};
	char path[128];

	if (r->kind == RELAY_DIRECT)
		return;
	if (r->there) {
		(void)kill(r->pid, SIGKILL);
		(void)waitpid(r->pid, NULL, 0);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", r->dir, files[i]);
		(void)unlink(path);
	}
	(void)rmdir(r->dir);
}

double
relay_start_ms(enum relay_kind kind, int origin_port)
{
	struct relay r = {.kind = kind,
	    .there = true,
	    .dir = "/tmp/sbx-bench-XXXXXX",
	    .port = port_free(),
	    .origin_port = origin_port};
	int64_t begin;
	double ms;
	int fd;

	assert_non_null(mkdtemp(r.dir));
	put_ours(&r);
	begin = clock_mono_us();
	start(&r);
	while ((fd = connect_to(r.port)) < 0)
		assert_true(clock_mono_us() - begin < PATIENCE_MS * 1000);
	ms = (double)(clock_mono_us() - begin) / 1000;
	(void)close(fd);
	relay_stop(&r);
	return ms;
}

/* -- talking --------------------------------------------------------------- */

int
relay_connect(const struct relay *r)
{
	int fd = connect_to(r->port);

	assert_true(fd >= 0);
	return fd;
}

int
relay_tunnel(const struct relay *r)
{
	char text[512] = "";
	int fd = relay_connect(r);
	size_t size = 0;

	if (r->kind == RELAY_DIRECT || r->kind == RELAY_LOOP)
		return fd;
	(void)snprintf(text, sizeof(text),
	    "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
	    r->origin_port, r->origin_port);
	assert_int_equal(
	    send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	memset(text, 0, sizeof(text));
	while (strstr(text, "\r\n\r\n") == NULL) {
		ssize_t n = recv(fd, text + size, 1, 0);

		assert_int_equal(n, 1);
		size += (size_t)n;
		assert_true(size < sizeof(text) - 1);
	}
	assert_non_null(strstr(text, " 200 "));
	return fd;
}

void
relay_request(const struct relay *r, bool keep, char *to, unsigned size)
{
	char begin[64] = "";

	if (r->kind != RELAY_DIRECT)
		(void)snprintf(begin, sizeof(begin), "http://127.0.0.1:%d",
		    r->origin_port);
	(void)snprintf(to, size,
	    "GET %s/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
	    "User-Agent: bench\r\nAccept: */*\r\n%s\r\n",
	    begin, r->origin_port, keep ? "" : "Connection: close\r\n");
}

double
relay_pss(const struct relay *r)
{
	char path[48], line[128];
	double kib = 0;

	(void)snprintf(
	    path, sizeof(path), "/proc/%d/smaps_rollup", (int)r->pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (str_starts(line, "Pss:"))
			kib = strtod(line + 4, NULL);
	(void)fclose(f);
	return kib;
}
