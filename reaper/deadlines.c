/* Deadlines that outlive Redis and the reaper. */
#include "deadlines.h"
#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (32u << 20)
#define PATH_SIZE 128 /* SBX_RUN_DIR has 70 bytes at most */

struct deadline {
	char id[ULID_SIZE];
	int64_t expires_ms;
};

void
deadlines_release(struct deadlines *d)
{
	free(d->item);
	d->item = NULL;
	d->count = 0;
}

static void
file_path(const struct config *config, char to[PATH_SIZE])
{
	(void)snprintf(to, PATH_SIZE, "%s/deadlines", config->run_dir);
}

static int
by_id(const void *a, const void *b)
{
	return strcmp(a, b); /* both begin with an id */
}

static bool
read_line(char *line, struct deadline *to)
{
	char *space = strchr(line, ' ');

	if (space == NULL)
		return false;
	*space = '\0';
	return ulid_parse(line, to->id) &&
	       str_to_int(space + 1, 0, INT64_MAX, &to->expires_ms) == 0;
}

int
deadlines_load(struct deadlines *d, const struct config *config, struct err *e)
{
	char path[PATH_SIZE], *line;
	size_t size = 0;

	file_path(config, path);
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return 0;
	char *text = fd_read_file(path, FILE_MAX, &size, e), *rest = text;
	if (text == NULL)
		return -1;
	deadlines_release(d);
	d->item = mem_zalloc(mem_array(size / ULID_SIZE + 1, sizeof(*d->item)));
	while ((line = strsep(&rest, "\n")) != NULL)
		if (strlen(line) > ULID_SIZE &&
		    read_line(line, &d->item[d->count]))
			d->count++;
	free(text);
	qsort(d->item, d->count, sizeof(*d->item), by_id);
	return 0;
}

static int
save(const struct deadlines *d, const struct config *config, struct err *e)
{
	char path[PATH_SIZE];
	BUF_AUTO text = BUF_INIT(FILE_MAX);

	for (size_t i = 0; i < d->count; i++)
		buf_addf(&text, "%s %lld\n", d->item[i].id,
		    (long long)d->item[i].expires_ms);
	file_path(config, path);
	return fd_write_file(path, 0600, text.data, text.size, e);
}

int
deadlines_keep(struct deadlines *d, const struct run *run, size_t count,
    const struct config *config, struct err *e)
{
	/* Zeroed, so that what pads an entry compares equal. */
	struct deadlines fresh = {
	    mem_zalloc(mem_array(count + 1, sizeof(*fresh.item))), count};

	for (size_t i = 0; i < count; i++) {
		memcpy(fresh.item[i].id, run[i].id, ULID_SIZE);
		fresh.item[i].expires_ms = run[i].expires_ms;
	}
	bool same = d->count == count &&
		    (count == 0 || memcmp(d->item, fresh.item,
				       count * sizeof(*d->item)) == 0);
	deadlines_release(d);
	*d = fresh;
	return same ? 0 : save(d, config, e);
}

int64_t
deadlines_find(const struct deadlines *d, const char *id)
{
	/* bsearch(3) without an array is undefined even for no entries. */
	const struct deadline *found =
	    d->count == 0
		? NULL
		: bsearch(id, d->item, d->count, sizeof(*d->item), by_id);

	return found != NULL ? found->expires_ms : 0;
}
