/* The name server of the proxy's fixture. */
#include "../wait.h"
#include "lib/buf.h"
#include "proxy_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
put_records(const struct proxy_fixture *f, struct buf *out, int type,
    const char *addresses)
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
		buf_add(out, "\0\1\0\0\0", 5); /* class IN, TTL */
		buf_addc(out, (char)f->ttl);
		buf_addc(out, 0);
		buf_addc(out, size);
		buf_add(out, bytes, (size_t)size);
		count++;
		addresses += length;
		addresses += *addresses == ' ';
	}
	return count;
}

/* The answer to a query for that name, of IPv4 and IPv6; NULL: there is none.
 */
static void
make_answer(const struct proxy_fixture *f, const unsigned char *query,
    size_t size, const char *name, const char *const addresses[2],
    struct buf *out)
{
	char asked[300];

	assert_true(size > HEADER + 4);
	size_t end = read_name(query, size, asked);
	assert_string_equal(asked, name);
	int type = query[end + 1];
	assert_true(type == TYPE_A || type == TYPE_AAAA);
	const char *list = addresses[type == TYPE_AAAA];
	buf_add(out, query, end + 4);
	int count = list == NULL ? 0 : put_records(f, out, type, list);
	out->data[2] = (char)0x81; /* an answer, as was asked for */
	out->data[3] = (char)(0x80 | (list == NULL ? NO_SUCH_NAME : 0));
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

	proxy_must_be_readable(f->names, name);
	ssize_t n = recvfrom(f->names, query, sizeof(query), 0,
	    (struct sockaddr *)&from, &from_size);

	assert_true(n > 0);
	make_answer(f, query, (size_t)n, name,
	    (const char *[]){addresses4, addresses6}, &out);
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
answer_stream(const struct proxy_fixture *f, int fd, const char *name,
    const char *addresses4, const char *addresses6)
{
	unsigned char size[2], query[512];
	BUF_AUTO out = BUF_INIT(4096);

	proxy_must_be_readable(fd, name);
	assert_int_equal(recv(fd, size, 2, MSG_WAITALL), 2);
	ssize_t n = size[0] << 8 | size[1];
	assert_int_equal(recv(fd, query, (size_t)n, MSG_WAITALL), n);
	make_answer(f, query, (size_t)n, name,
	    (const char *[]){addresses4, addresses6}, &out);
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
	proxy_must_be_readable(f->names_stream, name);
	int fd = accept4(f->names_stream, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	answer_stream(f, fd, name, addresses4, addresses6);
	answer_stream(f, fd, name, addresses4, addresses6);
	(void)close(fd);
}

void
proxy_is_unasked(const struct proxy_fixture *f)
{
	struct pollfd p = {.fd = f->names, .events = POLLIN};

	assert_int_equal(poll(&p, 1, 0), 0);
}
