/* Errors to problem documents: two tables and a writer. */
#include "http/problem.h"

#include <stdio.h>

#define TYPE_BASE "https://neutron.dev/errors/"

struct status {
	int status;
	const char *suffix, *title;
};

static const struct status statuses[] = {
#define STATUS(status, suffix, title) {status, suffix, title},
#include "http/problem.def"
#undef STATUS
};

struct problem {
	int status;
	const char *code;
	int retry;
	const char *said;
};

static const struct problem problems[ERR_KINDS] = {
#define PROBLEM(kind, status, code, retry, said) \
	[kind] = {status, code, retry, said},
#include "http/problem.def"
#undef PROBLEM
};

#define PROBLEM(kind, status, code, retry, said) +1
_Static_assert(0
#include "http/problem.def"
		   == ERR_KINDS,
    "problem.def has a row for every err_kind");
#undef PROBLEM

static const struct status *
find_status(int status)
{
	static const struct status unknown = {0, "internal", "Error"};

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].status == status)
			return &statuses[i];
	return &unknown;
}

const char *
problem_title(int status)
{
	return find_status(status)->title;
}

int
problem_status(enum err_kind kind)
{
	return problems[kind].status;
}

void
problem_write(struct jw *w, const struct err *problem, const char *server)
{
	const struct problem *p = &problems[problem->kind];
	const struct status *s = find_status(p->status);
	char type[sizeof(TYPE_BASE) + 32];

	(void)snprintf(type, sizeof(type), TYPE_BASE "%s", s->suffix);
	jw_open(w, '{');
	jw_str(w, "type", type);
	jw_str(w, "title", s->title);
	jw_int(w, "status", p->status);
	jw_str(w, "detail", p->said != NULL ? p->said : problem->text);
	jw_str(w, "server", server);
	jw_str(w, "code", p->code);
	jw_close(w, '}');
}

int
problem_reply(struct exchange *x, const struct err *problem, const char *server,
    struct err *e)
{
	const struct problem *p = &problems[problem->kind];
	BUF_AUTO body = BUF_INIT(16 * 1024);
	struct jw w = JW_INIT(&body);
	char seconds[16];

	problem_write(&w, problem, server);
	buf_addc(&body, '\n');
	if (problem->kind == ERR_AUTH)
		exchange_header(
		    x, "WWW-Authenticate", "Bearer realm=\"teploy-sandbox\"");
	if (p->retry > 0) {
		(void)snprintf(seconds, sizeof(seconds), "%d", p->retry);
		exchange_header(x, "Retry-After", seconds);
	}
	return exchange_reply(
	    x, p->status, "application/problem+json", body.data, body.size, e);
}
