/* Short calls of every kind, in turn. */
#include "calls.h"
#include "../e2e/harness.h"

#include <string.h>

#define DOCKER_EVERY 20 /* rounds: what it does weighs on the whole box */

/* What was to be, and what came. */
static void
failed(struct calls *c, const char *what, long status, const char *text)
{
	if (c->failed++ == 0)
		(void)snprintf(c->example, sizeof(c->example),
		    "%s: %ld %.1500s", what, status, text);
}

static void
took(struct calls *c, struct samples *of, int64_t start_us)
{
	c->made++;
	samples_add(of, (double)(clock_mono_us() - start_us) / 1000);
}

/* A call that must be answered so, with that text in its body. */
static void
ask(struct calls *c, const char *method, const char *path, const char *body,
    long status, const char *text)
{
	int64_t start = clock_mono_us();
	REPLY_AUTO r = http_do(method, path, body, NULL);

	took(c, &c->brief, start);
	if (r.status != status ||
	    (r.body.size > 0 ? strstr(r.body.data, text) == NULL
			     : *text != '\0'))
		failed(c, path, r.status, r.body.size > 0 ? r.body.data : "");
}

static void
get_run(struct calls *c)
{
	ask(c, "GET", run_url(c->busy, ""), NULL, 200, "\"running\"");
}

static void
list_runs(struct calls *c)
{
	ask(c, "GET", "/v1/runs?limit=10", NULL, 200, "\"runs\"");
}

static void
get_ready(struct calls *c)
{
	ask(c, "GET", "/health/ready", NULL, 200, "");
}

static void
execute(struct calls *c)
{
	ask(c, "POST", run_url(c->busy, "exec"), "{\"cmd\":\"echo brief\"}",
	    200, "data: {\"exitCode\":0,");
}

static void
put_file(struct calls *c)
{
	ask(c, "PUT", run_url(c->busy, "files/brief.txt"), "some bytes", 204,
	    "");
}

static void
get_file(struct calls *c)
{
	ask(c, "GET", run_url(c->busy, "files/brief.txt"), NULL, 200,
	    "some bytes");
}

static void
detach(struct calls *c)
{
	ask(c, "POST", run_url(c->busy, "exec"),
	    "{\"cmd\":\"sleep 1\",\"detach\":true}", 202, "\"id\"");
}

static void
list_execs(struct calls *c)
{
	ask(c, "GET", run_url(c->busy, "execs"), NULL, 200, "\"execs\"");
}

/* Granted, executed under, released. */
static void
lease(struct calls *c)
{
	char body[160];
	int64_t start = clock_mono_us();
	REPLY_AUTO r = http_do("POST", run_url(c->own, "lease"),
	    "{\"owner\":\"load\",\"ttlSec\":60}", NULL);
	const json_t *granted = json_object_get(r.json, "lease");

	took(c, &c->brief, start);
	if (r.status != 200) {
		failed(c, "lease", r.status, r.body.data);
		return;
	}
	json_int_t generation =
	    json_integer_value(json_object_get(granted, "generation"));
	(void)snprintf(body, sizeof(body),
	    "{\"cmd\":\"echo mine\",\"owner\":\"load\",\"generation\":%lld}",
	    (long long)generation);
	ask(c, "POST", run_url(c->own, "exec"), body, 200, "data: mine");
	(void)snprintf(body, sizeof(body),
	    "{\"owner\":\"load\",\"generation\":%lld}", (long long)generation);
	ask(c, "POST", run_url(c->own, "lease/release"), body, 204, "");
}

/* A run of its own is made, and the one before it removed. */
static void
replace_own(struct calls *c)
{
	int64_t start = clock_mono_us();

	if (*c->own != '\0') {
		REPLY_AUTO r =
		    http_do("DELETE", run_url(c->own, ""), NULL, NULL);
		took(c, &c->docker, start);
		if (r.status != 204)
			failed(c, "DELETE", r.status, r.body.data);
	}
	*c->own = '\0';
	start = clock_mono_us();
	REPLY_AUTO r = http_do(
	    "POST", "/v1/runs", "{\"image\":\"" IMAGE_PLAIN "\"}", NULL);
	took(c, &c->docker, start);
	const char *id = json_string_value(json_object_get(r.json, "id"));
	if (r.status != 201 || id == NULL)
		failed(c, "POST /v1/runs", r.status, r.body.data);
	else
		(void)snprintf(c->own, sizeof(c->own), "%s", id);
}

void
calls_next(struct calls *c)
{
	static void (*const kinds[])(struct calls *) = {get_run, list_runs,
	    get_ready, execute, put_file, get_file, detach, list_execs, lease};
	const size_t count = sizeof(kinds) / sizeof(kinds[0]);

	if (*c->own == '\0' || c->turn % (count * DOCKER_EVERY) == 0)
		replace_own(c);
	kinds[c->turn++ % count](c);
}

void
calls_end(struct calls *c)
{
	run_end(c->own);
	samples_release(&c->brief);
	samples_release(&c->docker);
}
