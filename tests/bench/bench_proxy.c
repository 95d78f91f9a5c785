/* The proxy beside others, beside none, and beside the least there can be. */
#include "../check.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "measure.h"
#include "relay.h"
#include "upstream.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define GIB ((uint64_t)1 << 30)
#define STREAM_GIB 2.0
#define STREAM_BYTES ((uint64_t)STREAM_GIB * GIB)
#define STREAM_ROUNDS 5
#define LOAD_MS 800
#define LOAD_ROUNDS 5
#define LOAD_CONNS 32
#define SINGLE 2000 /* requests one after the other, a round */
#define TUNNELS 1000
#define STARTS 30

static struct upstream origin;
static struct relay relay[RELAY_KINDS];

/* -- one tunnel ------------------------------------------------------------ */

struct tunnel {
	struct relay *relay;
	struct samples cpu; /* seconds for each GiB */
};

/* Seconds, as ms, for all bytes of one stream. */
static double
stream_once(void *arg)
{
	static char bytes[256 * 1024];
	struct tunnel *t = arg;
	char request[64];
	int fd = relay_tunnel(t->relay);
	double cpu = cpu_seconds(t->relay->pid);
	int64_t begin = clock_mono_us();
	uint64_t left = STREAM_BYTES;

	(void)snprintf(request, sizeof(request), "STREAM %llu\n",
	    (unsigned long long)left);
	assert_true(send(fd, request, strlen(request), 0) > 0);
	while (left > 0) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

		assert_true(n > 0);
		left -= (uint64_t)n;
	}
	int64_t took = clock_mono_us() - begin;
	if (t->relay->kind != RELAY_DIRECT)
		samples_add(
		    &t->cpu, (cpu_seconds(t->relay->pid) - cpu) / STREAM_GIB);
	(void)close(fd);
	return (double)took / 1000;
}

static void
a_tunnel_is_as_fast_as_no_proxy(void **state)
{
	struct tunnel tunnel[RELAY_KINDS] = {{0}};
	struct contender c[RELAY_KINDS] = {{0}};
	double gib[RELAY_KINDS], cpu[RELAY_KINDS];
	size_t count = 0;

	(void)state;
	for (int i = 0; i < RELAY_KINDS; i++) {
		tunnel[i].relay = &relay[i];
		if (relay[i].there)
			c[count++] = (struct contender){
			    .once = stream_once, .arg = &tunnel[i]};
	}
	measure_in_turn(c, count, STREAM_ROUNDS);
	memset(gib, 0, sizeof(gib));
	for (size_t i = 0; i < count; i++) {
		struct tunnel *t = c[i].arg;
		enum relay_kind kind = t->relay->kind;

		gib[kind] = STREAM_GIB * 1000.0 / samples_at(&c[i].ms, 0.5);
		cpu[kind] = samples_at(&t->cpu, 0.5);
		printf("%s: %.2f GiB/s, %.3f CPU-s/GiB\n", relay_name[kind],
		    gib[kind], cpu[kind]);
	}
	contenders_release(c, count);
	struct row row = {.goal = ">= 0.95 x direct"};
	(void)snprintf(
	    row.ours, sizeof(row.ours), "%.2f GiB/s", gib[RELAY_OURS]);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "direct %.2f, splice loop %.2f, tinyproxy %.2f, squid %.2f",
	    gib[RELAY_DIRECT], gib[RELAY_LOOP], gib[RELAY_TINYPROXY],
	    gib[RELAY_SQUID]);
	double ratio = gib[RELAY_OURS] / gib[RELAY_DIRECT];
	(void)snprintf(row.ratio, sizeof(row.ratio), "%.2f x direct", ratio);
	row.verdict = ratio >= 0.95 ? GOAL_MET : GOAL_MISSED;
	row_add("proxy: one CONNECT tunnel", &row);

	row = (struct row){.goal = "<= 0.25"};
	(void)snprintf(
	    row.ours, sizeof(row.ours), "%.3f CPU-s/GiB", cpu[RELAY_OURS]);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "splice loop %.3f, tinyproxy %.3f, squid %.3f", cpu[RELAY_LOOP],
	    relay[RELAY_TINYPROXY].there ? cpu[RELAY_TINYPROXY] : 0,
	    relay[RELAY_SQUID].there ? cpu[RELAY_SQUID] : 0);
	row.verdict = cpu[RELAY_OURS] <= 0.25 ? GOAL_MET : GOAL_MISSED;
	row_add("proxy: processor time of a tunnel", &row);
}

/* -- many requests --------------------------------------------------------- */

enum what { KEPT, CLOSED, SET_UP };

struct load {
	struct relay *relay;
	enum what what;
	struct samples per_second;
};

struct conn {
	int fd;
	size_t got;
	char head[1024];
};

static char request[1024];

static void
prepare(const struct load *l)
{
	if (l->what == SET_UP)
		(void)snprintf(request, sizeof(request),
		    "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
		    "\r\n",
		    l->relay->origin_port, l->relay->origin_port);
	else
		relay_request(
		    l->relay, l->what == KEPT, request, sizeof(request));
}

static void
begin_conn(const struct load *l, int epoll, struct conn *c)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

	c->fd = relay_connect(l->relay);
	c->got = 0;
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event), 0);
	assert_true(send(c->fd, request, strlen(request), MSG_NOSIGNAL) > 0);
}

/* Whether the answer is whole. */
static bool
is_whole(const struct load *l, struct conn *c, size_t got)
{
	size_t room = sizeof(c->head) - 1, at = c->got;
	const char *end;

	/* Its head fits, and so does what is told of it. */
	if (at < room) {
		size_t size = got < room - at ? got : room - at;

		c->head[at + size] = '\0';
	}
	c->got += got;
	end = strstr(c->head, "\r\n\r\n");
	if (end == NULL)
		return false;
	return l->what == SET_UP ||
	       c->got >= (size_t)(end - c->head) + 4 + UPSTREAM_BODY;
}

static bool
take(const struct load *l, int epoll, struct conn *c)
{
	char bytes[4096];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);

	/* It keeps no connection, and answers no more than one request. */
	if (n <= 0 && l->relay->kind == RELAY_TINYPROXY) {
		(void)close(c->fd);
		begin_conn(l, epoll, c);
		return false;
	}
	assert_true(n > 0);
	if (c->got < sizeof(c->head) - 1) {
		size_t room = sizeof(c->head) - 1 - c->got;

		memcpy(c->head + c->got, bytes,
		    (size_t)n < room ? (size_t)n : room);
	}
	if (!is_whole(l, c, (size_t)n))
		return false;
	assert_true(str_starts(c->head + 8, " 200 "));
	if (l->what == KEPT) {
		c->got = 0;
		assert_true(
		    send(c->fd, request, strlen(request), MSG_NOSIGNAL) > 0);
		return true;
	}
	(void)close(c->fd);
	begin_conn(l, epoll, c);
	return true;
}

static double
load_once(void *arg)
{
	static struct conn conns[LOAD_CONNS];
	struct load *l = arg;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int64_t begin, end, now;
	uint64_t count = 0;

	prepare(l);
	for (int i = 0; i < LOAD_CONNS; i++)
		begin_conn(l, epoll, &conns[i]);
	begin = clock_mono_us();
	end = begin + LOAD_MS * 1000;
	while ((now = clock_mono_us()) < end) {
		struct epoll_event events[LOAD_CONNS];
		int n = epoll_wait(epoll, events, LOAD_CONNS, 1000);

		assert_true(n > 0);
		for (int i = 0; i < n; i++)
			count += take(l, epoll, events[i].data.ptr);
	}
	for (int i = 0; i < LOAD_CONNS; i++)
		(void)close(conns[i].fd);
	(void)close(epoll);
	samples_add(
	    &l->per_second, (double)count * 1e6 / (double)(now - begin));
	return (double)(now - begin) / 1000;
}

/* Requests a second of each kind, the median. */
static void
measure_load(enum what what, double ret_rate[RELAY_KINDS])
{
	struct load load[RELAY_KINDS] = {{0}};
	struct contender c[RELAY_KINDS] = {{0}};
	size_t count = 0;

	for (int i = 0; i < RELAY_KINDS; i++) {
		load[i] = (struct load){.relay = &relay[i], .what = what};
		if (relay[i].there && i != RELAY_LOOP &&
		    (what != SET_UP || i != RELAY_DIRECT))
			c[count++] = (struct contender){
			    .once = load_once, .arg = &load[i]};
	}
	measure_in_turn(c, count, LOAD_ROUNDS);
	for (int i = 0; i < RELAY_KINDS; i++) {
		ret_rate[i] = samples_at(&load[i].per_second, 0.5);
		samples_release(&load[i].per_second);
	}
	contenders_release(c, count);
}

static void
judge_load(const char *measure, enum what what, double goal)
{
	double rate[RELAY_KINDS];
	struct row row = {.verdict = NO_GOAL};

	measure_load(what, rate);
	double ratio = rate[RELAY_OURS] / rate[RELAY_DIRECT];
	(void)snprintf(row.ours, sizeof(row.ours), "%.0f/s", rate[RELAY_OURS]);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "direct %.0f, tinyproxy %.0f, squid %.0f", rate[RELAY_DIRECT],
	    rate[RELAY_TINYPROXY], rate[RELAY_SQUID]);
	(void)snprintf(row.ratio, sizeof(row.ratio), "%.2f x direct", ratio);
	(void)snprintf(row.goal, sizeof(row.goal), ">= %.2f x direct", goal);
	row.verdict = ratio >= goal ? GOAL_MET : GOAL_MISSED;
	row_add(measure, &row);
}

static void
requests_are_many(void **state)
{
	double rate[RELAY_KINDS];
	struct row row = {.goal = ">= 7000/s"};

	(void)state;
	judge_load("proxy: GET of 1 KiB, kept connections", KEPT, 0.40);
	judge_load("proxy: GET of 1 KiB, a connection each", CLOSED, 0.35);
	measure_load(SET_UP, rate);
	(void)snprintf(row.ours, sizeof(row.ours), "%.0f/s", rate[RELAY_OURS]);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "tinyproxy %.0f, squid %.0f", rate[RELAY_TINYPROXY],
	    rate[RELAY_SQUID]);
	row.verdict = rate[RELAY_OURS] >= 7000 ? GOAL_MET : GOAL_MISSED;
	row_add("proxy: CONNECT set-ups", &row);
}

/* -- one request after the other ------------------------------------------- */

struct single {
	struct relay *relay;
	struct samples ms;
};

static int
say_again(const struct relay *r)
{
	int fd = relay_connect(r);

	assert_true(send(fd, request, strlen(request), 0) > 0);
	return fd;
}

static double
single_once(void *arg)
{
	struct single *s = arg;
	struct load l = {.relay = s->relay, .what = KEPT};
	struct conn c = {0};
	char bytes[4096];
	int64_t all = clock_mono_us();

	prepare(&l);
	c.fd = relay_connect(s->relay);
	for (int i = 0; i < SINGLE; i++) {
		int64_t begin = clock_mono_us();
		bool whole = false;

		c.got = 0;
		assert_true(send(c.fd, request, strlen(request), 0) > 0);
		while (!whole) {
			ssize_t n = recv(c.fd, bytes, sizeof(bytes), 0);

			if (n <= 0 && s->relay->kind == RELAY_TINYPROXY) {
				(void)close(c.fd);
				c.fd = say_again(s->relay);
				c.got = 0;
				continue;
			}
			assert_true(n > 0);
			size_t room = sizeof(c.head) - 1 - c.got;
			memcpy(c.head + c.got, bytes,
			    (size_t)n < room ? (size_t)n : room);
			whole = is_whole(&l, &c, (size_t)n);
		}
		if (i >= SINGLE / 10)
			samples_add(
			    &s->ms, (double)(clock_mono_us() - begin) / 1000);
	}
	(void)close(c.fd);
	return (double)(clock_mono_us() - all) / 1000;
}

static void
judge_added(
    const char *measure, const struct single *s, double share, double goal)
{
	struct row row = {.verdict = NO_GOAL};
	double direct = samples_at(&s[RELAY_DIRECT].ms, share);
	double ours = samples_at(&s[RELAY_OURS].ms, share) - direct;

	(void)snprintf(row.ours, sizeof(row.ours), "%.3f ms", ours);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "direct takes %.3f; tinyproxy adds %.3f, squid %.3f", direct,
	    samples_at(&s[RELAY_TINYPROXY].ms, share) - direct,
	    samples_at(&s[RELAY_SQUID].ms, share) - direct);
	(void)snprintf(row.goal, sizeof(row.goal), "<= %.2f ms", goal);
	row.verdict = ours <= goal ? GOAL_MET : GOAL_MISSED;
	row_add(measure, &row);
}

static void
little_is_added_to_a_request(void **state)
{
	struct single s[RELAY_KINDS] = {{0}};
	struct contender c[RELAY_KINDS] = {{0}};
	size_t count = 0;

	(void)state;
	for (int i = 0; i < RELAY_KINDS; i++) {
		s[i].relay = &relay[i];
		if (relay[i].there && i != RELAY_LOOP)
			c[count++] = (struct contender){
			    .once = single_once, .arg = &s[i]};
	}
	measure_in_turn(c, count, LOAD_ROUNDS);
	judge_added("proxy: added to a kept GET, p50", s, 0.5, 0.10);
	judge_added("proxy: added to a kept GET, p99", s, 0.99, 0.15);
	for (int i = 0; i < RELAY_KINDS; i++)
		samples_release(&s[i].ms);
	contenders_release(c, count);
}

/* -- start and memory ------------------------------------------------------ */

static void
it_listens_soon(void **state)
{
	struct samples ms = {0};
	struct row row = {.goal = "<= 3 ms"};

	(void)state;
	for (int i = 0; i < STARTS; i++)
		samples_add(&ms, relay_start_ms(RELAY_OURS, origin.port));
	(void)snprintf(row.ours, sizeof(row.ours), "%.2f ms, p99 %.2f",
	    samples_at(&ms, 0.5), samples_at(&ms, 0.99));
	row.verdict = samples_at(&ms, 0.5) <= 3 ? GOAL_MET : GOAL_MISSED;
	row_add("proxy: from start to listening", &row);
	samples_release(&ms);
}

static double
pss_of_new(enum relay_kind kind, double *ret_tunnel)
{
	struct relay one = relay_start(kind, origin.port);
	double idle, more;
	static int fds[TUNNELS];

	if (!one.there) {
		relay_stop(&one);
		return 0;
	}
	(void)close(relay_tunnel(&one));
	idle = relay_pss(&one);
	for (int i = 0; i < TUNNELS; i++)
		fds[i] = relay_tunnel(&one);
	more = relay_pss(&one);
	for (int i = 0; i < TUNNELS; i++)
		(void)close(fds[i]);
	relay_stop(&one);
	*ret_tunnel = (more - idle) / TUNNELS;
	return idle;
}

static void
it_is_small(void **state)
{
	double idle[RELAY_KINDS] = {0}, tunnel[RELAY_KINDS] = {0};
	struct row row = {.goal = "<= 0.40 MiB"};

	(void)state;
	for (int i = RELAY_OURS; i < RELAY_KINDS; i++)
		idle[i] = pss_of_new((enum relay_kind)i, &tunnel[i]);
	(void)snprintf(
	    row.ours, sizeof(row.ours), "%.2f MiB", idle[RELAY_OURS] / 1024);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "tinyproxy %.2f, squid %.2f", idle[RELAY_TINYPROXY] / 1024,
	    idle[RELAY_SQUID] / 1024);
	row.verdict = idle[RELAY_OURS] <= 0.4 * 1024 ? GOAL_MET : GOAL_MISSED;
	row_add("proxy: memory (PSS), idle", &row);

	row = (struct row){.goal = "<= 3 KiB"};
	(void)snprintf(
	    row.ours, sizeof(row.ours), "%.2f KiB", tunnel[RELAY_OURS]);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "tinyproxy %.2f, squid %.2f", tunnel[RELAY_TINYPROXY],
	    tunnel[RELAY_SQUID]);
	row.verdict = tunnel[RELAY_OURS] <= 3 ? GOAL_MET : GOAL_MISSED;
	row_add("proxy: memory of an idle tunnel", &row);
}

static int
start_all(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	origin = upstream_start();
	for (int i = 0; i < RELAY_KINDS; i++)
		relay[i] = relay_start((enum relay_kind)i, origin.port);
	return 0;
}

static int
stop_all(void **state)
{
	(void)state;
	for (int i = 0; i < RELAY_KINDS; i++)
		relay_stop(&relay[i]);
	upstream_stop(&origin);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_tunnel_is_as_fast_as_no_proxy),
	    cmocka_unit_test(requests_are_many),
	    cmocka_unit_test(little_is_added_to_a_request),
	    cmocka_unit_test(it_listens_soon),
	    cmocka_unit_test(it_is_small),
	};

	return cmocka_run_group_tests(tests, start_all, stop_all);
}
