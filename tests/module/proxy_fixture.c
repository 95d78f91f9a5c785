/* The built sbx-proxy, its origin and its name server. */
#include "proxy_fixture.h"
#include "../port.h"
#include "../wait.h"
#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define OPTIONS_MOST 32
#define POLICY_USUAL "origin.test:$O\nother.test:$O\nprivate 127.0.0.0/8\n"

/* -- sockets --------------------------------------------------------------- */

static struct sockaddr_in
loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* That port, or with 0 a free one, which goes to *ret_port. */
static int
open_port(int type, int *ret_port)
{
	struct sockaddr_in addr = loopback(*ret_port);
	socklen_t size = sizeof(addr);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &size), 0);
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

/* A port of datagrams that are refused: only port 1 may send there. */
static int
open_closed_port(int *ret_port)
{
	struct sockaddr_in peer = loopback(1);
	int fd = open_port(SOCK_DGRAM, ret_port);

	assert_int_equal(
	    connect(fd, (struct sockaddr *)&peer, sizeof(peer)), 0);
	return fd;
}

static bool
is_readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

void
proxy_must_be_readable(int fd, const char *what)
{
	if (!is_readable(fd, PATIENCE_MS))
		fail_msg("waited in vain for %s", what);
}

static int
connect_to(int port)
{
	struct sockaddr_in addr = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	assert_true(fd >= 0);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* -- the proxy ------------------------------------------------------------- */

const char *
proxy_path(const struct proxy_fixture *f, const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return path;
}

/* With "$O", "$R" and "$P" replaced. */
static void
put_ports(const struct proxy_fixture *f, const char *text, struct buf *out)
{
	for (; *text != '\0'; text++)
		if (str_starts(text, "$O"))
			buf_addf(out, "%d", f->origin_port), text++;
		else if (str_starts(text, "$R"))
			buf_addf(out, "%d", f->refused_port), text++;
		else if (str_starts(text, "$P"))
			buf_addf(out, "%d", f->port), text++;
		else
			buf_addc(out, *text);
}

void
proxy_put(const struct proxy_fixture *f, const char *name, const char *text)
{
	BUF_AUTO out = BUF_INIT(1 << 20);
	struct err e = ERR_INIT;

	put_ports(f, text, &out);
	check_ok(
	    fd_write_file(proxy_path(f, name), 0644, out.data, out.size, &e),
	    &e);
}

static void
run_proxy(const struct proxy_fixture *f, const char *const *more)
{
	const char *build = getenv("SBX_TEST_BUILD");
	char program[PATH_MAX], listen_at[32], policy[128], resolv[128],
	    hosts[128];
	const char *argv[OPTIONS_MOST] = {program, "--listen", listen_at,
	    "--policy", policy, "--resolv", resolv, "--hosts", hosts};
	size_t count = 9;

	/* Made absolute, for the directory is another. */
	if (realpath(build != NULL ? build : "build", program) == NULL)
		_exit(127);
	(void)strncat(
	    program, "/sbx-proxy", sizeof(program) - strlen(program) - 1);
	(void)snprintf(listen_at, sizeof(listen_at), "127.0.0.1:%d", f->port);
	(void)snprintf(policy, sizeof(policy), "%s/policy", f->dir);
	(void)snprintf(resolv, sizeof(resolv), "%s/resolv", f->dir);
	(void)snprintf(hosts, sizeof(hosts), "%s/hosts", f->dir);
	while (more != NULL && *more != NULL && count < OPTIONS_MOST - 1)
		argv[count++] = *more++;
	argv[count] = NULL;
	int log = open(proxy_path(f, "log"),
	    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	/* Who is confined cannot look for leaks. */
	(void)setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(log, STDERR_FILENO);
	(void)!chdir(f->dir);
	(void)execv(program, (char *const *)(uintptr_t)argv);
	_exit(127);
}

void
proxy_start(
    struct proxy_fixture *f, const char *policy, const char *const *more)
{
	char text[128];
	int names_port = 0, closed_port = 0, fd;

	*f = (struct proxy_fixture){.dir = "/tmp/sbx-proxy-XXXXXX"};
	(void)signal(SIGPIPE, SIG_IGN);
	assert_non_null(mkdtemp(f->dir));
	f->origin = open_port(SOCK_STREAM, &f->origin_port);
	assert_int_equal(listen(f->origin, 128), 0);
	f->names_stream = open_port(SOCK_STREAM, &names_port);
	assert_int_equal(listen(f->names_stream, 4), 0);
	f->names = open_port(SOCK_DGRAM, &names_port);
	f->refused_port = port_free();
	f->port = port_free();
	proxy_put(f, "policy", policy != NULL ? policy : POLICY_USUAL);
	proxy_put(
	    f, "hosts", "127.0.0.1 origin.test other.test refused.test\n");
	(void)snprintf(
	    text, sizeof(text), "nameserver 127.0.0.1:%d\n", names_port);
	proxy_put(f, "resolv", text);
	f->closed = open_closed_port(&closed_port);
	(void)snprintf(
	    text, sizeof(text), "nameserver 127.0.0.1:%d\n", closed_port);
	proxy_put(f, "resolv.closed", text);
	(void)snprintf(text, sizeof(text),
	    "nameserver 127.0.0.1:%d\nnameserver 127.0.0.1:%d\n", closed_port,
	    names_port);
	proxy_put(f, "resolv.second", text);
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid == 0)
		run_proxy(f, more);
	wait_until((fd = connect_to(f->port)) >= 0 ||
		       waitpid(f->pid, NULL, WNOHANG) > 0,
	    PATIENCE_MS);
	if (fd < 0)
		fail_msg("the proxy ended; see %s", proxy_path(f, "log"));
	(void)close(fd);
}

void
proxy_stop(struct proxy_fixture *f)
{
	static const char *const files[] = {"policy", "hosts", "resolv",
	    "resolv.closed", "resolv.second", "log", "control"};
	int status;

	(void)kill(f->pid, SIGTERM);
	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	if (status != 0 && !f->cut)
		fail_msg("status %x; see %s", (unsigned)status,
		    proxy_path(f, "log"));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(proxy_path(f, files[i]));
	assert_int_equal(rmdir(f->dir), 0);
	(void)close(f->origin);
	(void)close(f->closed);
	(void)close(f->names);
	(void)close(f->names_stream);
}

int
proxy_descriptors(const struct proxy_fixture *f)
{
	char path[32];
	int count = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)f->pid);
	DIR *dir = opendir(path);
	if (dir == NULL)
		return -1;
	while (readdir(dir) != NULL)
		count++;
	(void)closedir(dir);
	return count;
}

/* -- talking --------------------------------------------------------------- */

int
proxy_call(const struct proxy_fixture *f)
{
	int fd = connect_to(f->port);

	assert_true(fd >= 0);
	return fd;
}

int
proxy_answer(const struct proxy_fixture *f)
{
	proxy_must_be_readable(f->origin, "a connection to the origin");
	int fd = accept4(f->origin, NULL, NULL, SOCK_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

int
proxy_black_hole(int *ret_port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET}; /* all of loopback */
	socklen_t size = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, size), 0);
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &size), 0);
	for (int i = 0; i < 4; i++) {
		int one = socket(
		    AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		/* It stays open until the test ends. */
		if (connect(one, (struct sockaddr *)&addr, size) != 0)
			assert_int_equal(errno, EINPROGRESS);
	}
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

void
proxy_is_quiet(const struct proxy_fixture *f)
{
	assert_false(is_readable(f->origin, 0));
}

int
proxy_tunnel(const struct proxy_fixture *f, const char *host, int *ret_origin)
{
	char text[512];
	int fd = proxy_call(f);

	(void)snprintf(text, sizeof(text),
	    "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host);
	proxy_say(f, fd, text);
	*ret_origin = proxy_answer(f);
	assert_true(str_starts(proxy_head(fd), "HTTP/1.1 200 "));
	return fd;
}

void
proxy_send(int fd, const void *bytes, size_t size)
{
	struct err e = ERR_INIT;

	check_ok(
	    fd_write_all(fd, bytes, size, clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
}

void
proxy_say(const struct proxy_fixture *f, int fd, const char *text)
{
	BUF_AUTO out = BUF_INIT(1 << 20);

	put_ports(f, text, &out);
	proxy_send(fd, out.data, out.size);
}

/* A byte, or -1 at the end; a reset is an end where it may be. */
static int
hear_byte(int fd, bool may_be_reset)
{
	unsigned char byte;

	proxy_must_be_readable(fd, "bytes");
	ssize_t n = recv(fd, &byte, 1, 0);

	if (n < 0 && !(may_be_reset && errno == ECONNRESET))
		fail_msg("recv: %s", strerror(errno));
	return n == 1 ? byte : -1;
}

const char *
proxy_head(int fd)
{
	static char heads[2][PROXY_TEXT];
	static int which;
	char *head = heads[which = !which];
	size_t size = 0;

	head[0] = '\0';
	while (size < PROXY_TEXT - 1 && !str_ends(head, "\r\n\r\n")) {
		int byte = hear_byte(fd, false);

		if (byte < 0)
			fail_msg("it ends behind \"%s\"", head);
		head[size++] = (char)byte;
		head[size] = '\0';
	}
	return head;
}

void
proxy_hear(int fd, const char *text)
{
	char heard[PROXY_TEXT];
	size_t size = 0;

	while (size < strlen(text)) {
		int byte = hear_byte(fd, false);

		if (byte < 0)
			break;
		heard[size++] = (char)byte;
	}
	heard[size] = '\0';
	assert_string_equal(heard, text);
}

const char *
proxy_rest(int fd)
{
	static char heard[PROXY_TEXT];
	size_t size = 0;
	int byte;

	while ((byte = hear_byte(fd, false)) >= 0 && size < PROXY_TEXT - 1)
		heard[size++] = (char)byte;
	heard[size] = '\0';
	return heard;
}

void
proxy_hear_end(int fd)
{
	assert_int_equal(hear_byte(fd, true), -1);
}
