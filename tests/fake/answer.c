/* Sending the scripted engine's answers. */
#include "answer.h"
#include "lib/buf.h"

#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define BODY_MAX (4u << 20)

static void
pause_for(int ms)
{
	if (ms > 0)
		(void)poll(NULL, 0, ms);
}

/* Send what *left still allows; false where the client is gone. */
static bool
send_some(int fd, const char *bytes, size_t size, size_t *left)
{
	if (size > *left)
		size = *left;
	*left -= size;
	while (size > 0) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

static bool
send_chunks(int fd, const struct fake_rule *rule, size_t *left)
{
	for (size_t i = 0; rule->chunks[i] != NULL; i++) {
		BUF_AUTO chunk = BUF_INIT(BODY_MAX);

		buf_addf(&chunk, "%zx\r\n%s\r\n", strlen(rule->chunks[i]),
		    rule->chunks[i]);
		pause_for(rule->pause_ms);
		if (!send_some(fd, chunk.data, chunk.size, left))
			return false;
	}
	return send_some(fd, "0\r\n\r\n", 5, left);
}

static bool
send_answer(int fd, const struct fake_rule *rule)
{
	size_t left =
	    rule->end != FAKE_KEEP && rule->bytes > 0 ? rule->bytes : SIZE_MAX;
	const char *body = rule->body != NULL ? rule->body : "";
	BUF_AUTO out = BUF_INIT(BODY_MAX);

	pause_for(rule->pause_ms);
	if (rule->raw != NULL)
		return send_some(fd, rule->raw, strlen(rule->raw), &left);
	buf_addf(&out, "HTTP/1.1 %d Scripted\r\n", rule->status);
	if (rule->status == 101)
		buf_adds(&out, "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
	else if (rule->chunks != NULL)
		buf_adds(&out, "Transfer-Encoding: chunked\r\n\r\n");
	else if (rule->status == 204 || rule->status == 304)
		buf_adds(&out, "\r\n");
	else
		buf_addf(&out,
		    "Content-Type: application/json\r\n"
		    "Content-Length: %zu\r\n\r\n%s",
		    strlen(body), body);
	if (!send_some(fd, out.data, out.size, &left))
		return false;
	return rule->chunks == NULL || send_chunks(fd, rule, &left);
}

bool
fake_answer(int fd, const struct fake_rule *rule)
{
	char byte;

	if (!send_answer(fd, rule))
		return false;
	if (rule->stream != NULL) {
		rule->stream(rule->arg, fd);
		return false;
	}
	if (rule->end == FAKE_STALL)
		while (recv(fd, &byte, 1, 0) > 0)
			;
	return rule->end == FAKE_KEEP;
}
