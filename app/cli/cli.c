/* Calls in JSON, run ids, failures. */
#include "cli/cli.h"
#include "lib/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_PART_MIN 4

int
cli_usage(const char *name)
{
	const struct command *k = command_find(name);

	(void)fprintf(stderr, "usage: sbxctl %s %s\n", k->name, k->synopsis);
	(void)fprintf(stderr, "`sbxctl %s --help` says more.\n", k->name);
	return CLI_USAGE;
}

int
cli_misuse(const char *name, const char *fmt, ...)
{
	va_list ap;

	(void)fprintf(stderr, "sbxctl %s: ", name);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	return cli_usage(name);
}

int
cli_fail(const struct err *e)
{
	(void)fprintf(stderr, "sbxctl: %s\n", e->text);
	return CLI_FAILED;
}

int
cli_problem(const struct http_call *call, struct err *e)
{
	const struct buf *body = http_body(call);
	json_auto_t *problem = json_loadb(body->data, body->size, 0, NULL);
	const char *detail = cli_text(problem, "detail");
	enum err_kind kind =
	    http_status(call) == 404 ? ERR_ABSENT : ERR_CONFLICT;

	if (*detail == '\0')
		return err_set(e, kind,
		    "the box answered with HTTP status %ld; is that the API?",
		    http_status(call));
	if (http_status(call) == 401)
		detail = "this is not a token of that box: see SBX_TOKEN and "
			 "--token-file";
	return err_set(e, kind, "%s (%s)", detail, cli_text(problem, "code"));
}

static int
read_answer(const struct http_call *call, json_t **ret_answer, struct err *e)
{
	const struct buf *body = http_body(call);

	if (http_result(call, e) != 0)
		return -1;
	if (http_status(call) / 100 != 2)
		return cli_problem(call, e);
	if (ret_answer == NULL)
		return 0;
	*ret_answer = NULL;
	if (body->size == 0)
		return 0;
	*ret_answer = json_loadb(body->data, body->size, 0, NULL);
	if (!json_is_object(*ret_answer)) {
		json_decref(*ret_answer);
		return err_set(e, ERR_ENGINE,
		    "the box answered with something else than JSON");
	}
	return 0;
}

int
cli_call(struct cli *c, const struct http_request *rq, json_t **ret_answer,
    struct err *e)
{
	struct http_call *call = http_start(c->http, rq);

	while (!http_done(call))
		http_wait(c->http, NULL, 0, 1000);
	int rc = read_answer(call, ret_answer, e);
	http_free_call(call);
	return rc;
}

int
cli_do(struct cli *c, const char *method, const char *path, const char *json,
    json_t **ret_answer, struct err *e)
{
	const struct http_request rq = {
	    .method = method,
	    .path = path,
	    .body = json,
	    .size = json != NULL ? strlen(json) : 0,
	};

	return cli_call(c, &rq, ret_answer, e);
}

void
cli_fence(const struct cli *c, struct buf *path)
{
	if (c->owner == NULL)
		return;
	buf_addf(path, "%cowner=", strchr(path->data, '?') ? '&' : '?');
	http_escape(path, c->owner, false);
	buf_addf(path, "&generation=%s", c->generation);
}

bool
cli_is_number(const char *text)
{
	int64_t ignored;

	return str_to_int(text, 0, INT64_MAX, &ignored) == 0;
}

void
cli_print_json(const json_t *answer)
{
	char *text = json_dumps(answer, JSON_COMPACT | JSON_PRESERVE_ORDER);

	if (text != NULL)
		(void)puts(text);
	free(text);
}

const char *
cli_text(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text != NULL ? text : "";
}

int64_t
cli_number(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

/* The one run whose id begins or ends so. */
static int
find_part(struct cli *c, const char *part, char to[ULID_SIZE], struct err *e)
{
	json_auto_t *answer = NULL;
	const json_t *run;
	size_t i, found = 0;

	if (cli_do(c, "GET", "/v1/runs", NULL, &answer, e) != 0)
		return -1;
	json_array_foreach(json_object_get(answer, "runs"), i, run)
	{
		const char *id = cli_text(run, "id");

		if (!str_starts(id, part) && !str_ends(id, part))
			continue;
		found++;
		(void)ulid_parse(id, to);
	}
	if (found == 1)
		return 0;
	return err_set(e, ERR_RUN_ABSENT,
	    found == 0 ? "no run's id begins or ends with %s"
		       : "more than one run's id begins or ends with %s",
	    part);
}

int
cli_run_id(struct cli *c, const char *text, char to[ULID_SIZE], struct err *e)
{
	char part[ULID_SIZE];
	size_t size = strlen(text);

	if (ulid_parse(text, to))
		return 0;
	if (size < ID_PART_MIN || size >= sizeof(part))
		return err_set(e, ERR_INPUT,
		    "%s is no run's id, nor %d characters or more of one", text,
		    ID_PART_MIN);
	for (size_t i = 0; i <= size; i++)
		part[i] = (char)(text[i] >= 'a' && text[i] <= 'z'
				     ? text[i] - 'a' + 'A'
				     : text[i]);
	return find_part(c, part, to, e);
}
