/* What a run may reach, as entries and as text. */
#include "run/egress_policy.h"
#include "lib/allow.h"
#include "lib/jw.h"
#include "lib/str.h"

#include <jansson.h>
#include <string.h>

/* Own entries come last, behind this line. */
static const char own_mark[] = "# egressAllow\n";

/* -- a run's own ----------------------------------------------------------- */

static bool
is_among(const char *const *list, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(list[i], text))
			return true;
	return false;
}

static const char *
own_write(const char *const *list, struct arena *a)
{
	BUF_AUTO text = BUF_INIT(EGRESS_TEXT_MAX);
	struct jw w = JW_INIT(&text);

	if (list == NULL || *list == NULL)
		return "";
	jw_open(&w, '[');
	for (; *list != NULL; list++)
		jw_str(&w, NULL, *list);
	jw_close(&w, ']');
	return arena_strndup(a, text.data, text.size);
}

int
egress_own(const char *const *entries, struct arena *a, const char **ret_own,
    struct err *e)
{
	const char *list[EGRESS_OWN_MAX + 1];
	char text[ALLOW_TEXT];
	struct allow_entry entry;
	size_t count = 0;

	for (size_t i = 0; entries != NULL && entries[i] != NULL; i++) {
		if (i == EGRESS_OWN_MAX)
			return err_set(e, ERR_INPUT,
			    "egressAllow has more than %d entries.",
			    EGRESS_OWN_MAX);
		if (allow_parse(entries[i], strlen(entries[i]), &entry, e) != 0)
			return err_wrap(e, "egressAllow");
		allow_format(&entry, text);
		if (!is_among(list, count, text))
			list[count++] = arena_strdup(a, text);
	}
	list[count] = NULL;
	const char *own = own_write(list, a);
	if (strlen(own) > EGRESS_OWN_BYTES)
		return err_set(e, ERR_INPUT,
		    "egressAllow has more than %d bytes in all.",
		    EGRESS_OWN_BYTES);
	*ret_own = own;
	return 0;
}

const char *const *
egress_own_list(const char *own, struct arena *a)
{
	json_auto_t *array = json_loads(own != NULL ? own : "", 0, NULL);
	size_t count = json_array_size(array), n = 0;
	const char **list = arena_alloc(a, (count + 1) * sizeof(*list));

	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(array, i));

		if (text != NULL)
			list[n++] = arena_strdup(a, text);
	}
	return list;
}

/* -- in force -------------------------------------------------------------- */

static void
add(struct egress_entry *list, size_t *count, const char *text, size_t size,
    enum egress_origin origin, struct arena *a)
{
	struct allow_entry entry;
	struct err ignored = ERR_INIT;
	char canonical[ALLOW_TEXT];

	/* All were checked where they came in: this is against a record that
	 * somebody else wrote. */
	if (allow_parse(text, size, &entry, &ignored) != 0)
		return;
	allow_format(&entry, canonical);
	list[(*count)++] =
	    (struct egress_entry){arena_strdup(a, canonical), origin};
}

size_t
egress_entries(const struct config *config, const char *own, struct arena *a,
    const struct egress_entry **ret_list)
{
	const char *const *mine = egress_own_list(own, a);
	const char *at = config->egress_allow, *word;
	size_t most = allow_builtin_count, count = 0, size;

	for (size_t i = 0; mine[i] != NULL; i++)
		most++;
	while (str_word(&at, CONFIG_APART, &size) != NULL)
		most++;
	struct egress_entry *list = arena_alloc(a, most * sizeof(*list));
	for (size_t i = 0; i < allow_builtin_count; i++)
		add(list, &count, allow_builtin[i].entry,
		    strlen(allow_builtin[i].entry), EGRESS_BUILTIN, a);
	at = config->egress_allow;
	while ((word = str_word(&at, CONFIG_APART, &size)) != NULL)
		add(list, &count, word, size, EGRESS_BOX, a);
	for (; *mine != NULL; mine++)
		add(list, &count, *mine, strlen(*mine), EGRESS_RUN, a);
	*ret_list = list;
	return count;
}

void
egress_text(const struct config *config, const char *own, struct buf *out)
{
	struct arena a = ARENA_INIT;
	const struct egress_entry *list;
	size_t count = egress_entries(config, own, &a, &list), size, i = 0;
	const char *at = config->egress_private, *word;

	buf_adds(out, "builtin\n");
	while ((word = str_word(&at, CONFIG_APART, &size)) != NULL)
		buf_addf(out, "private %.*s\n", (int)size, word);
	if (str_eq(config->egress_sni, "off"))
		buf_adds(out, "sni off\n");
	while (i < count && list[i].origin == EGRESS_BUILTIN)
		i++;
	buf_adds(out, "# SBX_EGRESS_ALLOW\n");
	for (; i < count && list[i].origin == EGRESS_BOX; i++)
		buf_addf(out, "%s\n", list[i].text);
	buf_adds(out, own_mark);
	for (; i < count; i++)
		buf_addf(out, "%s\n", list[i].text);
	arena_release(&a);
}

const char *
egress_text_own(const char *text, struct arena *a)
{
	const char *list[EGRESS_OWN_MAX + 1];
	const char *at = strstr(text, own_mark), *line;
	size_t count = 0, size;

	if (at == NULL)
		return "";
	at += strlen(own_mark);
	while (count < EGRESS_OWN_MAX &&
	       (line = str_word(&at, "\n", &size)) != NULL)
		list[count++] = arena_strndup(a, line, size);
	list[count] = NULL;
	return own_write(list, a);
}
