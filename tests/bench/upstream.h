/*
 * An origin for proxies to reach, in a process of its own, on loopback:
 *
 *	GET ... keep-alive or not	1 KiB
 *	"STREAM <bytes>\n"		so many bytes, as fast as they are taken
 */
#ifndef SBX_BENCH_UPSTREAM_H
#define SBX_BENCH_UPSTREAM_H

#include <sys/types.h>

#define UPSTREAM_BODY 1024

struct upstream {
	pid_t pid;
	int port;
};

struct upstream upstream_start(void);
void upstream_stop(struct upstream *o);

/* Processor time that a process has used, in seconds. */
double cpu_seconds(pid_t pid);

#endif
