/* Closing the only link of a run. */
#include "link.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "netlink.h"

/* A run's network namespace, as far as it matters. */
struct ends {
	struct link run;  /* what the run sends by */
	struct link back; /* its other end, once it was brought in; else "" */
};

int
link_outside(struct err *e)
{
	return netlink_open(e);
}

/* Links that are down, as some kernels put into each network namespace, lead
 * nowhere: to change that takes a capability that a run has not. */
static int
look(int inside, struct ends *ret_ends, struct err *e)
{
	struct link all[NETLINK_LINKS];
	struct ends ends = {.run = {.index = 0}};
	int count = netlink_links(inside, 0, all, e);

	if (count < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		const struct link *l = &all[i];

		if (str_eq(l->name, LINK_NAME)) {
			ends.back = *l;
		} else if (l->up && !l->loopback) {
			if (!l->veth || ends.run.index != 0)
				return err_set(e, ERR_INTERNAL,
				    "the run has a link that is not its "
				    "network's: %s",
				    l->name);
			ends.run = *l;
		}
	}
	if (ends.run.index == 0)
		return err_set(e, ERR_INTERNAL, "the run has no link");
	*ret_ends = ends;
	return 0;
}

static bool
is_pair(const struct link *a, const struct link *b)
{
	return a->veth && b->veth && a->peer == b->index && b->peer == a->index;
}

static int
bring_in(int outside, int netns, const struct link *run, struct err *e)
{
	struct link far[NETLINK_LINKS];

	if (netlink_links(outside, run->peer, far, e) != 1 ||
	    !is_pair(run, &far[0]))
		return err_set(e, ERR_INTERNAL,
		    "the other end of the run's link is not in this network "
		    "namespace");
	return netlink_move(outside, far[0].index, netns, LINK_NAME, e);
}

int
link_close(int outside, int netns, const struct cidr *subnet, struct err *e)
{
	struct address gateway = cidr_first(subnet);
	FD_AUTO inside = netlink_open(e);
	struct ends ends = {.run = {.index = 0}};

	if (inside < 0 || look(inside, &ends, e) != 0)
		return -1;
	if (ends.run.apart && (bring_in(outside, netns, &ends.run, e) != 0 ||
				  look(inside, &ends, e) != 0))
		return err_wrap(e, "bringing the run's link in");
	if (ends.run.apart || ends.back.apart ||
	    !is_pair(&ends.run, &ends.back))
		return err_set(e, ERR_INTERNAL,
		    "the run's link does not end in its own network");
	if (netlink_address(
		inside, ends.back.index, gateway.bytes, subnet->bits, e) != 0 ||
	    netlink_up(inside, ends.back.index, e) != 0)
		return err_wrap(e, "setting up the run's link");
	return 0;
}
