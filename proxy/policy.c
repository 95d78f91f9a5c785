/* What a run may reach. */
#include "policy.h"
#include "lib/buf.h"
#include "lib/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An entry in few bytes: most of a process is its policy. */
struct rule {
	uint32_t hash;
	uint32_t name;	/* where it is in names */
	uint16_t port;	/* 0: 80 and 443 */
	uint16_t below; /* 1: and everything below */
};

struct policy {
	struct rule *rules;
	uint16_t *table; /* by hash: a rule's number + 1, 0 for none */
	struct cidr *exceptions;
	size_t count, exception_count;
	uint32_t mask;	  /* of the table's size, a power of two */
	struct buf names; /* each with its NUL */
	struct address own;
	uint16_t own_port; /* 0: not known */
	bool builtin, sni;
};

/* -- looking up ------------------------------------------------------------ */

#define HASH_START 2166136261u /* FNV-1a */

/* From the last byte of a name to its first, so that one walk along a name
 * gives the hash of each domain that it is in. */
static uint32_t
hash_byte(uint32_t hash, char byte)
{
	return (hash ^ (unsigned char)byte) * 16777619u;
}

static uint32_t
hash_name(const char *name)
{
	uint32_t hash = HASH_START;

	for (size_t i = strlen(name); i > 0; i--)
		hash = hash_byte(hash, name[i - 1]);
	return hash;
}

static uint32_t
place_of(const struct policy *p, const struct rule *r)
{
	uint32_t hash = r->hash ^ r->port * 2654435761u ^ r->below;

	return (hash ^ hash >> 15) & p->mask;
}

/* Where in the table that rule is, or would be. */
static uint16_t *
find(const struct policy *p, const struct rule *r, const char *name)
{
	for (uint32_t at = place_of(p, r);; at = (at + 1) & p->mask) {
		if (p->table[at] == 0)
			return &p->table[at];
		const struct rule *there = &p->rules[p->table[at] - 1];
		if (there->hash == r->hash && there->port == r->port &&
		    there->below == r->below &&
		    strcmp(p->names.data + there->name, name) == 0)
			return &p->table[at];
	}
}

static bool
has(const struct policy *p, uint32_t hash, const char *name, uint16_t port,
    bool below)
{
	struct rule r = {hash, 0, port, below};

	if (*find(p, &r, name) != 0)
		return true;
	r.port = 0;
	return (port == 80 || port == 443) && *find(p, &r, name) != 0;
}

bool
policy_admits(const struct policy *p, const struct allow_host *h, uint16_t port)
{
	char name[ALLOW_TEXT];
	uint32_t hash = HASH_START;

	allow_host_format(h, name);
	for (size_t i = strlen(name); i > 0; i--) {
		hash = hash_byte(hash, name[i - 1]);
		if (i > 1 && (h->is_address || name[i - 2] != '.'))
			continue;
		if (has(p, hash, name + i - 1, port, true))
			return true;
	}
	return has(p, hash, name, port, false);
}

static bool
is_unspecified(const struct address *a)
{
	static const uint8_t zeros[16];

	return memcmp(a->bytes, zeros, a->family == 4 ? 4 : 16) == 0;
}

static bool
is_loopback(const struct address *a)
{
	static const struct address six = {6, {[15] = 1}};

	return a->family == 4 ? a->bytes[0] == 127 : address_equal(a, &six);
}

static bool
is_own(const struct policy *p, const struct address *a, uint16_t port)
{
	if (p->own_port == 0 || p->own_port != port)
		return false;
	return address_equal(&p->own, a) ||
	       (is_unspecified(&p->own) && is_loopback(a));
}

const char *
policy_refuses_address(const struct policy *p, const struct allow_host *h,
    const struct address *a, uint16_t port)
{
	if (is_unspecified(a))
		return "unspecified";
	if (is_own(p, a, port))
		return "the proxy's own";
	const char *special = address_special(a);
	if (special == NULL || h->is_address)
		return NULL;
	for (size_t i = 0; i < p->exception_count; i++)
		if (cidr_has(&p->exceptions[i], a))
			return NULL;
	return special;
}

void
policy_own(struct policy *p, const struct address *a, uint16_t port)
{
	p->own = *a;
	p->own_port = port;
}

bool
policy_checks_sni(const struct policy *p)
{
	return p->sni;
}

/* -- reading --------------------------------------------------------------- */

static int
make_room(struct policy *p, struct err *e)
{
	if (p->count + p->exception_count >= POLICY_ENTRIES_MAX)
		return err_set(e, ERR_INPUT, "one entry too many; %d at most",
		    POLICY_ENTRIES_MAX);
	return 0;
}

/* Room doubles; a full array's length is a power of two. */
static void *
grown(void *array, size_t count, size_t size)
{
	if ((count & (count - 1)) != 0)
		return array;
	return mem_realloc(array, mem_array(count == 0 ? 1 : count * 2, size));
}

static int
add_entry(struct policy *p, const char *text, size_t size, struct err *e)
{
	struct allow_entry a;
	char name[ALLOW_TEXT];

	if (allow_parse(text, size, &a, e) != 0 || make_room(p, e) != 0)
		return -1;
	allow_host_format(&a.host, name);
	p->rules = grown(p->rules, p->count, sizeof(*p->rules));
	p->rules[p->count++] = (struct rule){
	    hash_name(name), (uint32_t)p->names.size, a.port, a.suffix};
	buf_add(&p->names, name, strlen(name) + 1);
	return 0;
}

static int
add_builtin(struct policy *p, struct err *e)
{
	if (p->builtin)
		return 0;
	p->builtin = true;
	for (size_t i = 0; i < allow_builtin_count; i++) {
		const char *entry = allow_builtin[i].entry;

		if (add_entry(p, entry, strlen(entry), e) != 0)
			return -1;
	}
	return 0;
}

static int
add_exception(struct policy *p, const char *text, size_t size, struct err *e)
{
	char range[ADDRESS_TEXT + 4]; /* "/128" */
	struct cidr c;

	(void)snprintf(range, sizeof(range), "%.*s", (int)size, text);
	if (size >= sizeof(range) || strlen(range) != size ||
	    !cidr_parse(range, &c))
		return err_set(e, ERR_INPUT,
		    "\"%s\" is no range of addresses; write it like "
		    "10.1.0.0/16, with zeros behind the prefix",
		    range);
	if (make_room(p, e) != 0)
		return -1;
	p->exceptions =
	    grown(p->exceptions, p->exception_count, sizeof(*p->exceptions));
	p->exceptions[p->exception_count++] = c;
	return 0;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void
trim(const char **from, const char **end)
{
	while (*from < *end && is_blank(**from))
		(*from)++;
	while (*from < *end && is_blank((*end)[-1]))
		(*end)--;
}

static bool
is_word(const char *from, const char *end, const char *word)
{
	size_t size = strlen(word);

	return (size_t)(end - from) == size && memcmp(from, word, size) == 0;
}

static int
read_line(struct policy *p, const char *line, const char *end, struct err *e)
{
	const char *from = line, *rest;

	for (const char *c = line; c < end; c++)
		if (*c == '#' && (c == line || is_blank(c[-1])))
			end = c;
	trim(&from, &end);
	if (from == end)
		return 0;
	for (rest = from; rest < end && !is_blank(*rest); rest++)
		;
	const char *word_end = rest;
	trim(&rest, &end);
	if (is_word(from, word_end, "builtin") && rest == end)
		return add_builtin(p, e);
	/* Alone, these are names of hosts. */
	if (is_word(from, word_end, "private") && rest < end)
		return add_exception(p, rest, (size_t)(end - rest), e);
	if (!is_word(from, word_end, "sni") || rest == end)
		return add_entry(p, from, (size_t)(end - from), e);
	p->sni = !is_word(rest, end, "off");
	if (p->sni && !is_word(rest, end, "on"))
		return err_set(e, ERR_INPUT, "sni is \"on\" or \"off\"");
	return 0;
}

/* What is wrong is gathered, so that it can be mended at one go. */
static size_t
read_lines(struct policy *p, const char *text, size_t size, struct buf *faults)
{
	const char *end = text + size;
	size_t number = 0, untold = 0;
	struct err e;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (stop == NULL)
			stop = end;
		number++;
		if (read_line(p, text, stop, &e) == 0)
			;
		else if (faults->size + strlen(e.text) > faults->max - 40)
			untold++;
		else
			buf_addf(faults, "%sline %zu: %s",
			    faults->size > 0 ? "; " : "", number, e.text);
		text = stop + 1;
	}
	return untold;
}

static void
make_table(struct policy *p)
{
	uint32_t size = 16;

	while (size < p->count * 2)
		size *= 2;
	p->table = mem_zalloc(mem_array(size, sizeof(*p->table)));
	p->mask = size - 1;
	for (size_t i = 0; i < p->count; i++) {
		const struct rule *r = &p->rules[i];
		uint16_t *at = find(p, r, p->names.data + r->name);

		if (*at == 0)
			*at = (uint16_t)(i + 1);
	}
}

struct policy *
policy_parse(const char *text, size_t size, struct err *e)
{
	BUF_AUTO faults = BUF_INIT(sizeof(e->text) - 40);
	struct policy *p;

	if (size > POLICY_TEXT_MAX) {
		(void)err_set(e, ERR_INPUT, "it is longer than %u bytes",
		    POLICY_TEXT_MAX);
		return NULL;
	}
	p = mem_zalloc(sizeof(*p));
	p->names = (struct buf)BUF_INIT(POLICY_ENTRIES_MAX * ALLOW_TEXT);
	p->sni = true;
	size_t untold = read_lines(p, text, size, &faults);
	make_table(p);
	if (faults.size == 0 && untold == 0)
		return p;
	(void)err_set(e, ERR_INPUT, "%s", faults.data);
	if (untold > 0)
		(void)snprintf(e->text + faults.size,
		    sizeof(e->text) - faults.size, "; and %zu lines more",
		    untold);
	policy_free(p);
	return NULL;
}

void
policy_free(struct policy *p)
{
	if (p == NULL)
		return;
	free(p->rules);
	free(p->table);
	free(p->exceptions);
	buf_release(&p->names);
	free(p);
}
