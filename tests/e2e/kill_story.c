/* What all stories have in common. */
#include "kill_story.h"

#include <stdio.h>

void
kill_wrong(struct telling *t, const char *what, const struct reply *r)
{
	if (t->fault[0] == '\0')
		(void)snprintf(t->fault, sizeof(t->fault), "%s: %ld %.200s",
		    what, r->status, r->body.data);
}

bool
kill_down(struct telling *t, const struct reply *r)
{
	if (r->status == 0)
		return true;
	if (r->status < 500)
		return false;
	if (json_string_value(json_object_get(r->json, "code")) == NULL ||
	    json_string_value(json_object_get(r->json, "detail")) == NULL)
		kill_wrong(t, "a problem that is none", r);
	return true;
}
