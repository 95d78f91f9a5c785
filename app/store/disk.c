/* Disk use, on its way to Redis. */
#include "store/disk.h"
#include "store/run_reply.h"
#include "store/script.h"

int
disk_note_run(struct redis *r, const char *id, const struct disk_use *use,
    bool *ret_news, struct err *e)
{
	struct script_call c;
	int64_t yes;

	script_begin(&c, SCRIPT_disk_run);
	script_add(&c, id);
	script_add_int(&c, use->bytes);
	script_add_int(&c, use->cache);
	script_add_int(&c, use->warned);
	script_add(&c, use->over ? DISK_LIMIT : "");
	if (script_int(r, &c, &yes, e) != 0)
		return -1;
	*ret_news = yes == 1;
	return 0;
}

int
disk_note_box(
    struct redis *r, const struct figure *figures, size_t count, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_disk_box);
	for (size_t i = 0; i < count; i++) {
		script_add(&c, figures[i].name);
		script_add_int(&c, figures[i].value);
	}
	return script_do(r, &c, e);
}
