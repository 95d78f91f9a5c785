/* Reading, resolving and printing the SBX_* variables. */
#include "config.h"
#include "lib/address.h"
#include "lib/allow.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEAR 2		      /* letters that a variable's name may be off */
#define EGRESS_ALLOW_MAX 4096 /* the proxy takes twice as many in all */

enum type { TYPE_INT, TYPE_BOOL, TYPE_STR, TYPE_PATH };

struct variable {
	const char *name;
	enum type type;
	int64_t min, max;
	const char *def, *text;
	size_t offset;
};

static const struct variable variables[] = {
#define V(name, field, type, min, max, def, text)        \
	{"SBX_" #name, TYPE_##type, min, max, def, text, \
	    offsetof(struct config, field)},
#include "config.def"
#undef V
};

#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

static int
read_number(const struct variable *v, const char *value, struct config *c,
    struct err *e)
{
	int64_t number;

	if (str_to_int(value, v->min, v->max, &number) != 0)
		return err_set(e, ERR_INPUT,
		    "%s is \"%s\": it must be a whole number from %lld to "
		    "%lld",
		    v->name, value, (long long)v->min, (long long)v->max);
	memcpy((char *)c + v->offset, &number, sizeof(number));
	return 0;
}

static int
read_text(const struct variable *v, const char *value, struct config *c,
    struct err *e)
{
	size_t size = strlen(value);

	if (size < (size_t)v->min || size > (size_t)v->max)
		return err_set(e, ERR_INPUT,
		    "%s has %zu bytes: it must have %lld to %lld", v->name,
		    size, (long long)v->min, (long long)v->max);
	if (v->type == TYPE_PATH && size > 0 && *value != '/')
		return err_set(e, ERR_INPUT,
		    "%s is \"%s\": it must be an absolute path", v->name,
		    value);
	const char *kept = value == v->def ? value : mem_strdup(value);
	memcpy((char *)c + v->offset, &kept, sizeof(kept));
	return 0;
}

/* The host of HOST:PORT is loopback: 127/8, ::1 in brackets, localhost. A name
 * that only begins like an address (127.example.com) is not. */
static bool
is_loopback(const char *addr)
{
	size_t host = (size_t)(strrchr(addr, ':') - addr);

	return (str_starts(addr, "127.") &&
		   strspn(addr, "0123456789.") == host) ||
	       str_starts(addr, "[::1]:") || str_starts(addr, "localhost:");
}

static int
check_addr(const struct config *c, struct err *e)
{
	const char *colon = strrchr(c->addr, ':');
	int64_t port;

	if (colon == NULL || colon == c->addr ||
	    str_to_int(colon + 1, 1, 65535, &port) != 0 ||
	    c->addr[strspn(c->addr,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789.-:[]")] != '\0')
		return err_set(e, ERR_INPUT,
		    "SBX_ADDR is \"%s\": it must be HOST:PORT, with an IPv6 "
		    "address in brackets",
		    c->addr);
	if (!c->allow_public && !is_loopback(c->addr))
		return err_set(e, ERR_INPUT,
		    "SBX_ADDR is \"%s\", which is not loopback: the API is "
		    "plain HTTP and hands out containers; set "
		    "SBX_ALLOW_PUBLIC=1 if that is meant",
		    c->addr);
	return 0;
}

static int
check_redis_url(const struct config *c, struct err *e)
{
	if (str_starts(c->redis_url, "unix:///") ||
	    str_starts(c->redis_url, "redis://"))
		return 0;
	return err_set(e, ERR_INPUT,
	    "SBX_REDIS_URL must start with unix:/// or redis:// (TLS is not "
	    "supported)");
}

/* Variables that are one of some words. */
static int
check_words(const struct config *c, struct err *e)
{
	const struct {
		const char *name, *value, *said, *word[3];
	} table[] = {
	    {"SBX_GUEST", c->guest, "auto, socket or exec",
		{"auto", "socket", "exec"}},
	    {"SBX_EGRESS_SNI", c->egress_sni, "on or off", {"on", "off", "on"}},
	    {"SBX_EGRESS_MODE", c->egress_mode, "auto, netns or bridge",
		{"auto", "netns", "bridge"}},
	    {"SBX_EGRESS_START", c->egress_start, "auto, spawn or systemd",
		{"auto", "spawn", "systemd"}},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		bool good = false;

		for (size_t w = 0; w < 3; w++)
			good = good || str_eq(table[i].value, table[i].word[w]);
		if (!good)
			return err_set(e, ERR_INPUT,
			    "%s is \"%s\": it must be %s", table[i].name,
			    table[i].value, table[i].said);
	}
	return 0;
}

static int
check_pool(const struct config *c, struct err *e)
{
	struct cidr pool;

	if (cidr_parse(c->egress_pool, &pool) && pool.base.family == 4 &&
	    pool.bits >= 8 && pool.bits <= 29)
		return 0;
	return err_set(e, ERR_INPUT,
	    "SBX_EGRESS_POOL is \"%s\": it must be a network like "
	    "10.219.0.0/16, from /8 to /29, with no bit set behind its prefix",
	    c->egress_pool);
}

static int
check_egress(const struct config *c, struct err *e)
{
	const char *at = c->egress_allow, *word;
	struct allow_entry entry;
	struct cidr cidr;
	size_t size, count = 0;
	char text[64];

	while ((word = str_word(&at, CONFIG_APART, &size)) != NULL) {
		if (allow_parse(word, size, &entry, e) != 0)
			return err_wrap(e, "SBX_EGRESS_ALLOW");
		if (++count > EGRESS_ALLOW_MAX)
			return err_set(e, ERR_INPUT,
			    "SBX_EGRESS_ALLOW has more than %d entries",
			    EGRESS_ALLOW_MAX);
	}
	at = c->egress_private;
	while ((word = str_word(&at, CONFIG_APART, &size)) != NULL) {
		(void)snprintf(text, sizeof(text), "%.*s", (int)size, word);
		if (size >= sizeof(text) || !cidr_parse(text, &cidr))
			return err_set(e, ERR_INPUT,
			    "SBX_EGRESS_PRIVATE has \"%s\": it must be a "
			    "network like 10.0.0.0/8 or fd00::/8, with no bit "
			    "set behind its prefix",
			    text);
	}
	return 0;
}

static char *
join(const char *a, const char *b, const char *c)
{
	size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
	char *text = mem_alloc(size);

	(void)snprintf(text, size, "%s%s%s", a, b, c);
	return text;
}

/* The programs that are where this one is. */
static int
beside(struct config *c, struct err *e)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return err_sys(e, ERR_INTERNAL, "cannot read /proc/self/exe");
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	if (*c->init == '\0')
		c->init = join(self, "/", "sbx-init");
	if (*c->proxy == '\0')
		c->proxy = join(self, "/", "sbx-proxy");
	return 0;
}

/* What depends on the host: its name, and where this program lies. */
static int
resolve(struct config *c, struct err *e)
{
	char name[256] = "";

	if (*c->server == '\0') {
		if (gethostname(name, sizeof(name) - 1) != 0)
			return err_sys(
			    e, ERR_INTERNAL, "cannot read the host name");
		c->server = mem_strdup(name);
	}
	if (getenv("SBX_CACHE_ROOT") == NULL)
		c->cache_root = join(c->state_dir, "/cache", "");
	if (*c->redis_url == '\0')
		c->redis_url = join("unix://", c->run_dir, "/redis.sock");
	return beside(c, e);
}

/* What a configuration that was refused had taken so far. */
static void
release(const struct config *c)
{
	for (size_t i = 0; i < VARIABLES; i++) {
		const struct variable *v = &variables[i];
		char *text;

		if (v->type != TYPE_STR && v->type != TYPE_PATH)
			continue;
		memcpy(&text, (const char *)c + v->offset, sizeof(text));
		if (text != v->def)
			free(text);
	}
}

static int
read_all(struct config *c, struct err *e)
{
	for (size_t i = 0; i < VARIABLES; i++) {
		const struct variable *v = &variables[i];
		const char *value = getenv(v->name);
		int rc;

		if (value == NULL ||
		    (*value == '\0' && !str_eq(v->name, "SBX_CACHE_ROOT")))
			value = v->def;
		if (v->type == TYPE_INT || v->type == TYPE_BOOL)
			rc = read_number(v, value, c, e);
		else
			rc = read_text(v, value, c, e);
		if (rc != 0)
			return -1;
	}
	if (check_addr(c, e) != 0 || check_words(c, e) != 0 ||
	    check_egress(c, e) != 0 || check_pool(c, e) != 0 ||
	    resolve(c, e) != 0)
		return -1;
	return check_redis_url(c, e);
}

int
config_read(struct config *ret_config, struct err *e)
{
	struct config c;

	memset(&c, 0, sizeof(c));
	if (read_all(&c, e) != 0) {
		release(&c);
		return -1;
	}
	*ret_config = c;
	return 0;
}

/* -- what is in no table --------------------------------------------------- */

/* Of scripts, clients and tests; one that ends with '_' is a beginning. */
static const char *const of_others[] = {
    "SBX_ENGINE_CONFIG", "SBX_TOKEN", "SBX_URL", "SBX_TEST_", "SBX_BENCH_"};

static bool
is_known(const char *name)
{
	for (size_t i = 0; i < VARIABLES; i++)
		if (str_eq(name, variables[i].name))
			return true;
	for (size_t i = 0; i < sizeof(of_others) / sizeof(of_others[0]); i++)
		if (str_eq(name, of_others[i]) ||
		    (str_ends(of_others[i], "_") &&
			str_starts(name, of_others[i])))
			return true;
	return false;
}

/* How many letters of a have to be changed, put in or left out for b: a row of
 * Levenshtein's table after the other. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[CONFIG_NAME + 1], size = strlen(b);

	for (size_t i = 0; i <= size; i++)
		row[i] = i;
	for (size_t above = row[0]; *a != '\0'; a++, above = row[0]) {
		row[0]++;
		for (size_t i = 1; i <= size; i++) {
			size_t changed = above + (*a != b[i - 1]);

			above = row[i];
			row[i] = row[i] < row[i - 1] ? row[i] : row[i - 1];
			row[i] = row[i] + 1 < changed ? row[i] + 1 : changed;
		}
	}
	return row[size];
}

static const char *
nearest(const char *name)
{
	size_t least = NEAR + 1;
	const char *meant = NULL;

	for (size_t i = 0; i < VARIABLES; i++) {
		size_t far = distance(name, variables[i].name);

		if (far >= least)
			continue;
		least = far;
		meant = variables[i].name;
	}
	return meant;
}

bool
config_unknown(size_t *at, char ret_name[CONFIG_NAME], const char **ret_meant)
{
	for (; environ[*at] != NULL; ++*at) {
		const char *setting = environ[*at];

		if (!str_starts(setting, "SBX_"))
			continue;
		(void)snprintf(ret_name, CONFIG_NAME, "%.*s",
		    (int)strcspn(setting, "="), setting);
		if (is_known(ret_name))
			continue;
		*ret_meant = nearest(ret_name);
		++*at;
		return true;
	}
	return false;
}

/* The text of one row, folded at 60 columns. */
static void
help_text(FILE *to, const char *text)
{
	while (*text != '\0') {
		size_t size = strlen(text), cut = size;

		if (size > 60)
			for (cut = 60; cut > 1 && text[cut] != ' ';)
				cut--;
		fprintf(to, "        %.*s\n", (int)cut, text);
		text += cut;
		while (*text == ' ')
			text++;
	}
}

void
config_help(FILE *to)
{
	for (size_t i = 0; i < VARIABLES; i++) {
		const struct variable *v = &variables[i];

		fprintf(to, "  %s", v->name);
		if (v->type == TYPE_INT)
			fprintf(to, " (%lld..%lld)", (long long)v->min,
			    (long long)v->max);
		else if (v->type == TYPE_BOOL)
			fputs(" (0 or 1)", to);
		else if (v->type == TYPE_PATH)
			fputs(" (absolute path)", to);
		fprintf(to, ", default: %s\n", *v->def ? v->def : "empty");
		help_text(to, v->text);
	}
}

static void
print_quoted(FILE *to, const char *text)
{
	fputc('\'', to);
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs("'\\''", to);
		else
			fputc(*text, to);
	}
	fputc('\'', to);
}

void
config_print(const struct config *config, FILE *to)
{
	for (size_t i = 0; i < VARIABLES; i++) {
		const struct variable *v = &variables[i];
		const char *at = (const char *)config + v->offset;
		const char *text;
		int64_t number;

		fprintf(to, "%s=", v->name);
		if (v->type == TYPE_INT || v->type == TYPE_BOOL) {
			memcpy(&number, at, sizeof(number));
			fprintf(to, "%lld", (long long)number);
		} else {
			memcpy(&text, at, sizeof(text));
			print_quoted(to, text);
		}
		fputc('\n', to);
	}
}
