/*
 * Requests to a proxy, hostile and legitimate, and what must come of each:
 * tables (hostile_*.c) for test_proxy_hostile.c.
 *
 * In bytes "{p}" stands for the origin's port, "{c}" for one where nobody
 * listens, "{x}" for the proxy's own. Of the hosts, a.test, b.test, a_b.test
 * and closed.test, sub.test and all below it and 127.0.0.3 are admitted, with
 * their one port; denied.test and x.a.test are not. All of them lead to the
 * origin. The names in hostile_hosts lead into networks that a name must not
 * lead to; nx.test leads nowhere.
 */
#ifndef SBX_TESTS_MODULE_HOSTILE_H
#define SBX_TESTS_MODULE_HOSTILE_H

#include <stddef.h>

struct hostile {
	const char *what;
	const char *bytes; /* all of them in one write, or byte by byte */
	size_t size;
	/* The statuses of all answers up to the end of the connection: "200
	 * 403";
	 * "~" behind one whose body is cut off. "+" at the end: the connection
	 * stays usable, which is tried. "|" between what is right as well. */
	const char *want;
	int reach;	  /* requests that reach the origin */
	const char *sees; /* stands in what the origin got; where says is set,
			   * in what the client got; NULL: anything */
	const char *says; /* the origin's answer, after which it hangs up; NULL:
			   * a good one */
};

struct hostile_group {
	const struct hostile *rows;
	size_t count;
};

extern const struct hostile_group hostile_targets, hostile_lines,
    hostile_fields, hostile_framing, hostile_chunks, hostile_hops,
    hostile_connect, hostile_chains, hostile_answers;

#define A_HOST "Host: a.test:{p}\r\n"
#define GET_A "GET http://a.test:{p}/ HTTP/1.1\r\n"
#define POST_A "POST http://a.test:{p}/ HTTP/1.1\r\n" A_HOST
#define END "\r\n"
/* Must never reach anybody: the origin's bytes are searched for it. */
#define NEXT "GET http://a.test:{p}/smuggled HTTP/1.1\r\n" A_HOST "\r\n"

#define ROW(what, want, reach, bytes)                                   \
	{                                                               \
		what, bytes, sizeof(bytes) - 1, want, reach, NULL, NULL \
	}
#define SEES(what, want, reach, bytes, sees)                            \
	{                                                               \
		what, bytes, sizeof(bytes) - 1, want, reach, sees, NULL \
	}
#define SAYS(what, want, bytes, says, sees)                         \
	{                                                           \
		what, bytes, sizeof(bytes) - 1, want, 1, sees, says \
	}
#define INNER "GET /inner HTTP/1.1\r\nHost: inner\r\nConnection: close\r\n\r\n"
/* Refused, so that what is behind it is never read as a request. */
#define BAD(what, want, bytes) ROW(what, want, 0, bytes NEXT)

#define GROUP(rows)                                     \
	{                                               \
		rows, sizeof(rows) / sizeof((rows)[0]), \
	}

#endif
