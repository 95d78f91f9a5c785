/*
 * The command line of sbx-proxy: options.def, and the limits of limits.def.
 */
#ifndef SBX_PROXY_OPTIONS_H
#define SBX_PROXY_OPTIONS_H

#include "place.h"
#include "proxy.h"

#include <stdio.h>

struct options {
	struct address address; /* to listen at */
	uint16_t port;
	const char *policy;	    /* a file */
	const char *control;	    /* a path; "" for none */
	const char *name;	    /* of the run; "" for none */
	const char *netns;	    /* a path; "" for this one */
	struct cidr subnet;	    /* of the run's link; bits 0: it has none */
	int pid;		    /* of the run's init; 0 for none */
	int user;		    /* to become; 0: nobody */
	const char *resolv, *hosts; /* files */
	bool detach, help;
	struct limits limits;
};

/* ERR_INPUT with a sentence: an option that there is not, that lacks its
 * argument, or is out of its bounds; no --policy; no place to listen. */
int options_parse(int argc, char **argv, struct options *ret_o, struct err *e);

/* Every option, what it takes, its default and what it means. */
void options_help(FILE *to);

#endif
