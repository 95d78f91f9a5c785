/* What an engine remembers, and how its calls fail. */
#include "model.h"
#include "guest.h"
#include "lib/clock.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "model_state.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX (1u << 20)

/* A fake's way to the model. */
struct port {
	struct model *model;
	bool fails;
};

struct model {
	pthread_mutex_t lock; /* of everything below */
	struct model_state state;
	struct port port[2]; /* those that do not fail, and those that do */
	size_t fail_in;	     /* calls until the one that fails; 0: none */
	enum model_fault how;
	bool down, holding, hit;
	char failed[256]; /* the call that did */
	/* A call to be done by model_heal. */
	bool late;
	struct fake_request late_request;
};

/* An exec on its way: its container as it was when it began. */
struct session {
	struct model *model;
	char name[64];
	unsigned resets;
	bool cut;
};

struct model *
model_new(void)
{
	struct model *m = mem_zalloc(sizeof(*m));

	(void)pthread_mutex_init(&m->lock, NULL);
	m->port[0] = (struct port){m, false};
	m->port[1] = (struct port){m, true};
	(void)snprintf(
	    m->state.place, sizeof(m->state.place), "/tmp/sbx-model-XXXXXX");
	if (mkdtemp(m->state.place) == NULL)
		abort();
	return m;
}

void
model_free(struct model *m)
{
	(void)model_heal(m);
	state_clear(&m->state);
	(void)rmdir(m->state.place);
	(void)pthread_mutex_destroy(&m->lock);
	free(m);
}

/* -- execs ---------------------------------------------------------------- */

static bool
session_over(void *arg)
{
	const struct session *s = arg;
	struct model *m = s->model;

	(void)pthread_mutex_lock(&m->lock);
	const struct container *c = state_find(&m->state, s->name);
	bool over = c == NULL || !state_runs(c) || c->resets != s->resets;
	(void)pthread_mutex_unlock(&m->lock);
	return over;
}

static void
run_session(void *arg, int fd)
{
	struct session *s = arg;
	const struct fake_guest guest = {session_over, s, s->cut};

	fake_guest(fd, &guest);
	(void)pthread_mutex_lock(&s->model->lock);
	s->model->state.execs--;
	(void)pthread_mutex_unlock(&s->model->lock);
	free(s);
}

/* The exec of this container begins. */
static struct fake_rule
open_session(struct model *m, const struct container *c, bool cut)
{
	struct session *s = mem_zalloc(sizeof(*s));

	s->model = m;
	s->resets = c->resets;
	s->cut = cut;
	memcpy(s->name, c->name, sizeof(s->name));
	m->state.execs++;
	return (struct fake_rule){
	    .status = 101, .stream = run_session, .arg = s};
}

/* -- calls ---------------------------------------------------------------- */

static struct fake_rule
hang_up(void)
{
	return (struct fake_rule){.raw = "", .end = FAKE_CLOSE};
}

/* The answer's head and half of its body. */
static struct fake_rule
half(const struct fake_rule *whole, struct buf *text)
{
	BUF_AUTO raw = BUF_INIT(TEXT_MAX);
	const char *body = whole->body != NULL ? whole->body : "";
	size_t size = strlen(body);

	buf_addf(&raw, "HTTP/1.1 %d Model\r\nContent-", whole->status);
	if (size > 0)
		buf_addf(
		    &raw, "Length: %zu\r\n\r\n%.*s", size, (int)size / 2, body);
	buf_reset(text);
	buf_add(text, raw.data, raw.size);
	return (struct fake_rule){.raw = text->data, .end = FAKE_CLOSE};
}

/* Do the call, and lose what the fault says of its answer. */
static struct fake_rule
carry_out(struct model *m, const struct fake_request *r, enum model_fault how,
    struct buf *text)
{
	const struct container *exec = NULL;

	(void)pthread_mutex_lock(&m->lock);
	int status = state_call(&m->state, r, text, &exec);
	struct fake_rule rule = {.status = status, .body = text->data};
	if (exec != NULL && how != MODEL_LOSE)
		rule = open_session(m, exec, how == MODEL_CUT);
	(void)pthread_mutex_unlock(&m->lock);
	if (how == MODEL_LOSE)
		return hang_up();
	return how == MODEL_CUT && exec == NULL ? half(&rule, text) : rule;
}

/* What befalls the next call; MODEL_FAULTS is nothing. */
static enum model_fault
next_fault(struct model *m, const struct fake_request *r)
{
	enum model_fault how = MODEL_FAULTS;

	(void)pthread_mutex_lock(&m->lock);
	if (m->down)
		how = MODEL_DOWN;
	else if (m->fail_in > 0 && --m->fail_in == 0) {
		how = m->how;
		m->hit = true;
		m->down = how == MODEL_DOWN;
		m->holding = how == MODEL_HOLD;
		(void)snprintf(m->failed, sizeof(m->failed), "%s %.200s",
		    r->method, r->path);
	}
	if (how == MODEL_LATE) {
		m->late = true;
		m->late_request = (struct fake_request){
		    .method = mem_strdup(r->method),
		    .path = mem_strdup(r->path),
		    .body = mem_strdup(r->body),
		};
	}
	(void)pthread_mutex_unlock(&m->lock);
	return how;
}

static struct fake_rule
serve(void *arg, const struct fake_request *r, struct buf *text)
{
	const struct port *port = arg;
	struct model *m = port->model;
	enum model_fault how = port->fails ? next_fault(m, r) : MODEL_FAULTS;

	switch (how) {
	case MODEL_RESET:
	case MODEL_LATE:
	case MODEL_DOWN:
		return hang_up();
	case MODEL_REFUSE:
		return (struct fake_rule){.status = 500,
		    .body = "{\"message\":\"something at /some/path\"}"};
	case MODEL_HOLD:
		while (model_holds(m))
			(void)poll(NULL, 0, 1);
		break;
	default:
		break;
	}
	return carry_out(m, r, how, text);
}

void
model_serve(struct model *m, struct fake *f, bool fails)
{
	fake_serve(f, serve, &m->port[fails]);
}

/* -- faults --------------------------------------------------------------- */

void
model_fail(struct model *m, size_t n, enum model_fault how)
{
	(void)model_heal(m);
	(void)pthread_mutex_lock(&m->lock);
	m->fail_in = n;
	m->how = how;
	m->hit = false;
	(void)pthread_mutex_unlock(&m->lock);
}

bool
model_holds(struct model *m)
{
	(void)pthread_mutex_lock(&m->lock);
	bool holding = m->holding;
	(void)pthread_mutex_unlock(&m->lock);
	return holding;
}

void
model_release(struct model *m)
{
	(void)pthread_mutex_lock(&m->lock);
	m->holding = false;
	(void)pthread_mutex_unlock(&m->lock);
}

const char *
model_heal(struct model *m)
{
	BUF_AUTO text = BUF_INIT(TEXT_MAX);

	(void)pthread_mutex_lock(&m->lock);
	m->fail_in = 0;
	m->down = m->holding = false;
	if (m->late) {
		const struct fake_request *r = &m->late_request;
		const struct container *exec;

		(void)state_call(&m->state, r, &text, &exec);
		free((void *)(uintptr_t)r->method);
		free((void *)(uintptr_t)r->path);
		free((void *)(uintptr_t)r->body);
		m->late = false;
	}
	const char *failed = m->hit ? m->failed : NULL;
	(void)pthread_mutex_unlock(&m->lock);
	return failed;
}

/* -- looking and meddling ------------------------------------------------- */

size_t
model_list(struct model *m, struct model_container to[MODEL_CONTAINERS])
{
	size_t count = 0;

	(void)pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < MODEL_CONTAINERS; i++) {
		const struct container *c = &m->state.container[i];

		if (c->name[0] == '\0')
			continue;
		memcpy(to[count].name, c->name, sizeof(c->name));
		to[count++].running = state_runs(c);
	}
	(void)pthread_mutex_unlock(&m->lock);
	return count;
}

void
model_objects(struct model *m, struct buf *images, struct buf *volumes)
{
	(void)pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < MODEL_IMAGES; i++)
		if (m->state.image[i].id[0] != '\0' &&
		    !state_is_part(&m->state, &m->state.image[i]))
			buf_addf(images, "%s ", m->state.image[i].tag);
	for (size_t i = 0; i < MODEL_VOLUMES; i++)
		if (m->state.volume[i].name[0] != '\0')
			buf_addf(volumes, "%s ", m->state.volume[i].name);
	(void)pthread_mutex_unlock(&m->lock);
}

size_t
model_networks(struct model *m, char to[MODEL_CONTAINERS][64])
{
	size_t count = 0;

	(void)pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		if (m->state.network[i].name[0] != '\0')
			memcpy(to[count++], m->state.network[i].name, 64);
	(void)pthread_mutex_unlock(&m->lock);
	return count;
}

bool
model_volume(struct model *m, const char *name, char to[256])
{
	bool found = false;

	(void)pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < MODEL_VOLUMES && !found; i++) {
		found = str_eq(m->state.volume[i].name, name);
		if (found)
			memcpy(to, m->state.volume[i].place, 256);
	}
	(void)pthread_mutex_unlock(&m->lock);
	return found;
}

size_t
model_made(struct model *m)
{
	(void)pthread_mutex_lock(&m->lock);
	size_t made = m->state.made;
	(void)pthread_mutex_unlock(&m->lock);
	return made;
}

size_t
model_execs(struct model *m)
{
	(void)pthread_mutex_lock(&m->lock);
	size_t execs = m->state.execs;
	(void)pthread_mutex_unlock(&m->lock);
	return execs;
}

void
model_age(struct model *m, int64_t ms)
{
	(void)pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < MODEL_CONTAINERS; i++)
		m->state.container[i].created_ms -= ms;
	for (size_t i = 0; i < MODEL_IMAGES; i++)
		m->state.image[i].created_ms -= ms;
	state_age_networks(&m->state);
	state_age_volumes(&m->state);
	(void)pthread_mutex_unlock(&m->lock);
}

void
model_end(struct model *m, const char *name, int code)
{
	(void)pthread_mutex_lock(&m->lock);
	struct container *c = state_find(&m->state, name);
	if (c != NULL)
		state_end(c, code);
	(void)pthread_mutex_unlock(&m->lock);
}

void
model_clear(struct model *m)
{
	(void)pthread_mutex_lock(&m->lock);
	state_clear(&m->state);
	(void)pthread_mutex_unlock(&m->lock);
}
