/* A FastCGI client, as plain as the protocol allows. */
#include "fcgi_client.h"
#include "../check.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_MS 40000
#define PARAMS_MAX (256 * 1024)

int
fcgi_connect(const char *path)
{
	struct err e = ERR_INIT;
	int fd = fd_connect_unix(path, MOST_MS, &e);

	check_ok(fd, &e);
	return fd;
}

void
fcgi_record(int fd, int type, const void *bytes, size_t size)
{
	unsigned char head[FCGI_HEADER_LEN] = {FCGI_VERSION_1,
	    (unsigned char)type, 0, 1, (unsigned char)(size >> 8),
	    (unsigned char)size, 0, 0};
	struct err e = ERR_INIT;
	struct buf record = BUF_INIT(1 << 17);

	assert_in_range(size, 0, FCGI_MAX_LENGTH);
	buf_add(&record, head, sizeof(head));
	buf_add(&record, bytes, size);
	check_ok(fd_write_all(fd, record.data, record.size,
		     clock_mono_ms() + MOST_MS, &e),
	    &e);
	buf_release(&record);
}

static void
put_size(struct buf *to, size_t size)
{
	if (size > 127) {
		buf_addc(to, (char)(size >> 24 | 0x80));
		buf_addc(to, (char)(size >> 16));
		buf_addc(to, (char)(size >> 8));
	}
	buf_addc(to, (char)size);
}

static void
put_param(struct buf *to, const char *name_value)
{
	size_t size = strlen(name_value), name = strcspn(name_value, "=");

	put_size(to, name);
	put_size(to, size - name - 1);
	buf_add(to, name_value, name);
	buf_adds(to, name_value + name + 1);
}

void
fcgi_head(
    int fd, const char *method, const char *target, const char *const *more)
{
	/* Responder, FCGI_KEEP_CONN: the worker closes all the same. */
	static const unsigned char begin[8] = {0, 1, 1, 0, 0, 0, 0, 0};
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct buf text = BUF_INIT(PARAMS_MAX);

	buf_addf(&text, "REQUEST_METHOD=%s", method);
	put_param(&params, text.data);
	buf_reset(&text);
	buf_addf(&text, "REQUEST_URI=%s", target);
	put_param(&params, text.data);
	for (; more != NULL && *more != NULL; more++)
		put_param(&params, *more);
	fcgi_record(fd, FCGI_BEGIN_REQUEST, begin, sizeof(begin));
	for (size_t at = 0; at < params.size;) {
		size_t n = params.size - at;

		n = n < 32768 ? n : 32768;
		fcgi_record(fd, FCGI_PARAMS, params.data + at, n);
		at += n;
	}
	fcgi_record(fd, FCGI_PARAMS, NULL, 0);
	buf_release(&params);
	buf_release(&text);
}

void
fcgi_stdin(int fd, const void *bytes, size_t size, size_t record)
{
	const char *from = bytes;

	for (size_t at = 0; at < size; at += record)
		fcgi_record(fd, FCGI_STDIN, from + at,
		    size - at < record ? size - at : record);
}

void
fcgi_stdin_end(int fd)
{
	fcgi_record(fd, FCGI_STDIN, NULL, 0);
}

/* Exactly size bytes; false where the peer closed before the first. */
static bool
read_exactly(int fd, void *to, size_t size)
{
	int64_t deadline = clock_mono_ms() + MOST_MS;
	char *at = to;

	for (size_t done = 0; done < size;) {
		struct pollfd p = {fd, POLLIN, 0};

		if (poll(&p, 1, clock_left(deadline)) == 0)
			fail_msg("no answer in %d ms", MOST_MS);
		ssize_t n = read(fd, at + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 && done == 0)
			return false;
		if (n <= 0)
			fail_msg("the peer closed within a record");
		done += (size_t)n;
	}
	return true;
}

void
fcgi_read_record(int fd, struct fcgi_reply *reply)
{
	unsigned char head[FCGI_HEADER_LEN];
	char content[FCGI_MAX_LENGTH + 256];

	if (!read_exactly(fd, head, sizeof(head))) {
		reply->closed = true;
		return;
	}
	size_t size = (size_t)head[4] << 8 | head[5];
	if (size + head[6] > 0 && !read_exactly(fd, content, size + head[6]))
		fail_msg("the peer closed within a record");
	if (head[1] == FCGI_STDOUT)
		buf_add(&reply->out, content, size);
	else if (head[1] == FCGI_END_REQUEST)
		reply->ended = true;
	else
		fail_msg("a record of type %d", head[1]);
}

void
fcgi_read_all(int fd, struct fcgi_reply *reply)
{
	while (!reply->closed)
		fcgi_read_record(fd, reply);
}

void
fcgi_read_some(int fd, struct fcgi_reply *reply, size_t size)
{
	while (!reply->closed && reply->out.size < size)
		fcgi_read_record(fd, reply);
	assert_in_range(reply->out.size, size, SIZE_MAX);
}

void
fcgi_reply_release(struct fcgi_reply *reply)
{
	buf_release(&reply->out);
}

struct fcgi_reply
fcgi_get(const char *path, const char *method, const char *target,
    const char *const *more)
{
	struct fcgi_reply reply = FCGI_REPLY_INIT;
	int fd = fcgi_connect(path);

	fcgi_head(fd, method, target, more);
	fcgi_stdin_end(fd);
	fcgi_read_all(fd, &reply);
	(void)close(fd);
	assert_true(reply.ended);
	return reply;
}

int
fcgi_status(const struct fcgi_reply *reply)
{
	int status = 0;

	if (sscanf(reply->out.data, "Status: %3d ", &status) != 1)
		fail_msg("no status in \"%.80s\"", reply->out.data);
	return status;
}

const char *
fcgi_body(const struct fcgi_reply *reply)
{
	const char *end = strstr(reply->out.data, "\r\n\r\n");

	assert_non_null(end);
	return end + 4;
}

bool
fcgi_has_line(const struct fcgi_reply *reply, const char *line)
{
	struct buf want = BUF_INIT(4096);
	const char *body = fcgi_body(reply);

	buf_addf(&want, "\r\n%s\r\n", line);
	const char *at = strstr(reply->out.data, want.data);
	buf_release(&want);
	return at != NULL && at < body;
}
