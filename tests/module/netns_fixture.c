/* A network namespace with loopback and nothing else. */
#include "netns_fixture.h"
#include "../check.h"
#include "lib/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The process in it: a byte to tell whether there is one now. */
static _Noreturn void
live(int ready)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	char byte = 'y';

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	int fd =
	    unshare(CLONE_NEWNET) == 0 ? socket(AF_INET, SOCK_DGRAM, 0) : -1;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) != 0)
		byte = 'n';
	(void)!write(ready, &byte, 1);
	(void)close(ready);
	for (;;)
		(void)pause();
}

void
netns_start(struct netns *n)
{
	int ends[2];
	char byte = 'n';

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	n->pid = fork();
	assert_true(n->pid >= 0);
	if (n->pid == 0)
		live(ends[1]);
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
	(void)snprintf(
	    n->path, sizeof(n->path), "/proc/%d/ns/net", (int)n->pid);
	if (byte == 'y')
		return;
	netns_end(n);
	skip();
}

void
netns_end(struct netns *n)
{
	if (n->pid <= 0)
		return;
	(void)kill(n->pid, SIGKILL);
	assert_int_equal(waitpid(n->pid, NULL, 0), n->pid);
	n->pid = 0;
}

/* A socket that is made there. */
static int
socket_in(const struct netns *n)
{
	FD_AUTO own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	FD_AUTO there = open(n->path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(setns(there, CLONE_NEWNET), 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	assert_true(fd >= 0);
	return fd;
}

int
netns_connect_to(const struct netns *n, const char *address, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	FD_AUTO fd = socket_in(n);

	assert_true(
	    *address == '\0' || inet_pton(AF_INET, address, &to.sin_addr) == 1);
	if (connect(fd, (const void *)&to, sizeof(to)) != 0)
		return -1;
	return fd_take(&fd);
}

int
netns_connect(const struct netns *n, int port)
{
	return netns_connect_to(n, "", port);
}

bool
netns_ip(const struct netns *n, const char *words)
{
	char text[256], where[64];
	char *argv[32] = {"nsenter", where, "ip"};
	size_t count = 3;
	pid_t pid;
	int status = -1;

	(void)snprintf(text, sizeof(text), "%s", words);
	(void)snprintf(where, sizeof(where), "--net=%s",
	    n != NULL ? n->path : "/proc/self/ns/net");
	for (char *save, *word = strtok_r(text, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save))
		argv[count++] = word;
	assert_int_equal(
	    posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

int
netns_listen(const struct netns *n, int port, bool any)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(any ? INADDR_ANY : INADDR_LOOPBACK)};
	FD_AUTO fd = socket_in(n);
	const int on = 1;

	/* All that somebody could do to share the port. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (bind(fd, (const void *)&at, sizeof(at)) != 0 || listen(fd, 8) != 0)
		return -1;
	return fd_take(&fd);
}
