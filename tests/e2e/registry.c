/* The smallest registry (OCI distribution specification, end-1 and end-3). */
#include "registry.h"
#include "../check.h"
#include "lib/str.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* One request of one connection: /v2/ is there, everything else is unknown. */
static void
serve(int fd)
{
	static const char there[] = "{}";
	static const char unknown[] = "{\"errors\":[{\"code\":"
				      "\"MANIFEST_UNKNOWN\","
				      "\"message\":\"unknown here\"}]}";
	char head[8192], answer[1024];
	ssize_t n = read(fd, head, sizeof(head) - 1);

	head[n > 0 ? n : 0] = '\0';
	bool root = str_starts(head, "GET /v2/ ");
	const char *body = root ? there : unknown;
	int size = snprintf(answer, sizeof(answer),
	    "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
	    "Docker-Distribution-Api-Version: registry/2.0\r\n"
	    "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
	    root ? "200 OK" : "404 Not Found", strlen(body), body);
	(void)!write(fd, answer, (size_t)size);
	(void)close(fd);
}

struct registry
registry_start(void)
{
	struct sockaddr_in addr = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(addr);
	struct registry r;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, size), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &size), 0);
	r.port = ntohs(addr.sin_port);
	r.pid = fork();
	assert_true(r.pid >= 0);
	if (r.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			serve(accept(fd, NULL, NULL));
	}
	(void)close(fd);
	return r;
}

void
registry_stop(struct registry *r)
{
	(void)kill(r->pid, SIGKILL);
	(void)waitpid(r->pid, NULL, 0);
}
