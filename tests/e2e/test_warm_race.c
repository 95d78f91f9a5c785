/*
 * Many want one repository at once: runs boot from it, commit to it, drop it,
 * are destroyed in the midst of a commit, while the reaper evicts whatever is
 * not in use. Every generation is of one stamp, in all of its files: a run that
 * sees two, or a part, has seen what was not whole.
 */
#include "harness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS 4
#define TELL_MS 9000
#define FILES 20
#define READ_MS 60000
#define REPO "race/web"

struct caller {
	pthread_t thread;
	unsigned seed;
	int64_t until;
	size_t booted, committed, dropped, destroyed;
	char fault[400]; /* what was wrong at first, or "" */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char victim[ULID_SIZE]; /* a run that commits, to be destroyed; or "" */

static void
wrong(struct caller *c, const char *what, const struct reply *r)
{
	if (c->fault[0] == '\0')
		(void)snprintf(c->fault, sizeof(c->fault), "%s: %ld %.250s",
		    what, r->status, r->body.size > 0 ? r->body.data : "");
}

/* -- what a caller does ---------------------------------------------------- */

/* What a command says; status is that of HTTP. */
static long
run_sh(const char *id, const char *cmd, char out[64])
{
	char path[100], body[300];
	const struct event *ev;

	out[0] = '\0';
	(void)snprintf(path, sizeof(path), "/v1/runs/%s/exec", id);
	(void)snprintf(body, sizeof(body), "{\"cmd\":\"%s\"}", cmd);
	struct stream *s = stream_open(path, body, NULL);
	long status = stream_status(s);
	while (status == 200 && (ev = stream_next(s, READ_MS)) != NULL)
		if (str_eq(ev->name, "stdout"))
			(void)strncat(out, ev->data, 63 - strlen(out));
	stream_close(s);
	return status;
}

/* How many stamps there are in how many files. */
static void
look(struct caller *c, const char *id, bool booted)
{
	char out[64], whole[32];
	long status =
	    run_sh(id, "cat f* 2>/dev/null | sort -u | wc -l; ls | wc -l", out);

	(void)snprintf(
	    whole, sizeof(whole), "%d\n%d\n", booted, booted ? FILES : 0);
	if ((status != 200 || !str_eq(out, whole)) && c->fault[0] == '\0')
		(void)snprintf(c->fault, sizeof(c->fault),
		    "a run (booted %d) sees %.60s, status %ld", booted, out,
		    status);
}

static bool
boot(struct caller *c, char id[ULID_SIZE])
{
	REPLY_AUTO r = http_do("POST", "/v1/runs",
	    "{\"image\":\"" IMAGE_PLAIN "\",\"warm\":{\"repo\":\"" REPO "\"}}",
	    NULL);
	const char *made = json_string_value(json_object_get(r.json, "id"));

	if (r.status != 201 || made == NULL) {
		/* The template is being changed: try again. */
		if (r.status != 503)
			wrong(c, "boot", &r);
		return false;
	}
	(void)snprintf(id, ULID_SIZE, "%s", made);
	bool booted = json_is_true(
	    json_object_get(json_object_get(r.json, "warm"), "booted"));
	c->booted += booted;
	look(c, id, booted);
	return true;
}

static void
commit(struct caller *c, const char *id, bool doomed)
{
	char path[100], cmd[200], out[64];

	(void)snprintf(cmd, sizeof(cmd),
	    "for i in $(seq %d); do echo %u >f$i; done", FILES,
	    rand_r(&c->seed));
	if (run_sh(id, cmd, out) != 200)
		return;
	if (doomed) {
		(void)pthread_mutex_lock(&lock);
		memcpy(victim, id, ULID_SIZE);
		(void)pthread_mutex_unlock(&lock);
	}
	(void)snprintf(path, sizeof(path), "/v1/runs/%s/warm-commit", id);
	REPLY_AUTO r = http_do("POST", path, "{}", NULL);
	c->committed += r.status == 201;
	if (r.status != 201 &&
	    !(doomed && (r.status == 404 || r.status == 409)))
		wrong(c, "commit", &r);
}

static void
drop(struct caller *c)
{
	REPLY_AUTO r = http_do("DELETE", "/v1/warmcache/" REPO, NULL, NULL);

	c->dropped += r.status == 204;
	if (r.status != 204 && r.status != 404 && r.status != 409)
		wrong(c, "drop", &r);
}

static void
destroy(struct caller *c, const char *id)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "/v1/runs/%s", id);
	REPLY_AUTO r = http_do("DELETE", path, NULL, NULL);
	if (r.status != 204 && r.status != 404)
		wrong(c, "destroy", &r);
}

static void *
call(void *arg)
{
	struct caller *c = arg;
	char id[ULID_SIZE];

	while (clock_mono_ms() < c->until && c->fault[0] == '\0') {
		int what = rand_r(&c->seed) % 8;

		if (what == 0)
			drop(c);
		if (!boot(c, id))
			continue;
		if (what < 6)
			commit(c, id, what < 2);
		destroy(c, id);
	}
	return NULL;
}

/* Destroys whoever says that it commits. */
static void *
haunt(void *arg)
{
	struct caller *c = arg;
	char id[ULID_SIZE];

	while (clock_mono_ms() < c->until) {
		(void)pthread_mutex_lock(&lock);
		memcpy(id, victim, ULID_SIZE);
		victim[0] = '\0';
		(void)pthread_mutex_unlock(&lock);
		(void)poll(NULL, 0, rand_r(&c->seed) % 40);
		if (id[0] == '\0')
			continue;
		destroy(c, id);
		c->destroyed++;
	}
	return NULL;
}

/* -- the test -------------------------------------------------------------- */

static void
whoever_sees_a_template_sees_it_whole(void **state)
{
	struct caller c[CALLERS + 1];
	struct caller sum = {.fault = ""};

	(void)state;
	memset(c, 0, sizeof(c));
	for (unsigned i = 0; i <= CALLERS; i++) {
		c[i].seed = i + 1;
		c[i].until = clock_mono_ms() + TELL_MS;
		assert_int_equal(pthread_create(&c[i].thread, NULL,
				     i < CALLERS ? call : haunt, &c[i]),
		    0);
	}
	for (int i = 0; i <= CALLERS; i++) {
		(void)pthread_join(c[i].thread, NULL);
		sum.booted += c[i].booted;
		sum.committed += c[i].committed;
		sum.dropped += c[i].dropped;
		sum.destroyed += c[i].destroyed;
	}
	fprintf(stderr,
	    "booted %zu, committed %zu, dropped %zu, destroyed %zu\n",
	    sum.booted, sum.committed, sum.dropped, sum.destroyed);
	for (int i = 0; i <= CALLERS; i++)
		if (c[i].fault[0] != '\0')
			fail_msg("%s", c[i].fault);
	assert_true(sum.committed > 0);
}

static int
setup(void **state)
{
	/* No disk has so much free: what nobody needs is evicted at once. */
	static const char *const env[] = {
	    "SBX_DISK_MIN_FREE_GB=1048576", "SBX_WORKERS=2", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(whoever_sees_a_template_sees_it_whole),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
