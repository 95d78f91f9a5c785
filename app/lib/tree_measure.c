/* What a directory tree holds. */
#include "lib/fd.h"
#include "lib/tree_links.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512 /* of st_blocks, whatever the file system's is: stat(2) */

static int
enter(struct walk *w, const char *name, struct tree_sum *sum, struct err *e)
{
	struct stat st;
	int fd = walk_open(w, name, &st);

	if (fd < 0)
		return walk_vanished(errno) || errno == EXDEV
			   ? 0
			   : walk_fail(w, name, "cannot read", e);
	sum->entries++;
	sum->bytes += (int64_t)st.st_blocks * BLOCK;
	return walk_enter(w, name, fd, &st, -1, e);
}

static int
measure(struct walk *w, const struct dirent *entry, struct links *met,
    struct tree_sum *sum, struct err *e)
{
	unsigned place;
	struct stat st;

	if (entry->d_type == DT_DIR)
		return enter(w, entry->d_name, sum, e);
	if (fstatat(walk_fd(w), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return walk_vanished(errno)
			   ? 0
			   : walk_fail(w, entry->d_name, "cannot read", e);
	if (S_ISDIR(st.st_mode))
		return enter(w, entry->d_name, sum, e);
	sum->entries++;
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		sum->skipped++;
	if (st.st_nlink > 1) {
		if (links_find(met, st.st_dev, st.st_ino, &place))
			return 0;
		/* Of too many each name counts. */
		(void)links_add(met, st.st_dev, st.st_ino, 0);
	}
	sum->bytes += (int64_t)st.st_blocks * BLOCK;
	return 0;
}

static int
step(struct walk *w, struct links *met, struct tree_sum *sum, struct err *e)
{
	const struct dirent *entry;

	if (walk_look(w, e) != 0)
		return -1;
	entry = walk_next(w);
	if (entry != NULL)
		return measure(w, entry, met, sum, e);
	if (errno != 0)
		return walk_fail(w, NULL, "cannot read", e);
	/* What was moved away takes along what is not counted yet. */
	(void)walk_leave(w);
	return 0;
}

int
tree_measure(int dir, const struct tree_watch *watch, struct tree_sum *ret_sum,
    struct err *e)
{
	struct links met = LINKS_INIT;
	struct tree_sum sum = {0, 0, 0};
	struct stat st;
	struct walk w;
	int rc = walk_begin(&w, dir, -1, watch, &st, e);

	sum.bytes = rc == 0 ? (int64_t)st.st_blocks * BLOCK : 0;
	while (rc == 0 && w.depth > 0)
		rc = step(&w, &met, &sum, e);
	walk_release(&w);
	links_release(&met);
	*ret_sum = sum;
	return rc;
}
