/* One loop over the stream, the input, the signals. */
#include "cli/session.h"
#include "cli/events.h"
#include "cli/term.h"
#include "lib/base64.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define INPUT_SIZE (64 * 1024)
#define TURN_MS 1000

struct session {
	struct cli *c;
	const struct session_plan *plan;
	struct http_call *stream, *input, *resize, *kill;
	struct buf resize_body;
	char piece[INPUT_SIZE];
	bool feed;	 /* there may be more input */
	bool closing;	 /* this piece of input is the last */
	int signal;	 /* that ended it, 0 for none */
	bool ended;	 /* the exit event came */
	bool unwritable; /* our output is closed */
	int status;
	int signals; /* descriptor */
};

/* -- what comes ------------------------------------------------------------ */

static int
on_output(struct session *s, int to, const json_t *line)
{
	BUF_AUTO bytes = BUF_INIT(EVENTS_LINE_MAX);
	struct err ignored = ERR_INIT;

	if (base64_decode(cli_text(line, "data"), &bytes) != 0)
		return -1;
	/* A pager that is not read for a day is a pager that is gone. */
	if (fd_write_all(to, bytes.data, bytes.size, INT64_MAX, &ignored) == 0)
		return 0;
	s->unwritable = true;
	return -1;
}

static void
on_exit_event(struct session *s, const json_t *line)
{
	const json_t *data = json_object_get(line, "data");
	int64_t code = cli_number(data, "exitCode");

	s->ended = true;
	s->status = code >= 0 && code <= 255 ? (int)code : CLI_CUT;
	if (json_is_true(json_object_get(data, "timedOut"))) {
		s->status = CLI_TIMED_OUT;
		(void)fputs("sbxctl: the command's time was over\n", stderr);
	}
	if (json_is_true(json_object_get(data, "oomKilled")))
		(void)fputs("sbxctl: the run was out of memory\n", stderr);
}

static int
on_event(void *arg, const char *event, const json_t *line)
{
	struct session *s = arg;

	if (str_eq(event, "stdout"))
		return on_output(s, STDOUT_FILENO, line);
	if (str_eq(event, "stderr"))
		return on_output(s, STDERR_FILENO, line);
	if (str_eq(event, "gap"))
		(void)fputs("sbxctl: output is missing here: it was forgotten "
			    "before it was read\n",
		    stderr);
	if (str_eq(event, "exit"))
		on_exit_event(s, line);
	return 0;
}

/* -- what goes ------------------------------------------------------------- */

static const char *
exec_id(const struct session *s)
{
	return s->plan->exec != NULL ? s->plan->exec : http_exec_id(s->stream);
}

static struct http_call *
act(struct session *s, const char *method, const char *what, const char *body,
    size_t size)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);

	buf_addf(
	    &path, "/v1/runs/%s/execs/%s%s", s->plan->run, exec_id(s), what);
	cli_fence(s->c, &path);
	const struct http_request rq = {
	    .method = method, .path = path.data, .body = body, .size = size};
	return http_start(s->c->http, &rq);
}

static void
send_input(struct session *s)
{
	ssize_t n = read(STDIN_FILENO, s->piece, sizeof(s->piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->closing = n <= 0;
	s->input = act(s, "POST", s->closing ? "/stdin?close=1" : "/stdin",
	    s->piece, n > 0 ? (size_t)n : 0);
}

static void
send_size(struct session *s)
{
	int cols, rows;

	if (s->resize != NULL || *exec_id(s) == '\0')
		return;
	term_size(&cols, &rows);
	buf_reset(&s->resize_body);
	buf_addf(&s->resize_body, "{\"cols\":%d,\"rows\":%d}", cols, rows);
	s->resize =
	    act(s, "POST", "/resize", s->resize_body.data, s->resize_body.size);
}

/* -- the loop -------------------------------------------------------------- */

/* True where the session is over. */
static bool
on_signal(struct session *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGWINCH) {
		if (s->plan->tty)
			send_size(s);
		return false;
	}
	/* Who follows only looks on; who asks twice does not want to wait. */
	bool leave =
	    s->signal != 0 || s->plan->body == NULL || *exec_id(s) == '\0';
	s->signal = (int)info.ssi_signo;
	if (!leave)
		s->kill = act(s, "DELETE", "", NULL, 0);
	return leave;
}

static void
settle(struct http_call **call)
{
	if (*call != NULL && http_done(*call)) {
		http_free_call(*call);
		*call = NULL;
	}
}

static void
settle_input(struct session *s)
{
	struct err e = ERR_INIT;

	if (s->input == NULL || !http_done(s->input))
		return;
	/* 409: the command has ended, or reads no more. */
	if (http_result(s->input, &e) != 0 ||
	    (http_status(s->input) / 100 != 2 &&
		http_status(s->input) != 409)) {
		if (e.kind == ERR_NONE)
			(void)cli_problem(s->input, &e);
		(void)cli_fail(&e);
		s->closing = true;
	}
	s->feed = s->feed && !s->closing && http_status(s->input) / 100 == 2;
	settle(&s->input);
}

static void
loop(struct session *s)
{
	while (!http_done(s->stream)) {
		bool reads = s->feed && s->input == NULL && *exec_id(s) != '\0';
		struct pollfd also[] = {
		    {s->signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};

		http_wait(s->c->http, also, reads ? 2 : 1, TURN_MS);
		if (also[0].revents != 0 && on_signal(s))
			return;
		if (reads && also[1].revents != 0)
			send_input(s);
		settle_input(s);
		settle(&s->resize);
	}
}

static int
outcome(struct session *s)
{
	struct err e = ERR_INIT;

	if (s->signal != 0)
		return 128 + s->signal;
	if (s->ended)
		return s->status;
	if (s->unwritable)
		return 128 + SIGPIPE;
	if (http_result(s->stream, &e) != 0 ||
	    http_status(s->stream) / 100 != 2) {
		if (e.kind == ERR_NONE)
			(void)cli_problem(s->stream, &e);
		(void)cli_fail(&e);
		return CLI_CUT;
	}
	(void)fputs("sbxctl: the stream was cut: how the command ended is not "
		    "known\n",
	    stderr);
	return CLI_CUT;
}

static struct http_call *
open_stream(struct session *s, struct events *v)
{
	const struct session_plan *p = s->plan;
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	struct http_request rq = {
	    .method = p->body != NULL ? "POST" : "GET",
	    .accept = "application/x-ndjson",
	    .body = p->body,
	    .size = p->body != NULL ? strlen(p->body) : 0,
	    .take = events_take,
	    .arg = v,
	};

	if (p->body != NULL)
		buf_addf(&path, "/v1/runs/%s/exec", p->run);
	else
		buf_addf(&path, "/v1/runs/%s/execs/%s/stream?format=base64%s",
		    p->run, p->exec, p->query);
	rq.path = path.data;
	return http_start(s->c->http, &rq);
}

static int
take_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGWINCH);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int
session_run(struct cli *c, const struct session_plan *plan)
{
	struct session s = {.c = c,
	    .plan = plan,
	    .feed = plan->feed,
	    .resize_body = BUF_INIT(256),
	    .signals = take_signals()};
	struct events v;

	events_init(&v, on_event, &s);
	s.stream = open_stream(&s, &v);
	if (plan->tty)
		term_raw();
	loop(&s);
	term_restore();
	int status = outcome(&s);
	http_free_call(s.input);
	http_free_call(s.resize);
	http_free_call(s.kill);
	http_free_call(s.stream);
	events_release(&v);
	buf_release(&s.resize_body);
	fd_close(&s.signals);
	return status;
}
