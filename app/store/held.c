/* Holds in the records of runs: arguments in, replies out. */
#include "store/held.h"
#include "store/script.h"

static void
begin(
    struct script_call *c, enum script script, const char *id, const char *hold)
{
	script_begin(c, script);
	script_add(c, id);
	script_add(c, hold);
}

int
held_take(struct redis *r, const char *id, const char *hold, struct err *e)
{
	struct script_call c;

	begin(&c, SCRIPT_held_take, id, hold);
	script_add_int(&c, HELD_MS);
	return script_do(r, &c, e);
}

int
held_keep(struct redis *r, const char *id, const char *hold, bool frozen,
    bool *ret_kept, struct err *e)
{
	struct script_call c;
	int64_t yes;

	begin(&c, SCRIPT_held_keep, id, hold);
	script_add_int(&c, HELD_MS);
	script_add_int(&c, frozen);
	if (script_int(r, &c, &yes, e) != 0)
		return -1;
	*ret_kept = yes == 1;
	return 0;
}

int
held_end(struct redis *r, const char *id, const char *hold, struct err *e)
{
	struct script_call c;

	begin(&c, SCRIPT_held_end, id, hold);
	return script_do(r, &c, e);
}
