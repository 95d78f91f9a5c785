/* The doors to the records of runs: arguments in, replies out. */
#include "store/run.h"
#include "lib/str.h"
#include "store/idem.h"
#include "store/run_reply.h"
#include "store/script.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum field_type { FIELD_STR, FIELD_INT, FIELD_REAL, FIELD_BOOL };

/* The members of struct run as they are called in Redis. */
static const struct field {
	const char *name;
	enum field_type type;
	size_t offset;
} fields[] = {
#define F(name, member, type) \
	{#name, FIELD_##type, offsetof(struct run, member)},
#include "store/run_field.def"
#undef F
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static void
field_read(
    const struct field *f, const char *text, struct arena *a, struct run *run)
{
	void *member = (char *)run + f->offset;
	int64_t number = 0;

	if ((f->type == FIELD_INT || f->type == FIELD_BOOL) && text != NULL)
		(void)str_to_int(text, INT64_MIN, INT64_MAX, &number);
	switch (f->type) {
	case FIELD_STR:
		*(const char **)member =
		    text != NULL ? arena_strdup(a, text) : "";
		break;
	case FIELD_REAL:
		*(double *)member = text != NULL ? strtod(text, NULL) : 0;
		break;
	case FIELD_INT:
		*(int64_t *)member = number;
		break;
	case FIELD_BOOL:
		*(bool *)member = number != 0;
		break;
	}
}

void
run_from_reply(const char *id, const struct redisReply *values, struct arena *a,
    struct run *ret_run)
{
	memset(ret_run, 0, sizeof(*ret_run));
	if (!ulid_parse(id, ret_run->id))
		ret_run->id[0] = '\0';
	for (size_t i = 0; i < FIELDS; i++)
		field_read(
		    &fields[i], reply_text(reply_at(values, i)), a, ret_run);
	ret_run->read_ms = reply_int(reply_at(values, FIELDS));
	ret_run->in_flight = reply_int(reply_at(values, FIELDS + 1));
}

void
run_add_field_names(struct script_call *c)
{
	for (size_t i = 0; i < FIELDS; i++)
		script_add(c, fields[i].name);
}

static void
add_text(struct script_call *c, const char *name, const char *value)
{
	script_add(c, name);
	script_add(c, value != NULL ? value : "");
}

static void
add_warm(struct script_call *c, const struct run *run)
{
	add_text(c, "warmRepo", run->warm_repo);
	add_text(c, "warmPath", run->warm_path);
	add_text(c, "warmKind", run->warm_kind);
	add_text(c, "warmGen", run->warm_gen);
	add_text(c, "warmHash", run->warm_hash);
	add_text(c, "warmDir", run->warm_dir);
	script_add(c, "warmBooted");
	script_add_int(c, run->warm_booted);
}

/* What a creator or adopter says of a run; the scripts write the rest. */
static void
add_description(struct script_call *c, const struct run *run)
{
	add_text(c, "image", run->image);
	add_text(c, "network", run->network);
	add_text(c, "containerId", run->container);
	add_text(c, "user", run->user);
	add_text(c, "labels", run->labels);
	if (run->egress_allow != NULL && *run->egress_allow != '\0')
		add_text(c, "egressAllow", run->egress_allow);
	if (run->warm_repo != NULL && *run->warm_repo != '\0')
		add_warm(c, run);
	if (run->subnet != NULL && *run->subnet != '\0') {
		script_add(c, "subnet");
		script_add(c, run->subnet);
	}
	script_add(c, "memoryMb");
	script_add_int(c, run->memory_mb);
	script_add(c, "cpus");
	script_add_real(c, run->cpus);
	script_add(c, "pids");
	script_add_int(c, run->pids);
	script_add(c, "autoExtend");
	script_add_int(c, run->auto_extend);
}

int
run_create(
    struct redis *r, struct run *run, int64_t max_memory_mb, struct err *e)
{
	unsigned char random[10];
	char ulid[ULID_SIZE];
	struct script_call c;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, ERR_INTERNAL, "no random bytes");
	ulid_format(0, random, ulid);
	script_begin(&c, SCRIPT_run_create);
	script_add(&c, ulid + 10);
	script_add_int(&c, max_memory_mb);
	script_add_int(&c, RUN_CREATING_MS);
	script_add_int(&c, run->ttl_sec);
	add_description(&c, run);
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	const char *id = reply_text(reply_at(reply, 0));
	int rc = 0;
	if (id == NULL || !ulid_parse(id, run->id))
		rc = err_set(e, ERR_STORE, "script run_create made no id");
	run->created_ms = reply_int(reply_at(reply, 1));
	run->expires_ms = reply_int(reply_at(reply, 2));
	redis_reply_free(reply);
	return rc;
}

int
run_creating(
    struct redis *r, const char *id, const char *container, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_run_creating);
	script_add(&c, id);
	script_add_int(&c, RUN_CREATING_MS);
	script_add(&c, container != NULL ? container : "");
	return script_do(r, &c, e);
}

/* A script of which an id is the only argument. */
static int
do_by_id(struct redis *r, enum script script, const char *id, struct err *e)
{
	struct script_call c;

	script_begin(&c, script);
	script_add(&c, id);
	return script_do(r, &c, e);
}

int
run_started(
    struct redis *r, const char *id, const struct idem *idem, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_run_started);
	script_add(&c, id);
	script_add(&c, idem != NULL ? idem->key : "");
	script_add(&c, idem != NULL ? idem->digest : "");
	script_add(&c, idem != NULL ? idem->token : "");
	return script_do(r, &c, e);
}

int
run_destroying(struct redis *r, const char *id, struct err *e)
{
	return do_by_id(r, SCRIPT_run_destroying, id, e);
}

int
run_forget(struct redis *r, const char *id, struct err *e)
{
	return do_by_id(r, SCRIPT_run_forget, id, e);
}

int
run_adopt(struct redis *r, struct run *run, bool *ret_adopted, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_run_adopt);
	script_add(&c, run->id);
	script_add(&c, run->state);
	script_add_int(&c, run->created_ms);
	script_add_int(&c, run->ttl_sec);
	add_description(&c, run);
	int64_t expires;
	if (script_int(r, &c, &expires, e) != 0)
		return -1;
	if (expires > 0)
		run->expires_ms = expires;
	*ret_adopted = expires > 0;
	return 0;
}

int
run_reached(struct redis *r, const struct run *run, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_run_reached);
	script_add(&c, run->id);
	script_add(&c, run->transport);
	script_add(&c, run->guest_dir);
	script_add_int(&c, run->guest_pid);
	script_add_int(&c, run->guest_wire);
	script_add(&c, run->subnet != NULL ? run->subnet : "");
	return script_do(r, &c, e);
}

int
run_warmed(struct redis *r, const struct run *run, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_run_warmed);
	script_add(&c, run->id);
	add_warm(&c, run);
	return script_do(r, &c, e);
}

int
run_egress(struct redis *r, const char *id, const char *own, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_run_egress);
	script_add(&c, id);
	script_add(&c, own);
	return script_do(r, &c, e);
}

int
run_exited(struct redis *r, const struct run *run, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_run_exited);
	script_add(&c, run->id);
	script_add_int(&c, run->exit_code);
	script_add_int(&c, run->exited_ms);
	script_add_int(&c, run->oom_killed);
	script_add(&c, run->exit_reason != NULL ? run->exit_reason : "");
	return script_do(r, &c, e);
}

int
run_get(struct redis *r, const char *id, bool any, struct arena *a,
    struct run *ret_run, struct err *e)
{
	struct script_call c;
	struct run run;

	script_begin(&c, SCRIPT_run_get);
	script_add(&c, id);
	run_add_field_names(&c);
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	run_from_reply(id, reply, a, &run);
	redis_reply_free(reply);
	if (*run.state == '\0' || (!any && str_eq(run.state, "creating")))
		return err_set(
		    e, ERR_RUN_ABSENT, "There is no run %s.", run.id);
	*ret_run = run;
	return 0;
}

/* Redis does one thing at a time: a long page comes from several short scripts,
 * or everybody else would wait for it (6 to 12 ms for a thousand runs). */
#define SCRIPT_RUNS 50

/* Which runs a page is made of. */
struct filter {
	char *key; /* of a label, "" for none */
	const char *value;
	bool all; /* creating ones too */
};

/* Append one script's worth of runs to the page, which has room for limit. */
static int
page_more(struct redis *r, int64_t limit, const struct filter *filter,
    struct arena *a, struct run_page *page, struct err *e)
{
	struct script_call c;
	int64_t left = limit - (int64_t)page->count;

	script_begin(&c, SCRIPT_run_list);
	script_add(&c, page->next);
	script_add_int(&c, left < SCRIPT_RUNS ? left : SCRIPT_RUNS);
	script_add(&c, filter->key);
	script_add(&c, filter->value);
	script_add(&c, filter->all ? "1" : "0");
	run_add_field_names(&c);
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	for (size_t i = 1; i + 1 < reply_count(reply); i += 2) {
		const char *id = reply_text(reply_at(reply, i));

		if (id != NULL && (int64_t)page->count < limit)
			run_from_reply(id, reply_at(reply, i + 1), a,
			    &page->run[page->count++]);
	}
	const char *next = reply_text(reply_at(reply, 0));
	if (next == NULL || !ulid_parse(next, page->next))
		page->next[0] = '\0';
	redis_reply_free(reply);
	return 0;
}

static int
page_read(struct redis *r, const char *cursor, int64_t limit,
    const struct filter *filter, struct arena *a, struct run_page *ret_page,
    struct err *e)
{
	struct run_page page = {0};

	page.run = arena_alloc(a, (size_t)limit * sizeof(*page.run));
	memcpy(page.next, cursor, strnlen(cursor, ULID_SIZE - 1));
	do {
		if (page_more(r, limit, filter, a, &page, e) != 0)
			return -1;
	} while ((int64_t)page.count < limit && page.next[0] != '\0');
	*ret_page = page;
	return 0;
}

int
run_list(struct redis *r, const char *cursor, int64_t limit, const char *label,
    struct arena *a, struct run_page *ret_page, struct err *e)
{
	char *key = arena_strdup(a, label != NULL ? label : "");
	char *colon = strchr(key, ':');
	struct filter filter = {key, "", false};

	if (colon != NULL) {
		*colon = '\0';
		filter.value = colon + 1;
	}
	return page_read(r, cursor, limit, &filter, a, ret_page, e);
}

int
run_all(struct redis *r, const char *cursor, int64_t limit, struct arena *a,
    struct run_page *ret_page, struct err *e)
{
	char none[1] = "";
	struct filter filter = {none, "", true};

	return page_read(r, cursor, limit, &filter, a, ret_page, e);
}

int
run_due(struct redis *r, int64_t limit, struct arena *a,
    struct run_due *ret_due, struct err *e)
{
	struct script_call c;
	struct run_due due = {0};

	script_begin(&c, SCRIPT_run_due);
	script_add_int(&c, limit);
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	due.now_ms = reply_int(reply_at(reply, 0));
	due.next_ms = reply_int(reply_at(reply, 1));
	due.run = arena_alloc(a, reply_count(reply) * sizeof(*due.run));
	for (size_t i = 2; i < reply_count(reply); i++) {
		const struct redisReply *one = reply_at(reply, i);
		const char *id = reply_text(reply_at(one, 0));
		const char *was = reply_text(reply_at(one, 1));

		if (id == NULL || was == NULL ||
		    !ulid_parse(id, due.run[due.count].id))
			continue;
		due.run[due.count++].was = arena_strdup(a, was);
	}
	redis_reply_free(reply);
	*ret_due = due;
	return 0;
}

int
store_now(struct redis *r, int64_t *ret_ms, struct err *e)
{
	const char *argv[] = {"TIME"};
	struct redisReply *reply = redis_command(r, 1, argv, NULL, e);

	if (reply == NULL)
		return -1;
	*ret_ms = reply_int(reply_at(reply, 0)) * 1000 +
		  reply_int(reply_at(reply, 1)) / 1000;
	redis_reply_free(reply);
	return 0;
}

int
run_queue(struct redis *r, struct arena *a, struct run_queue *ret_queue,
    struct err *e)
{
	const char *argv[] = {"ZRANGE", "sbx:runs", "0", "-1", "WITHSCORES"};
	struct run_queue queue = {0};

	if (store_now(r, &queue.now_ms, e) != 0)
		return -1;
	struct redisReply *reply = redis_command(r, 5, argv, NULL, e);
	if (reply == NULL)
		return -1;
	queue.run = arena_alloc(a, reply_count(reply) * sizeof(*queue.run));
	for (size_t i = 0; i + 1 < reply_count(reply); i += 2) {
		const char *id = reply_text(reply_at(reply, i));

		if (id == NULL || !ulid_parse(id, queue.run[queue.count].id))
			continue;
		queue.run[queue.count++].due_ms =
		    reply_int(reply_at(reply, i + 1));
	}
	redis_reply_free(reply);
	*ret_queue = queue;
	return 0;
}
