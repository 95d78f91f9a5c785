/* The reaper's office. */
#include "store/reaper_lock.h"
#include "store/script.h"

int
reaper_lock_take(struct redis *r, const char *holder, int64_t hold_ms,
    int64_t *ret_fence, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_reaper_lock);
	script_add(&c, holder);
	script_add_int(&c, hold_ms);
	return script_int(r, &c, ret_fence, e);
}

int
reaper_lock_release(struct redis *r, const char *holder, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_reaper_unlock);
	script_add(&c, holder);
	return script_do(r, &c, e);
}
