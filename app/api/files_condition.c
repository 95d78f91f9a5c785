/* What a PUT's headers say of the file that must be there. */
#include "api/files_condition.h"
#include "api/files_body.h"
#include "lib/str.h"

#include <stdlib.h>
#include <string.h>

static int
refuse(const char *name, struct err *e)
{
	return err_set(e, ERR_INPUT,
	    "The header %s is not served for changes of files: send the "
	    "request without it.",
	    name);
}

/* An entity tag of ours, quotes included. Another one is of no file here. */
static bool
read_tag(const char *text, size_t size, struct wire_same *ret_same)
{
	char ours[FILES_ETAG_SIZE], *end;
	struct wire_stat st = {.tag = strtoull(text + 1, &end, 16)};

	if (*end == '-')
		st.size = strtoull(end + 1, &end, 16);
	/* It was written so, and in no other way. */
	files_etag(&st, ours);
	*ret_same = (struct wire_same){st.tag, st.size};
	return strlen(ours) == size && memcmp(ours, text, size) == 0;
}

/* Compared strongly: a weak tag names no file. */
static int
read_tags(const char *value, struct wire_file *change, struct err *e)
{
	const char *p = value;

	while (*(p += strspn(p, " \t,")) != '\0') {
		struct wire_same same;
		bool weak = str_starts(p, "W/");

		p += weak ? 2 : 0;
		const char *end = *p == '"' ? strchr(p + 1, '"') : NULL;
		if (end == NULL)
			return err_set(e, ERR_INPUT,
			    "If-Match is \"*\", or entity tags in quotes, as "
			    "the ETag of a GET is.");
		end++;
		if (!weak && read_tag(p, (size_t)(end - p), &same)) {
			if (change->same_count == WIRE_SAME_MAX)
				return err_set(e, ERR_INPUT,
				    "If-Match names more than %d files.",
				    WIRE_SAME_MAX);
			change->same[change->same_count++] = same;
		}
		p = end;
	}
	return 0;
}

int
files_condition(
    const struct exchange *x, struct wire_file *change, struct err *e)
{
	bool put = change->what == WIRE_FILE_PUT;

	if (*x->content_range != '\0')
		return refuse("Content-Range", e);
	if (*x->if_unmodified_since != '\0')
		return refuse("If-Unmodified-Since", e);
	if (*x->if_match != '\0' && (!put || *x->if_none_match != '\0'))
		return refuse("If-Match", e);
	if (*x->if_none_match != '\0' &&
	    (!put || !str_eq(x->if_none_match, "*")))
		return refuse(put ? "If-None-Match with anything but \"*\""
				  : "If-None-Match",
		    e);
	if (*x->if_none_match != '\0')
		change->condition = WIRE_ABSENT;
	if (*x->if_match == '\0')
		return 0;
	change->condition = str_eq(x->if_match, "*") ? WIRE_PRESENT : WIRE_SAME;
	return change->condition == WIRE_SAME
		   ? read_tags(x->if_match, change, e)
		   : 0;
}
