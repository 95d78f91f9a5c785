/* Requests to the kernel about links. */
#include "netlink.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX (64u * 1024) /* the kernel cuts at 32 KiB by itself */
#define WAIT_SEC 5		/* it answers at once */
#define ERRNO_MAX 4095

int
netlink_open(struct err *e)
{
	const struct timeval wait = {.tv_sec = WAIT_SEC};
	FD_AUTO fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot ask for links");
	return fd_take(&fd);
}

/* -- asking ---------------------------------------------------------------- */

/* Attributes are aligned to 4 bytes, as is all that is in front of them. */
struct request {
	_Alignas(NLMSG_ALIGNTO) struct nlmsghdr head;
	char bytes[128];
};

static void
put(struct request *r, const void *bytes, size_t size)
{
	char *to = (char *)r + r->head.nlmsg_len;

	memcpy(to, bytes, size);
	r->head.nlmsg_len += (uint32_t)NLMSG_ALIGN(size);
}

static void
put_attribute(
    struct request *r, unsigned short type, const void *bytes, size_t size)
{
	const struct nlattr head = {
	    (unsigned short)(sizeof(head) + size), type};

	put(r, &head, sizeof(head));
	put(r, bytes, size);
}

static void
begin(struct request *r, unsigned short type, unsigned short flags,
    const void *body, size_t size)
{
	memset(r, 0, sizeof(*r));
	r->head.nlmsg_len = sizeof(r->head);
	r->head.nlmsg_type = type;
	r->head.nlmsg_flags = NLM_F_REQUEST | flags;
	put(r, body, size);
}

static void
begin_link(struct request *r, unsigned short type, unsigned short flags,
    const struct ifinfomsg *about)
{
	begin(r, type, flags, about, sizeof(*about));
}

/* What to do with a message of an answer, beside its end. */
typedef int taker(
    const struct nlmsghdr *m, const char *body, void *arg, struct err *e);

/* 1 where the answer is over. */
static int
read_message(const struct nlmsghdr *m, const char *body, taker *take, void *arg,
    struct err *e)
{
	int code;

	if (m->nlmsg_type == NLMSG_DONE)
		return 1;
	if (m->nlmsg_type != NLMSG_ERROR)
		return take != NULL ? take(m, body, arg, e) : 0;
	memcpy(&code, body, sizeof(code));
	if (code == 0)
		return 1;
	errno = code < 0 && code >= -ERRNO_MAX ? -code : EPROTO;
	return err_sys(e, ERR_INTERNAL, "the kernel");
}

static int
read_answer(int fd, taker *take, void *arg, struct err *e)
{
	_Alignas(NLMSG_ALIGNTO) char bytes[ANSWER_MAX];
	int rc = 0;

	while (rc == 0) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
		size_t left = n > 0 ? (size_t)n : 0;
		const char *at = bytes;

		if (n <= 0)
			return err_sys(
			    e, ERR_INTERNAL, "no answer about links");
		while (rc == 0 && left >= sizeof(struct nlmsghdr)) {
			const struct nlmsghdr *m = (const void *)at;
			size_t size = NLMSG_ALIGN(m->nlmsg_len);

			if (m->nlmsg_len < sizeof(*m) + sizeof(int) ||
			    m->nlmsg_len > left)
				return err_set(
				    e, ERR_INTERNAL, "an answer is cut");
			rc = read_message(m, at + NLMSG_HDRLEN, take, arg, e);
			at += size < left ? size : left;
			left -= size < left ? size : left;
		}
	}
	return rc < 0 ? -1 : 0;
}

static int
ask(int fd, const struct request *r, taker *take, void *arg, struct err *e)
{
	if (send(fd, r, r->head.nlmsg_len, 0) < 0)
		return err_sys(e, ERR_INTERNAL, "cannot ask about links");
	return read_answer(fd, take, arg, e);
}

/* -- links ----------------------------------------------------------------- */

struct links {
	struct link *to;
	int count;
};

/* The next attribute of a list; false at its end. */
static bool
next_attribute(const char **at, const char *end, struct nlattr *ret_head,
    const char **ret_data, size_t *ret_size)
{
	size_t left = (size_t)(end - *at);

	if (left < sizeof(*ret_head))
		return false;
	memcpy(ret_head, *at, sizeof(*ret_head));
	if (ret_head->nla_len < sizeof(*ret_head) || ret_head->nla_len > left)
		return false;
	*ret_data = *at + sizeof(*ret_head);
	*ret_size = ret_head->nla_len - sizeof(*ret_head);
	size_t step = NLA_ALIGN(ret_head->nla_len);
	*at += step < left ? step : left;
	return true;
}

static bool
is_veth(const char *at, const char *end)
{
	struct nlattr head;
	const char *data;
	size_t size;

	while (next_attribute(&at, end, &head, &data, &size))
		if (head.nla_type == IFLA_INFO_KIND)
			return size >= sizeof("veth") - 1 &&
			       memcmp(data, "veth", sizeof("veth") - 1) == 0;
	return false;
}

static int
take_link(const struct nlmsghdr *m, const char *body, void *arg, struct err *e)
{
	const char *end = (const char *)m + m->nlmsg_len, *data;
	const char *at = body + NLMSG_ALIGN(sizeof(struct ifinfomsg));
	struct links *links = arg;
	struct ifinfomsg about;
	struct nlattr head;
	size_t size;

	if (m->nlmsg_type != RTM_NEWLINK || at > end)
		return 0;
	if (links->count == NETLINK_LINKS)
		return err_set(e, ERR_INTERNAL, "there are too many links");
	struct link *l = &links->to[links->count++];
	memcpy(&about, body, sizeof(about));
	*l = (struct link){.index = about.ifi_index,
	    .up = (about.ifi_flags & IFF_UP) != 0,
	    .loopback = (about.ifi_flags & IFF_LOOPBACK) != 0};
	while (next_attribute(&at, end, &head, &data, &size)) {
		int type = head.nla_type & NLA_TYPE_MASK;

		if (type == IFLA_IFNAME && size <= sizeof(l->name))
			memcpy(l->name, data, size);
		else if (type == IFLA_LINK && size == sizeof(l->peer))
			memcpy(&l->peer, data, size);
		else if (type == IFLA_LINK_NETNSID)
			l->apart = true;
		else if (type == IFLA_LINKINFO)
			l->veth = is_veth(data, data + size);
	}
	l->name[sizeof(l->name) - 1] = '\0';
	return 0;
}

int
netlink_links(int fd, int index, struct link to[NETLINK_LINKS], struct err *e)
{
	const struct ifinfomsg about = {.ifi_index = index};
	struct links links = {to, 0};
	struct request r;

	begin_link(
	    &r, RTM_GETLINK, index == 0 ? NLM_F_DUMP : NLM_F_ACK, &about);
	return ask(fd, &r, take_link, &links, e) == 0 ? links.count : -1;
}

/* -- changes --------------------------------------------------------------- */

int
netlink_move(int fd, int index, int netns, const char *name, struct err *e)
{
	const struct ifinfomsg about = {.ifi_index = index};
	struct request r;

	begin_link(&r, RTM_NEWLINK, NLM_F_ACK, &about);
	put_attribute(&r, IFLA_NET_NS_FD, &netns, sizeof(netns));
	put_attribute(&r, IFLA_IFNAME, name, strlen(name) + 1);
	return ask(fd, &r, NULL, NULL, e);
}

int
netlink_address(
    int fd, int index, const uint8_t address[4], int bits, struct err *e)
{
	const struct ifaddrmsg about = {.ifa_family = AF_INET,
	    .ifa_prefixlen = (uint8_t)bits,
	    .ifa_index = (uint32_t)index};
	struct request r;

	begin(&r, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, &about,
	    sizeof(about));
	put_attribute(&r, IFA_LOCAL, address, 4);
	put_attribute(&r, IFA_ADDRESS, address, 4);
	return ask(fd, &r, NULL, NULL, e);
}

int
netlink_up(int fd, int index, struct err *e)
{
	const struct ifinfomsg about = {
	    .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	struct request r;

	begin_link(&r, RTM_NEWLINK, NLM_F_ACK, &about);
	return ask(fd, &r, NULL, NULL, e);
}
