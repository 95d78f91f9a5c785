/* What tests of allowlist runs do again and again. */
#include "egress.h"
#include "../port.h"
#include "harness.h"

#include "lib/fd.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>

/* A request at a time is enough. */
static void *
serve(void *arg)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n"
				     "Connection: close\r\n\r\nhello\n";
	const int *server_fd = arg;
	char bytes[4096];

	for (;;) {
		struct err ignored = ERR_INIT;
		FD_AUTO fd = accept4(*server_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			return NULL;
		if (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
			(void)fd_write_all(fd, answer, sizeof(answer) - 1,
			    clock_mono_ms() + 5000, &ignored);
	}
}

int
egress_server(void)
{
	static pthread_t thread;
	static int server_fd;
	int port = port_free();
	struct sockaddr_in addr = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	server_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    bind(server_fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(server_fd, 64), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve, &server_fd), 0);
	(void)pthread_detach(thread);
	return port;
}

pid_t
egress_proxy_of(const char *id)
{
	static struct proc all[PROC_MOST];
	size_t count = proc_all(all);

	for (size_t i = 0; i < count; i++)
		if (str_eq(all[i].name, "sbx-proxy") && all[i].state != 'Z' &&
		    proc_has(all[i].pid, "cmdline", id))
			return all[i].pid;
	return 0;
}

void
egress_new(const char *entry, char ret_id[ULID_SIZE])
{
	json_t *body = json_pack(
	    "{s:s,s:s}", "image", IMAGE_PLAIN, "network", "allowlist");

	if (entry != NULL)
		json_object_set_new(
		    body, "egressAllow", json_pack("[s]", entry));
	run_from(body, ret_id);
}

int
egress_fetch(const char *id, const char *to)
{
	char cmd[256];
	int status = 0;

	(void)snprintf(cmd, sizeof(cmd),
	    "printf 'GET http://%s/hello HTTP/1.1\\r\\nHost: %s\\r\\n"
	    "Connection: close\\r\\n\\r\\n' | "
	    "(p=${http_proxy#*//}; nc -w 10 ${p%%:*} 3128)",
	    to, to);
	EXECUTED_AUTO x = exec_sh(id, cmd);
	if (sscanf(x.out.data, "HTTP/1.1 %d ", &status) != 1)
		fail_msg("no answer: %s%s", x.out.data, x.err.data);
	return status;
}

struct reply
egress_put(const char *id, json_t *entries)
{
	return http_json("PUT", run_url(id, "egress"),
	    json_pack("{s:o}", "egressAllow", entries));
}

struct reply
egress_get(const char *id, const char *what)
{
	return http_do("GET", run_url(id, what), NULL, NULL);
}
