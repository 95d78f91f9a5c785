/*
 * proxy/control: what a client says, in pieces, is answered by one line of a
 * refusal, or by what was asked for; and a policy holds from then on where its
 * text is one, and only there. The first byte chooses the size of the pieces.
 */
#include "../../proxy/control.h"
#include "check.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/str.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PIECES 16
#define FOLLOW_MS 1
#define PATIENCE_MS (CONTROL_PATIENCE_MS / 2)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What there is once, for all inputs. */
static struct {
	struct loop *loop;
	struct ledger *ledger;
	struct control *control;
	struct sockaddr_un address;
	socklen_t address_size;
	int set; /* how many policies there were */
} here;

/* The client of one input. */
struct client {
	struct watch watch;
	struct timer leaves; /* where it follows the log: that has no end */
	const char *at;
	size_t left, step;
	struct buf answer;
};

static void
on_set(void *arg, struct policy *p)
{
	(void)arg;
	here.set++;
	policy_free(p);
}

static void
on_leave(struct timer *t)
{
	(void)t;
	loop_stop(here.loop);
}

/* One piece more; its end behind the last; and then what comes back. */
static void
on_ready(struct watch *w, uint32_t events)
{
	struct client *c = (void *)((char *)w - offsetof(struct client, watch));
	char piece[4096];

	(void)events;
	if (c->left > 0) {
		size_t size = c->left < c->step ? c->left : c->step;
		ssize_t n = send(w->fd, c->at, size, MSG_NOSIGNAL);

		/* It may have been answered, and closed, before it is done. */
		size = n > 0 ? (size_t)n : c->left;
		c->at += size;
		c->left -= size;
		if (c->left > 0)
			return;
		(void)shutdown(w->fd, SHUT_WR);
		check(loop_watch(here.loop, w, EPOLLIN) == 0);
		return;
	}
	ssize_t n = recv(w->fd, piece, sizeof(piece), 0);
	if (n > 0)
		buf_add(&c->answer, piece, (size_t)n);
	else
		loop_stop(here.loop);
}

static void
set_up(void)
{
	const struct ledger_entry seen = {.verdict = LEDGER_MALFORMED,
	    .method = "GET",
	    .host = "",
	    .address = "",
	    .reason = "no host",
	    .status = 400};
	struct err e = ERR_INIT;
	int listener =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	/* An abstract name that the kernel chooses: unix(7), autobind. */
	here.address.sun_family = AF_UNIX;
	here.address_size = sizeof(here.address);
	check(listener >= 0 &&
	      bind(listener, (void *)&here.address, sizeof(sa_family_t)) == 0 &&
	      getsockname(
		  listener, (void *)&here.address, &here.address_size) == 0 &&
	      listen(listener, 16) == 0);
	here.loop = loop_new(&e);
	here.ledger = ledger_new();
	here.control =
	    control_new(here.loop, listener, here.ledger, on_set, NULL, &e);
	check(here.loop != NULL && here.control != NULL);
	for (int i = 0; i < 3; i++)
		ledger_add(here.ledger, &seen);
}

/* Whether each line of an answer is a JSON object. */
static bool
is_objects(const char *text)
{
	const char *at = text, *line;
	size_t size;

	while ((line = str_word(&at, "\n", &size)) != NULL) {
		json_auto_t *o = json_loadb(line, size, 0, NULL);

		if (!json_is_object(o))
			return false;
	}
	return *text != '\0';
}

static bool
is_policy(const char *text, size_t size)
{
	struct err e = ERR_INIT;
	struct policy *p = policy_parse(text, size, &e);

	policy_free(p);
	return p != NULL;
}

static void
check_answer(const struct client *c, const char *said, size_t size)
{
	const char *text = c->answer.data;
	const char *end = memchr(said, '\n', size);
	size_t line = end != NULL ? (size_t)(end - said) : size;
	size_t behind = line + (end != NULL);
	bool policy = strnlen(said, line) == strlen("policy") &&
		      memcmp(said, "policy", strlen("policy")) == 0;
	bool good = policy && is_policy(said + behind, size - behind);

	check(here.set == (good && line < 64));
	if (here.set > 0)
		check(str_eq(text, "ok\n"));
	else if (policy)
		check(str_starts(text, "error "));
	if (str_starts(text, "error "))
		check(strchr(text, '\n') == text + c->answer.size - 1);
	else if (!policy)
		check(*text == '\0' || is_objects(text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 16384)
		return 0;
	if (here.loop == NULL)
		set_up();
	const char *said = (const char *)data + 1;
	struct client c = {.watch = {on_ready, -1, 0},
	    .leaves = {.fire = on_leave},
	    .at = said,
	    .left = --size,
	    .step = 1 + data[0] % 32u,
	    .answer = BUF_INIT(1u << 20)};

	if (c.step < size / PIECES)
		c.step = size / PIECES;
	here.set = 0;
	int64_t began = clock_mono_ms();
	c.watch.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check(c.watch.fd >= 0 && connect(c.watch.fd, (void *)&here.address,
				     here.address_size) == 0);
	check(loop_watch(here.loop, &c.watch, EPOLLOUT) == 0);
	if (size > 4 && memcmp(said, "log ", 4) == 0)
		loop_timer(here.loop, &c.leaves, FOLLOW_MS);
	loop_run(here.loop);
	/* Who was stopped for long has been dropped, and that is right. */
	if (clock_mono_ms() - began < PATIENCE_MS)
		check_answer(&c, said, size);
	loop_timer_stop(here.loop, &c.leaves);
	loop_close(here.loop, &c.watch);
	buf_release(&c.answer);
	return 0;
}
