/*
 * Requests to the kernel about links (rtnetlink(7)), and its answers.
 */
#ifndef SBX_PROXY_NETLINK_H
#define SBX_PROXY_NETLINK_H

#include "lib/err.h"

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_LINKS 16 /* more than a run's network namespace has */

struct link {
	char name[IF_NAMESIZE];
	int index, peer; /* peer: of the other end of a pair */
	bool up, loopback, veth;
	bool apart; /* the other end is in another network namespace */
};

/* Acts in the network namespace that the caller is in, wherever that goes. */
int netlink_open(struct err *e);

/* One link by its index, or, where that is 0, all, NETLINK_LINKS at most: more
 * is an error. Returns how many, or -1. */
int netlink_links(
    int fd, int index, struct link to[NETLINK_LINKS], struct err *e);

/* Move that link into the network namespace that netns is open at, and call it
 * so there. Whatever it was a part of it is not any more. */
int netlink_move(int fd, int index, int netns, const char *name, struct err *e);

/* Up, with that IPv4 address in a subnet of so many bits. */
int netlink_address(
    int fd, int index, const uint8_t address[4], int bits, struct err *e);
int netlink_up(int fd, int index, struct err *e);

#endif
