/* What was decided and what it cost. */
#include "ledger.h"
#include "lib/clock.h"
#include "lib/jw.h"
#include "lib/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OTHER LEDGER_HOSTS
#define LINE_MIN_BYTES 64 /* n, time and verdict take that much */
#define LINES (LEDGER_RING / LINE_MIN_BYTES)
#define FIELD_MAX 400

struct count {
	char *host;
	uint16_t port;
	uint64_t allowed, denied, failed, up, down;
};

/* Positions of lines and of bytes only grow; where they are in the rings is
 * their remainder. */
struct ledger {
	struct count counts[LEDGER_HOSTS + 1]; /* the last one: others */
	uint32_t hashes[LEDGER_HOSTS];	       /* of host and port */
	size_t hosts, refused;
	uint64_t malformed;
	int64_t connections;

	uint64_t first, next;	    /* the oldest line, and the one to come */
	uint64_t used;		    /* bytes up to next */
	uint64_t begins[LINES + 1]; /* where lines begin */
	char bytes[LEDGER_RING];

	int64_t second; /* monotonic ms: when this second began */
	int told;	/* lines in it */
	uint64_t omitted;
	void (*listener)(void *arg);
	void *arg;
};

/* Mostly pages that nobody touches for long: not malloc's, which could have
 * touched them before. */
struct ledger *
ledger_new(void)
{
	struct ledger *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (l == MAP_FAILED)
		abort();
	l->first = l->next = 1;
	return l;
}

void
ledger_free(struct ledger *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->hosts; i++)
		free(l->counts[i].host);
	(void)munmap(l, sizeof(*l));
}

void
ledger_listen(struct ledger *l, void (*told)(void *arg), void *arg)
{
	l->listener = told;
	l->arg = arg;
}

void
ledger_connections(struct ledger *l, int change)
{
	l->connections += change;
}

/* -- counters -------------------------------------------------------------- */

static uint32_t
hash_of(const char *host, uint16_t port)
{
	uint32_t hash = 2166136261u ^ port;

	for (; *host != '\0'; host++)
		hash = (hash ^ (unsigned char)*host) * 16777619u;
	return hash;
}

/* A host is known from its first request on, where there is room. */
static struct count *
count_of(struct ledger *l, const struct ledger_entry *x)
{
	uint32_t hash = hash_of(x->host, x->port);
	bool refused = x->verdict != LEDGER_ALLOWED;
	size_t i;

	for (i = 0; i < l->hosts; i++)
		if (l->hashes[i] == hash && l->counts[i].port == x->port &&
		    strcmp(l->counts[i].host, x->host) == 0)
			break;
	struct count *c = &l->counts[i];
	if (i < l->hosts) {
		if (!refused && c->allowed == 0)
			l->refused--;
		return c;
	}
	if (i == LEDGER_HOSTS || (refused && l->refused == LEDGER_REFUSED))
		return &l->counts[OTHER];
	l->refused += refused;
	l->hashes[l->hosts++] = hash;
	c->host = mem_strdup(x->host);
	c->port = x->port;
	return c;
}

static void
count(struct ledger *l, const struct ledger_entry *x)
{
	if (x->host[0] == '\0') {
		l->malformed++;
		return;
	}
	struct count *c = count_of(l, x);
	if (x->verdict == LEDGER_ALLOWED)
		c->allowed++;
	else if (x->verdict == LEDGER_DENIED)
		c->denied++;
	else
		c->failed++;
	c->up += x->up;
	c->down += x->down;
}

static void
put_count(struct jw *w, const struct count *c)
{
	jw_open(w, '{');
	jw_str(w, "host", c->host != NULL ? c->host : "other");
	if (c->host != NULL)
		jw_int(w, "port", c->port);
	jw_int(w, "allowed", (int64_t)c->allowed);
	jw_int(w, "denied", (int64_t)c->denied);
	jw_int(w, "failed", (int64_t)c->failed);
	jw_int(w, "up", (int64_t)c->up);
	jw_int(w, "down", (int64_t)c->down);
	jw_close(w, '}');
}

void
ledger_counts(const struct ledger *l, struct buf *out)
{
	const struct count *other = &l->counts[OTHER];
	struct jw w = JW_INIT(out);

	jw_open(&w, '{');
	jw_key(&w, "hosts");
	jw_open(&w, '[');
	for (size_t i = 0; i < l->hosts; i++)
		put_count(&w, &l->counts[i]);
	if (other->allowed + other->denied + other->failed > 0)
		put_count(&w, other);
	jw_close(&w, ']');
	jw_int(&w, "connections", l->connections);
	jw_int(&w, "malformed", (int64_t)l->malformed);
	jw_close(&w, '}');
}

/* -- the ring -------------------------------------------------------------- */

static uint64_t
begin_of(const struct ledger *l, uint64_t line)
{
	return l->begins[line % (LINES + 1)];
}

static void
put_line(struct ledger *l, const struct buf *line)
{
	size_t at = l->used % LEDGER_RING;
	size_t behind = LEDGER_RING - at;
	size_t part = line->size < behind ? line->size : behind;

	while (l->first < l->next &&
	       (l->used + line->size - begin_of(l, l->first) > LEDGER_RING ||
		   l->next - l->first == LINES))
		l->first++;
	memcpy(l->bytes + at, line->data, part);
	memcpy(l->bytes, line->data + part, line->size - part);
	l->begins[l->next % (LINES + 1)] = l->used;
	l->used += line->size;
	l->next++;
	l->begins[l->next % (LINES + 1)] = l->used;
	if (l->listener != NULL)
		l->listener(l->arg);
}

static void
add_bytes(const struct ledger *l, uint64_t from, uint64_t to, struct buf *out)
{
	size_t at = from % LEDGER_RING, size = (size_t)(to - from);
	size_t behind = LEDGER_RING - at;
	size_t part = size < behind ? size : behind;

	buf_add(out, l->bytes + at, part);
	buf_add(out, l->bytes, size - part);
}

uint64_t
ledger_log(const struct ledger *l, uint64_t from, size_t size, struct buf *out,
    uint64_t *ret_lost)
{
	*ret_lost = 0;
	if (from == 0 || from > l->next)
		from = l->first;
	if (from < l->first) {
		*ret_lost = l->first - from;
		from = l->first;
	}
	uint64_t to = from;
	while (to < l->next && begin_of(l, to + 1) - begin_of(l, from) <= size)
		to++;
	add_bytes(l, begin_of(l, from), begin_of(l, to), out);
	return to;
}

uint64_t
ledger_log_end(const struct ledger *l)
{
	return l->next;
}

/* -- lines ----------------------------------------------------------------- */

static struct jw
begin_line(const struct ledger *l, struct buf *line, const char *verdict)
{
	struct jw w = JW_INIT(line);

	jw_open(&w, '{');
	jw_int(&w, "n", (int64_t)l->next);
	jw_time(&w, "time", clock_wall_ms());
	jw_str(&w, "verdict", verdict);
	return w;
}

static void
end_line(struct ledger *l, struct jw *w)
{
	jw_close(w, '}');
	buf_addc(w->out, '\n');
	put_line(l, w->out);
}

static void
put_text(struct jw *w, const char *key, const char *text)
{
	if (text[0] != '\0')
		jw_strn(w, key, text, strnlen(text, FIELD_MAX));
}

static void
tell(struct ledger *l, const struct ledger_entry *x)
{
	static const char *const names[] = {
	    [LEDGER_ALLOWED] = "allowed",
	    [LEDGER_DENIED] = "denied",
	    [LEDGER_UNREACHED] = "unreached",
	    [LEDGER_TIMED_OUT] = "timed out",
	    [LEDGER_MALFORMED] = "malformed",
	};
	BUF_AUTO line = BUF_INIT(4 * FIELD_MAX * 6 + 1024); /* \u00XX each */
	struct jw w = begin_line(l, &line, names[x->verdict]);

	put_text(&w, "method", x->method);
	put_text(&w, "host", x->host);
	if (x->port != 0)
		jw_int(&w, "port", x->port);
	put_text(&w, "address", x->address);
	put_text(&w, "reason", x->reason);
	if (x->status != 0)
		jw_int(&w, "status", x->status);
	jw_int(&w, "up", (int64_t)x->up);
	jw_int(&w, "down", (int64_t)x->down);
	jw_int(&w, "ms", x->ms);
	end_line(l, &w);
}

void
ledger_end(struct ledger *l)
{
	l->told = 0;
	if (l->omitted == 0)
		return;
	BUF_AUTO line = BUF_INIT(256);
	struct jw w = begin_line(l, &line, "omitted");
	jw_int(&w, "count", (int64_t)l->omitted);
	l->omitted = 0;
	end_line(l, &w);
}

void
ledger_settle(struct ledger *l)
{
	int64_t now = clock_mono_ms();

	if (now - l->second < 1000)
		return;
	l->second = now;
	ledger_end(l);
}

void
ledger_add(struct ledger *l, const struct ledger_entry *x)
{
	count(l, x);
	ledger_settle(l);
	if (l->told == LEDGER_RATE) {
		l->omitted++;
		return;
	}
	l->told++;
	tell(l, x);
}
