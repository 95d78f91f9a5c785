/*
 * proxy/netlink: whatever the kernel answers is refused with a reason, or is
 * links within their bounds, and the same however its messages are spread over
 * datagrams. The first byte is how many messages a datagram has.
 */
#include "../../proxy/netlink.h"
#include "lib/buf.h"
#include "lib/fd.h"

#include <linux/netlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define DATAGRAMS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The size of so many whole messages; 0 where the next one is cut. */
static size_t
messages(const uint8_t *bytes, size_t size, size_t most)
{
	size_t at = 0;

	for (; most > 0 && size - at >= sizeof(struct nlmsghdr); most--) {
		struct nlmsghdr m;

		memcpy(&m, bytes + at, sizeof(m));
		if (m.nlmsg_len < sizeof(m) || m.nlmsg_len > size - at)
			break;
		size_t step = NLMSG_ALIGN(m.nlmsg_len);
		if (step > size - at)
			break;
		at += step;
	}
	return at;
}

/* What links there are when that is the answer: as many as a count, or -1. */
static int
ask(const uint8_t *bytes, size_t size, size_t most, struct buf *out)
{
	struct link to[NETLINK_LINKS];
	struct err e = ERR_INIT;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		abort();
	for (int i = 0; i < DATAGRAMS && size > 0; i++) {
		size_t part = messages(bytes, size, most);

		if (part == 0 || part > 32768)
			part = size < 32768 ? size : 32768;
		if (send(pair[1], bytes, part, MSG_DONTWAIT) < 0)
			break;
		bytes += part;
		size -= part;
	}
	(void)shutdown(pair[1], SHUT_WR);
	int count = netlink_links(pair[0], 0, to, &e);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	if (count > NETLINK_LINKS || count < -1 ||
	    (count == -1) != (*e.text != '\0'))
		abort();
	for (int i = 0; i < count; i++) {
		if (memchr(to[i].name, '\0', sizeof(to[i].name)) == NULL)
			abort();
		buf_addf(out, "%s %d %d %d%d%d%d\n", to[i].name, to[i].index,
		    to[i].peer, to[i].up, to[i].loopback, to[i].veth,
		    to[i].apart);
	}
	return count;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BUF_AUTO one = BUF_INIT(8192);
	BUF_AUTO two = BUF_INIT(8192);

	if (size < 1 || size > 16384)
		return 0;
	int count = ask(data + 1, size - 1, SIZE_MAX, &one);
	/* Behind what ends the answer nothing is looked at. */
	if (messages(data + 1, size - 1, SIZE_MAX) == size - 1 &&
	    ask(data + 1, size - 1, 1 + data[0] % 4u, &two) != count)
		abort();
	if (two.size > 0 && strcmp(one.data, two.data) != 0)
		abort();
	return 0;
}
