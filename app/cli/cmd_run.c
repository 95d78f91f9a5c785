/* sbxctl run: make a run, and execute in it. */
#include "cli/commands.h"
#include "cli/exec_options.h"
#include "lib/jw.h"
#include "lib/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX 64
#define STREAM_MAX (1u << 20)

enum {
	RUN_RM = EXEC_LONG_LAST,
	RUN_NETWORK,
	RUN_ALLOW,
	RUN_TTL,
	RUN_MEMORY,
	RUN_CPUS,
	RUN_PIDS,
	RUN_LABEL,
	RUN_WARM,
	RUN_EXTEND,
};

struct words {
	const char *item[LIST_MAX];
	size_t count;
};

struct plan {
	struct exec_options exec;
	const char *network, *ttl, *memory, *cpus, *pids, *warm;
	struct words allow, label;
	bool rm, extend;
};

static const struct option options[] = {
    EXEC_LONG,
    {"rm", no_argument, NULL, RUN_RM},
    {"network", required_argument, NULL, RUN_NETWORK},
    {"allow", required_argument, NULL, RUN_ALLOW},
    {"ttl", required_argument, NULL, RUN_TTL},
    {"memory", required_argument, NULL, RUN_MEMORY},
    {"cpus", required_argument, NULL, RUN_CPUS},
    {"pids", required_argument, NULL, RUN_PIDS},
    {"label", required_argument, NULL, RUN_LABEL},
    {"warm", required_argument, NULL, RUN_WARM},
    {"auto-extend", no_argument, NULL, RUN_EXTEND},
    {NULL, 0, NULL, 0},
};

/* -- options --------------------------------------------------------------- */

static int
add_word(struct words *to, const char *word)
{
	if (to->count == LIST_MAX) {
		(void)cli_misuse("run", "too many of one option");
		return -1;
	}
	to->item[to->count++] = word;
	return 0;
}

/* Where an option's value goes; NULL where it is none of these. */
static const char **
place_of(struct plan *p, int option)
{
	switch (option) {
	case RUN_NETWORK:
		return &p->network;
	case RUN_TTL:
		return &p->ttl;
	case RUN_MEMORY:
		return &p->memory;
	case RUN_CPUS:
		return &p->cpus;
	case RUN_PIDS:
		return &p->pids;
	case RUN_WARM:
		return &p->warm;
	default:
		return NULL;
	}
}

static int
one_option(struct plan *p, int option)
{
	const char **place = place_of(p, option);

	if (place != NULL) {
		*place = optarg;
		return 0;
	}
	switch (option) {
	case RUN_RM:
		p->rm = true;
		return 0;
	case RUN_EXTEND:
		p->extend = true;
		return 0;
	case RUN_ALLOW:
		return add_word(&p->allow, optarg);
	case RUN_LABEL:
		return strchr(optarg, '=') != NULL ? add_word(&p->label, optarg)
						   : -1;
	default:
		return exec_option(&p->exec, "run", option, optarg);
	}
}

static int
check(const struct plan *p)
{
	const char *const number[] = {p->ttl, p->memory, p->pids};

	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		if (number[i] != NULL && !cli_is_number(number[i])) {
			(void)cli_misuse(
			    "run", "%s is no whole number", number[i]);
			return -1;
		}
	if (p->cpus != NULL &&
	    strspn(p->cpus, "0123456789.") != strlen(p->cpus)) {
		(void)cli_misuse("run", "%s is no number of CPUs", p->cpus);
		return -1;
	}
	return exec_options_check(&p->exec, "run");
}

/* -- the request ----------------------------------------------------------- */

static void
add_number(struct jw *w, const char *name, const char *value)
{
	if (value != NULL)
		jw_real(w, name, strtod(value, NULL));
}

static void
add_labels(struct jw *w, const struct words *labels)
{
	BUF_AUTO name = BUF_INIT(1024);

	jw_key(w, "labels");
	jw_open(w, '{');
	for (size_t i = 0; i < labels->count; i++) {
		const char *label = labels->item[i];
		size_t size = strcspn(label, "=");

		buf_reset(&name);
		buf_add(&name, label, size);
		jw_str(
		    w, name.data, label[size] == '=' ? label + size + 1 : "");
	}
	jw_close(w, '}');
}

/* REPOSITORY[:PATH] */
static void
add_warm(struct jw *w, const char *warm)
{
	size_t size = strcspn(warm, ":");

	jw_key(w, "warm");
	jw_open(w, '{');
	jw_strn(w, "repo", warm, size);
	if (warm[size] == ':')
		jw_str(w, "path", warm + size + 1);
	jw_close(w, '}');
}

static void
create_body(const struct plan *p, const char *image, struct buf *to)
{
	struct jw w = JW_INIT(to);

	jw_open(&w, '{');
	jw_str(&w, "image", image);
	if (p->network != NULL)
		jw_str(&w, "network", p->network);
	if (p->ttl != NULL)
		jw_raw(&w, "ttlSec", p->ttl);
	if (p->extend)
		jw_bool(&w, "autoExtend", true);
	jw_key(&w, "egressAllow");
	jw_open(&w, '[');
	for (size_t i = 0; i < p->allow.count; i++)
		jw_str(&w, NULL, p->allow.item[i]);
	jw_close(&w, ']');
	jw_key(&w, "limits");
	jw_open(&w, '{');
	if (p->memory != NULL)
		jw_raw(&w, "memoryMb", p->memory);
	if (p->pids != NULL)
		jw_raw(&w, "pids", p->pids);
	add_number(&w, "cpus", p->cpus);
	jw_close(&w, '}');
	add_labels(&w, &p->label);
	exec_env(&w, p->exec.env, p->exec.env_count);
	if (p->warm != NULL)
		add_warm(&w, p->warm);
	jw_close(&w, '}');
}

/* -- the making, watched --------------------------------------------------- */

struct making {
	struct buf rest; /* of the event stream */
	json_t *run, *problem;
	bool shows; /* progress, on standard error */
	bool shown; /* a line that is not ended */
};

static void
show_progress(struct making *m, const json_t *data)
{
	int64_t now = cli_number(data, "current");
	int64_t total = cli_number(data, "total");

	if (!m->shows)
		return;
	(void)fprintf(stderr, "\r\033[K%s", cli_text(data, "phase"));
	if (total > 0)
		(void)fprintf(stderr, " %lld of %lld MiB",
		    (long long)(now >> 20), (long long)(total >> 20));
	m->shown = true;
}

/* One frame, without the blank line behind it. */
static void
one_frame(struct making *m, const char *frame)
{
	static const char event_is[] = "event: ", data_is[] = "\ndata: ";
	const char *data = strstr(frame, data_is);

	if (!str_starts(frame, event_is) || data == NULL)
		return;
	json_auto_t *o = json_loads(data + sizeof(data_is) - 1, 0, NULL);
	if (str_starts(frame + sizeof(event_is) - 1, "progress"))
		show_progress(m, o);
	else if (str_starts(frame + sizeof(event_is) - 1, "run"))
		m->run = json_incref(o);
	else if (str_starts(frame + sizeof(event_is) - 1, "error"))
		m->problem = json_incref(o);
}

static int
on_bytes(void *arg, const char *bytes, size_t size)
{
	struct making *m = arg;
	char *end;

	buf_add(&m->rest, bytes, size);
	while ((end = strstr(m->rest.data, "\n\n")) != NULL) {
		*end = '\0';
		one_frame(m, m->rest.data);
		buf_drop(&m->rest, (size_t)(end - m->rest.data) + 2);
	}
	return m->rest.over ? -1 : 0;
}

static int
make(struct cli *c, const char *body, json_t **ret_run, struct err *e)
{
	struct making m = {
	    .rest = BUF_INIT(STREAM_MAX), .shows = isatty(STDERR_FILENO)};
	const struct http_request rq = {
	    .method = "POST",
	    .path = "/v1/runs",
	    .accept = "text/event-stream",
	    .body = body,
	    .size = strlen(body),
	    .take = on_bytes,
	    .arg = &m,
	};
	int rc = cli_call(c, &rq, NULL, e);

	if (m.shown)
		(void)fputs("\r\033[K", stderr);
	if (rc == 0 && m.run == NULL)
		rc = err_set(e, ERR_ENGINE, "%s (%s)",
		    m.problem != NULL ? cli_text(m.problem, "detail")
				      : "the stream was cut",
		    m.problem != NULL ? cli_text(m.problem, "code")
				      : "the run may be there");
	json_decref(m.problem);
	buf_release(&m.rest);
	if (rc == 0)
		*ret_run = m.run;
	else
		json_decref(m.run);
	return rc;
}

static int
destroy(struct cli *c, const char *id, int status)
{
	BUF_AUTO path = BUF_INIT(CLI_PATH_SIZE);
	struct err e = ERR_INIT;

	buf_addf(&path, "/v1/runs/%s", id);
	if (cli_do(c, "DELETE", path.data, NULL, NULL, &e) == 0 ||
	    e.kind == ERR_ABSENT)
		return status;
	return status != 0 ? status : cli_fail(&e);
}

int
cmd_run(struct cli *c, int argc, char **argv)
{
	struct plan p = {.rm = false};
	BUF_AUTO body = BUF_INIT(CLI_BODY_MAX);
	json_auto_t *run = NULL;
	struct err e = ERR_INIT;
	int option;

	while ((option = getopt_long(
		    argc, argv, EXEC_OPTIONS, options, NULL)) != -1)
		if (one_option(&p, option) != 0)
			return cli_usage("run");
	if (optind == argc)
		return cli_misuse("run", "which image?");
	if (check(&p) != 0)
		return CLI_USAGE;
	char *const *command = argv + optind + 1;
	if (p.rm && *command == NULL)
		return cli_misuse("run", "--rm needs a command to wait for");
	create_body(&p, argv[optind], &body);
	if (make(c, body.data, &run, &e) != 0) {
		(void)cli_fail(&e);
		return *command != NULL ? CLI_CUT : CLI_FAILED;
	}
	const char *id = cli_text(run, "id");
	if (*command == NULL) {
		if (c->json)
			cli_print_json(run);
		else
			(void)puts(id);
		return 0;
	}
	if (!p.rm)
		(void)fprintf(stderr, "sbxctl: run %s\n", id);
	/* They are the run's: no need to say them again. */
	p.exec.env_count = 0;
	int status = exec_attached(c, id, &p.exec, command);
	return p.rm ? destroy(c, id, status) : status;
}
