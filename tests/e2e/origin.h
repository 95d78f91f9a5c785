/*
 * Servers on this box's loopback for the clients of allowlist runs, and the
 * name server that leads to them (clients/origin.py says what they serve).
 * A child process, gone when the program is.
 */
#ifndef SBX_E2E_ORIGIN_H
#define SBX_E2E_ORIGIN_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct origin {
	char dir[32];
	pid_t pid;
	int input; /* it ends when this is closed */
	int http, https;
	int wild;		      /* HTTP at every address of this box */
	int refused;		      /* nobody listens there */
	char www[32], git[32];	      /* name:port of HTTP, by two names */
	char resolv[64], private[64]; /* settings for stack_start */
};

extern struct origin origin;

void origin_start(void);
void origin_stop(void);

/* Somebody asked for the addresses of that name. */
bool origin_asked(const char *name);

#endif
