/* An origin for proxies to reach. */
#include "upstream.h"
#include "../check.h"
#include "../port.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH 64
#define STREAM_WRITE (256 * 1024)

static const char head_keep[] = "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n"
				"Content-Type: text/plain\r\n\r\n";
static const char head_close[] = "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n"
				 "Content-Type: text/plain\r\n"
				 "Connection: close\r\n\r\n";

/* In a child: it blocks, and nobody else should wait for it. */
static void
stream(int fd, const char *request)
{
	uint64_t left = strtoull(request + strlen("STREAM "), NULL, 10);
	char *bytes = mem_zalloc(STREAM_WRITE);

	(void)fd_set_nonblock(fd, 0);
	while (left > 0) {
		size_t size = left < STREAM_WRITE ? (size_t)left : STREAM_WRITE;
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		left -= (uint64_t)n;
	}
	_exit(0);
}

static void
answer(int fd, const char *request)
{
	char all[sizeof(head_close) + UPSTREAM_BODY];
	bool close_it = strstr(request, "Connection: close") != NULL;
	const char *head = close_it ? head_close : head_keep;
	size_t size = strlen(head);

	memcpy(all, head, size);
	memset(all + size, 'x', UPSTREAM_BODY);
	(void)!send(fd, all, size + UPSTREAM_BODY, MSG_NOSIGNAL);
	if (close_it)
		(void)close(fd);
}

static void
take(int fd)
{
	char request[2048];
	ssize_t n = recv(fd, request, sizeof(request) - 1, 0);

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			(void)close(fd);
		return;
	}
	request[n] = '\0';
	if (str_starts(request, "STREAM ")) {
		if (fork() == 0)
			stream(fd, request);
		(void)close(fd);
	} else {
		answer(fd, request);
	}
}

static void
serve(int listener)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), on = 1;
	struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};

	(void)signal(SIGCHLD, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	for (;;) {
		struct epoll_event events[BATCH];
		int n = epoll_wait(epoll, events, BATCH, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd != listener) {
				take(events[i].data.fd);
				continue;
			}
			int fd = accept4(
			    listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

			if (fd < 0)
				continue;
			(void)setsockopt(
			    fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
			event.data.fd = fd;
			(void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
		}
	}
}

struct upstream
upstream_start(void)
{
	struct upstream o = {.port = port_free()};
	struct sockaddr_in addr = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)o.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1024), 0);
	o.pid = fork();
	assert_true(o.pid >= 0);
	if (o.pid == 0)
		serve(fd);
	(void)close(fd);
	return o;
}

void
upstream_stop(struct upstream *o)
{
	(void)kill(o->pid, SIGKILL);
	(void)waitpid(o->pid, NULL, 0);
}

double
cpu_seconds(pid_t pid)
{
	char path[48], line[512] = "";
	char *at;
	double ticks;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return 0;
	(void)!fgets(line, sizeof(line), f);
	(void)fclose(f);
	/* proc(5): the name may hold anything; fields 14 and 15, the first
	 * behind it being the third. */
	at = strrchr(line, ')');
	for (int field = 2; at != NULL && field < 14; field++)
		at = strchr(at + 1, ' ');
	if (at == NULL)
		return 0;
	ticks = (double)strtoull(at, &at, 10);
	ticks += (double)strtoull(at, NULL, 10);
	return ticks / (double)sysconf(_SC_CLK_TCK);
}
