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

static bool
is_readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

static void
must_be_readable(int fd, const char *what)
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
	char text[64];
	int names_port = 0, fd;

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
	static const char *const files[] = {
	    "policy", "hosts", "resolv", "log", "control"};
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
	must_be_readable(f->origin, "a connection to the origin");
	int fd = accept4(f->origin, NULL, NULL, SOCK_CLOEXEC);

	assert_true(fd >= 0);
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

	must_be_readable(fd, "bytes");
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

/* -- names ----------------------------------------------------------------- */

#define HEADER 12 /* RFC 1035 4.1.1 */
#define TYPE_A 1
#define TYPE_AAAA 28
#define NO_SUCH_NAME 3

/* The name of a query as text; where it ends. */
static size_t
read_name(const unsigned char *query, size_t size, char *to)
{
	size_t at = HEADER;

	while (at < size && query[at] != 0 && at + query[at] < size) {
		memcpy(to, query + at + 1, query[at]);
		to += query[at];
		*to++ = '.';
		at += (size_t)query[at] + 1;
	}
	if (at > HEADER)
		to--;
	*to = '\0';
	return at + 1;
}

/* Addresses with blanks between them, as records of the one question. */
static int
put_records(struct buf *out, int type, const char *addresses)
{
	static const unsigned char begin[] = {0xc0, HEADER, 0};
	int family = type == TYPE_A ? AF_INET : AF_INET6, count = 0;
	char size = type == TYPE_A ? 4 : 16;

	while (*addresses != '\0') {
		char text[64];
		unsigned char bytes[16];
		size_t length = strcspn(addresses, " ");

		memcpy(text, addresses, length);
		text[length] = '\0';
		assert_int_equal(inet_pton(family, text, bytes), 1);
		buf_add(out, begin, sizeof(begin));
		buf_addc(out, (char)type);
		buf_add(out, "\0\1\0\0\0\0\0", 7); /* class IN, TTL 0 */
		buf_addc(out, size);
		buf_add(out, bytes, (size_t)size);
		count++;
		addresses += length;
		addresses += *addresses == ' ';
	}
	return count;
}

/* The answer to a query for that name; addresses NULL: there is none. */
static void
make_answer(const unsigned char *query, size_t size, const char *name,
    const char *addresses4, const char *addresses6, struct buf *out)
{
	char asked[300];

	assert_true(size > HEADER + 4);
	size_t end = read_name(query, size, asked);
	assert_string_equal(asked, name);
	int type = query[end + 1];
	assert_true(type == TYPE_A || type == TYPE_AAAA);
	const char *addresses = type == TYPE_A ? addresses4 : addresses6;
	buf_add(out, query, end + 4);
	int count = addresses == NULL ? 0 : put_records(out, type, addresses);
	out->data[2] = (char)0x81; /* an answer, as was asked for */
	out->data[3] = (char)(0x80 | (addresses == NULL ? NO_SUCH_NAME : 0));
	out->data[7] = (char)count;
	memset(out->data + 8, 0, 4);
}

static void
answer_query(const struct proxy_fixture *f, const char *name,
    const char *addresses4, const char *addresses6, bool cut)
{
	struct sockaddr_in from;
	socklen_t from_size = sizeof(from);
	unsigned char query[512];
	BUF_AUTO out = BUF_INIT(4096);

	must_be_readable(f->names, name);
	ssize_t n = recvfrom(f->names, query, sizeof(query), 0,
	    (struct sockaddr *)&from, &from_size);

	assert_true(n > 0);
	make_answer(query, (size_t)n, name, addresses4, addresses6, &out);
	if (cut)
		out.data[2] |= 2;
	assert_int_equal(sendto(f->names, out.data, out.size, 0,
			     (struct sockaddr *)&from, from_size),
	    (ssize_t)out.size);
}

void
proxy_name(const struct proxy_fixture *f, const char *name,
    const char *addresses4, const char *addresses6)
{
	answer_query(f, name, addresses4, addresses6, false);
	answer_query(f, name, addresses4, addresses6, false);
}

/* RFC 1035 4.2.2 */
static void
answer_stream(
    int fd, const char *name, const char *addresses4, const char *addresses6)
{
	unsigned char size[2], query[512];
	BUF_AUTO out = BUF_INIT(4096);

	must_be_readable(fd, name);
	assert_int_equal(recv(fd, size, 2, MSG_WAITALL), 2);
	ssize_t n = size[0] << 8 | size[1];
	assert_int_equal(recv(fd, query, (size_t)n, MSG_WAITALL), n);
	make_answer(query, (size_t)n, name, addresses4, addresses6, &out);
	size[0] = (unsigned char)(out.size >> 8);
	size[1] = (unsigned char)out.size;
	proxy_send(fd, size, 2);
	proxy_send(fd, out.data, out.size);
}

void
proxy_name_by_stream(const struct proxy_fixture *f, const char *name,
    const char *addresses4, const char *addresses6)
{
	answer_query(f, name, "", "", true);
	answer_query(f, name, "", "", true);
	must_be_readable(f->names_stream, name);
	int fd = accept4(f->names_stream, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	answer_stream(fd, name, addresses4, addresses6);
	answer_stream(fd, name, addresses4, addresses6);
	(void)close(fd);
}

void
proxy_is_unasked(const struct proxy_fixture *f)
{
	assert_false(is_readable(f->names, 0));
}
