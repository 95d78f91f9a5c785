/* sbx-proxy: opens all that it needs, gives up what it does not, serves. */
#include "confine.h"
#include "control.h"
#include "detach.h"
#include "lib/fd.h"
#include "lib/log.h"
#include "lib/str.h"
#include "options.h"
#include "proxy.h"
#include "watch.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define VERSION "0.1.0"

/* Beside two for each connection: those that are one too many, DIALS_MORE,
 * pipes, name servers, the control's. */
#define DESCRIPTORS_MORE 384

static const char usage[] =
    "usage: sbx-proxy --listen ADDR:PORT --policy FILE [options]\n"
    "       sbx-proxy --netns PATH [--subnet CIDR] --pid PID --policy FILE "
    "--control PATH [--detach]\n"
    "\n"
    "An HTTP proxy that reaches what its policy admits and nothing else:\n"
    "tunnels (CONNECT) and plain requests, HTTP/1.1 and 1.0. Any number of\n"
    "them may run. SIGTERM ends it.\n"
    "\n";

/* All that lives as long as the process. */
struct serving {
	struct loop *loop;
	struct resolver *resolver;
	struct ledger *ledger;
	struct proxy *proxy;
	struct control *control;
	int listener, signals, run, control_socket;
	struct watch on_signal;
	struct watch_run on_run;
	struct watch_file on_file;
	const char *name; /* of the run */
	const char *why;  /* it ended */
};

/* -- what it is called by -------------------------------------------------- */

static void
on_signal(struct watch *w, uint32_t events)
{
	struct serving *s =
	    (void *)((char *)w - offsetof(struct serving, on_signal));

	(void)events;
	s->why = "signal";
	loop_stop(s->loop);
}

static void
on_run_ended(void *arg)
{
	struct serving *s = arg;

	s->why = "run";
	loop_stop(s->loop);
}

static void
on_file_gone(void *arg)
{
	struct serving *s = arg;

	s->why = "socket";
	loop_stop(s->loop);
}

static void
log_run(struct jw *w, const struct serving *s)
{
	if (s->name[0] != '\0')
		jw_str(w, "run", s->name);
}

static void
on_policy(void *arg, struct policy *policy)
{
	struct serving *s = arg;

	proxy_set_policy(s->proxy, policy);
	LOG_EVENT(w, "policy.changed")
	{
		log_run(&w, s);
		jw_str(&w, "by", "control");
	}
}

/* -- setting up ------------------------------------------------------------ */

static struct policy *
read_policy(const char *path, struct err *e)
{
	size_t size;
	char *text = fd_read_file(path, POLICY_TEXT_MAX, &size, e);
	struct policy *policy = NULL;

	if (text == NULL)
		return NULL;
	policy = policy_parse(text, size, e);
	if (policy == NULL)
		(void)err_wrap(e, "%s", path);
	free(text);
	return policy;
}

/* As a descriptor: the loop may not be interrupted. */
static int
open_signals(struct err *e)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : err_sys(e, ERR_INTERNAL, "signalfd");
}

/* Everything that takes a right, or a file. */
static int
open_all(struct serving *s, const struct options *o, struct err *e)
{
	s->run = s->control_socket = -1;
	s->signals = open_signals(e);
	if (s->signals < 0)
		return -1;
	if (o->pid != 0 && (s->run = watch_open(o->pid, o->netns, e)) < 0)
		return -1;
	const struct place at = {o->netns,
	    o->subnet.bits != 0 ? &o->subnet : NULL, o->address, o->port};
	s->listener = place_listen(&at, e);
	if (s->listener < 0)
		return -1;
	if (o->control[0] != '\0' &&
	    (s->control_socket =
		    fd_listen_unix(o->control, 0600, CONTROL_CLIENTS, e)) < 0)
		return -1;
	s->loop = loop_new(e);
	if (s->loop == NULL)
		return -1;
	s->resolver = resolver_new(s->loop, o->hosts, o->resolv, e);
	return s->resolver != NULL ? 0 : -1;
}

/* What it is reached at by whom it dials for, with the port that it got. */
static uint16_t
port_of(int listener)
{
	struct sockaddr_in6 a = {0};
	socklen_t size = sizeof(a);

	/* The port is at the same place in both families. */
	if (getsockname(listener, (struct sockaddr *)&a, &size) != 0)
		return 0;
	return ntohs(a.sin6_port);
}

static int
make_all(struct serving *s, const struct options *o, struct err *e)
{
	struct policy *policy = read_policy(o->policy, e);

	if (policy == NULL)
		return -1;
	s->ledger = ledger_new();
	s->proxy =
	    proxy_new(s->loop, s->listener, s->resolver, s->ledger, &o->limits);
	if (o->netns[0] == '\0')
		proxy_own(s->proxy, &o->address, port_of(s->listener));
	proxy_set_policy(s->proxy, policy);
	s->on_signal.fd = s->signals;
	s->on_signal.ready = on_signal;
	if (loop_watch(s->loop, &s->on_signal, EPOLLIN) != 0)
		return err_sys(e, ERR_INTERNAL, "epoll_ctl");
	if (s->run >= 0 &&
	    watch_run(&s->on_run, s->loop, s->run, on_run_ended, s, e) != 0)
		return -1;
	if (s->control_socket >= 0 &&
	    (s->control = control_new(s->loop, s->control_socket, s->ledger,
		 on_policy, s, e)) == NULL)
		return -1;
	if (s->control_socket >= 0 && watch_file(&s->on_file, s->loop,
					  o->control, on_file_gone, s, e) != 0)
		return -1;
	return 0;
}

static void
end_all(struct serving *s)
{
	/* Who follows the log hears how the connections ended. */
	proxy_free(s->proxy);
	ledger_end(s->ledger);
	control_free(s->control);
	ledger_free(s->ledger);
	resolver_free(s->resolver);
	loop_free(s->loop);
}

static int
serve(const struct options *o, struct err *e)
{
	struct serving s = {.name = o->name, .why = ""};
	int background = -1;

	if (confine_descriptors(e) != 0 ||
	    (o->detach && (background = detach(e)) < 0) ||
	    open_all(&s, o, e) != 0 || make_all(&s, o, e) != 0 ||
	    confine((unsigned)o->limits.connections * 2 + DESCRIPTORS_MORE,
		o->user, e) != 0)
		return -1;
	LOG_EVENT(w, "proxy.started")
	{
		log_run(&w, &s);
		jw_int(&w, "port", port_of(s.listener));
	}
	if (background >= 0)
		detach_ready(background);
	loop_run(s.loop);
	LOG_EVENT(w, "proxy.ended")
	{
		log_run(&w, &s);
		jw_str(&w, "why", s.why);
	}
	end_all(&s);
	return 0;
}

int
main(int argc, char **argv)
{
	struct options options;
	struct err e = ERR_INIT;

	log_open("sbx-proxy");
	if (argc == 2 && str_eq(argv[1], "--version")) {
		puts("sbx-proxy " VERSION);
		return EXIT_SUCCESS;
	}
	if (options_parse(argc, argv, &options, &e) == 0 && options.help) {
		fputs(usage, stdout);
		options_help(stdout);
		return EXIT_SUCCESS;
	}
	if (e.kind == ERR_NONE && serve(&options, &e) == 0)
		return EXIT_SUCCESS;
	log_last_words(e.text);
	return e.kind == ERR_INPUT ? EXIT_USAGE : EXIT_FAILURE;
}
