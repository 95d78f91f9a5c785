/* Watches and timers. */
#include "../../proxy/loop.h"
#include "../check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MANY 200

static struct loop *loop;

/* -- timers ---------------------------------------------------------------- */

static struct timer alarms[MANY];
static int64_t last_at;
static int fired;

static void
note(struct timer *t)
{
	/* Whatever was moved and stopped, they come in their order. */
	assert_true(t->at >= last_at);
	assert_true(t->at <= loop_now(loop));
	last_at = t->at;
	fired++;
}

static void
stop(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

static void
timers_fire_in_order_whatever_was_moved(void **state)
{
	struct timer end = {.fire = stop};
	struct err e = ERR_INIT;
	int wanted = 0;

	(void)state;
	srand(7);
	loop = loop_new(&e);
	for (int i = 0; i < MANY; i++) {
		alarms[i] = (struct timer){.fire = note};
		loop_timer(loop, &alarms[i], rand() % 20);
	}
	for (int i = 0; i < MANY; i++)
		if (i % 3 == 0)
			loop_timer(loop, &alarms[i], rand() % 20);
		else if (i % 3 == 1)
			loop_timer_stop(loop, &alarms[i]);
	for (int i = 0; i < MANY; i++)
		wanted += alarms[i].slot != 0;
	loop_timer(loop, &end, 30);
	loop_run(loop);
	assert_int_equal(fired, wanted);
	assert_int_equal(wanted, MANY - (MANY + 1) / 3);
	loop_timer_stop(loop, &end);
	loop_free(loop);
}

/* -- watches --------------------------------------------------------------- */

struct pair {
	struct watch watch;
	struct pair *other;
	int far, calls;
};

static struct pair
pair_new(void (*ready)(struct watch *w, uint32_t events))
{
	struct pair p = {.watch.ready = ready};
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	p.watch.fd = ends[0];
	p.far = ends[1];
	return p;
}

static void
pair_end(struct pair *p)
{
	if (p->watch.fd >= 0)
		(void)close(p->watch.fd);
	(void)close(p->far);
}

/* Both are ready at once; who is first forgets the other. */
static void
end_other(struct watch *w, uint32_t events)
{
	struct pair *p = (void *)((char *)w - offsetof(struct pair, watch));

	assert_true(events & EPOLLIN);
	p->calls++;
	loop_close(loop, &p->other->watch);
	loop_forget(loop, w);
	loop_stop(loop);
}

static void
who_is_forgotten_is_not_called(void **state)
{
	struct pair a = pair_new(end_other), b = pair_new(end_other);
	struct err e = ERR_INIT;

	(void)state;
	loop = loop_new(&e);
	a.other = &b;
	b.other = &a;
	assert_int_equal(loop_watch(loop, &a.watch, EPOLLIN), 0);
	assert_int_equal(loop_watch(loop, &b.watch, EPOLLIN), 0);
	assert_int_equal(write(a.far, "x", 1), 1);
	assert_int_equal(write(b.far, "x", 1), 1);
	loop_run(loop);
	assert_int_equal(a.calls + b.calls, 1);
	loop_free(loop);
	pair_end(&a);
	pair_end(&b);
}

static void
count_call(struct watch *w, uint32_t events)
{
	struct pair *p = (void *)((char *)w - offsetof(struct pair, watch));

	(void)events;
	p->calls++;
	if (p->calls < 3) /* told again, though nothing is new */
		assert_int_equal(loop_watch(loop, w, w->events), 0);
	else
		loop_stop(loop);
}

static void
an_edge_is_told_again_when_asked(void **state)
{
	struct pair p = pair_new(count_call);
	struct err e = ERR_INIT;

	(void)state;
	loop = loop_new(&e);
	assert_int_equal(write(p.far, "x", 1), 1);
	assert_int_equal(loop_watch(loop, &p.watch, EPOLLIN | EPOLLET), 0);
	loop_run(loop);
	assert_int_equal(p.calls, 3);
	loop_free(loop);
	pair_end(&p);
}

static void
never(struct watch *w, uint32_t events)
{
	(void)w;
	(void)events;
	fail_msg("it was handed over");
}

static void
a_descriptor_can_be_handed_over(void **state)
{
	struct pair p = pair_new(never), q = {.watch = {count_call, -1, 0}};
	struct err e = ERR_INIT;

	(void)state;
	loop = loop_new(&e);
	assert_int_equal(loop_watch(loop, &p.watch, EPOLLIN), 0);
	assert_int_equal(
	    loop_hand_over(loop, &p.watch, &q.watch, EPOLLIN | EPOLLET), 0);
	assert_int_equal(p.watch.fd, -1);
	assert_int_equal(write(p.far, "x", 1), 1);
	loop_run(loop);
	assert_int_equal(q.calls, 3);
	loop_close(loop, &q.watch);
	assert_int_equal(q.watch.fd, -1);
	loop_free(loop);
	pair_end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(timers_fire_in_order_whatever_was_moved),
	    cmocka_unit_test(who_is_forgotten_is_not_called),
	    cmocka_unit_test(an_edge_is_told_again_when_asked),
	    cmocka_unit_test(a_descriptor_can_be_handed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
