/* Files that have several names. */
#include "lib/tree_links.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct links_slot {
	dev_t dev;
	ino_t ino; /* 0: the slot is free */
	unsigned place;
};

struct links_node {
	unsigned dir, name;
};

void
links_release(struct links *l)
{
	free(l->slot);
	free(l->node);
	buf_release(&l->names);
	*l = (struct links)LINKS_INIT;
}

/* The slot of that inode, or the free one where it would go. */
static struct links_slot *
slot_of(const struct links *l, dev_t dev, ino_t ino)
{
	/* Inode numbers come in rows: spread them (Knuth, TAOCP 6.4). */
	uint64_t hash = ((uint64_t)ino + dev) * 0x9e3779b97f4a7c15u;
	size_t at = (size_t)(hash >> 32) & (l->room - 1);

	while (l->slot[at].ino != 0 &&
	       (l->slot[at].ino != ino || l->slot[at].dev != dev))
		at = (at + 1) & (l->room - 1);
	return &l->slot[at];
}

bool
links_find(const struct links *l, dev_t dev, ino_t ino, unsigned *ret_place)
{
	const struct links_slot *slot;

	if (l->room == 0 || (slot = slot_of(l, dev, ino))->ino == 0)
		return false;
	*ret_place = slot->place;
	return true;
}

static void
grow(struct links *l)
{
	struct links old = *l;

	l->room = old.room == 0 ? 256 : old.room * 2;
	l->slot = mem_zalloc(mem_array(l->room, sizeof(*l->slot)));
	for (size_t i = 0; i < old.room; i++)
		if (old.slot[i].ino != 0)
			*slot_of(l, old.slot[i].dev, old.slot[i].ino) =
			    old.slot[i];
	free(old.slot);
}

bool
links_add(struct links *l, dev_t dev, ino_t ino, unsigned place)
{
	if (l->count == LINKS_MAX)
		return false;
	if (l->count >= l->room / 4 * 3)
		grow(l);
	*slot_of(l, dev, ino) = (struct links_slot){dev, ino, place};
	l->count++;
	return true;
}

unsigned
links_place(struct links *l, unsigned dir, const char *name)
{
	size_t at = l->names.size;

	if (l->nodes == 0)
		l->nodes = 1; /* the root, of which nothing is asked */
	buf_add(&l->names, name, strlen(name) + 1);
	if (l->names.over)
		return 0;
	if (l->nodes >= l->node_room) {
		l->node_room = l->node_room == 0 ? 256 : l->node_room * 2;
		l->node = mem_realloc(
		    l->node, mem_array(l->node_room, sizeof(*l->node)));
	}
	l->node[l->nodes] = (struct links_node){dir, (unsigned)at};
	return (unsigned)l->nodes++;
}

/* One more name of a path, from *at on. What the kernel takes no more of at
 * once is opened, and *at is that then. */
static int
add_name(struct buf *path, int root, int *at, const char *name)
{
	if (path->size + strlen(name) + 2 > PATH_MAX) {
		int next = openat(*at >= 0 ? *at : root, path->data,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (next < 0)
			return -1;
		fd_close(at);
		*at = next;
		buf_reset(path);
	}
	if (path->size > 0)
		buf_addc(path, '/');
	buf_adds(path, name);
	return 0;
}

int
links_make(
    const struct links *l, int root, unsigned place, int dir, const char *name)
{
	BUF_AUTO path = BUF_INIT(PATH_MAX);
	FD_AUTO at = -1;
	size_t depth = 0;
	int rc = 0;

	for (unsigned p = place; p != 0; p = l->node[p].dir)
		depth++;
	unsigned *way = mem_alloc(mem_array(depth, sizeof(*way)));
	for (size_t i = depth; i > 0; place = l->node[place].dir)
		way[--i] = place;
	for (size_t i = 0; i < depth && rc == 0; i++)
		rc = add_name(
		    &path, root, &at, l->names.data + l->node[way[i]].name);
	free(way);
	if (rc != 0)
		return -1;
	return linkat(at >= 0 ? at : root, path.data, dir, name, 0);
}
