/* What an exec said last. */
#include "init/ring.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Beside the bytes it is kept where the streams took turns: a piece is the
 * offset at which one begins, cut to 31 bits, and whose it is. As many bytes as
 * a piece has are kept for each, at most: so they make up an eighth of it.
 */
#define PIECES (RING_BYTES / BYTES_PER_PIECE)
#define BYTES_PER_PIECE 32
#define PAGE 4096u
/* futex(2): musl has no <linux/futex.h>. */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

struct ring {
	_Atomic uint64_t first, last;		  /* bytes */
	_Atomic uint64_t first_piece, last_piece; /* as counted; past it */
	_Atomic uint32_t limit;
	_Atomic uint32_t changes; /* futex(2) */
	_Atomic int finished;
	struct ring_end end;
	/* The writer's: where the last piece begins, and what was given back
	 * to the kernel. */
	uint64_t begun, given_bytes, given_pieces;
	enum wire_type stream;
	alignas(PAGE) _Atomic uint32_t piece[PIECES];
	alignas(PAGE) char bytes[RING_BYTES];
};

struct ring *
ring_new(void)
{
	struct ring *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (r == MAP_FAILED)
		return NULL;
	(void)ring_limit(r, RING_MEMORY);
	return r;
}

void
ring_free(struct ring *r)
{
	if (r != NULL)
		(void)munmap(r, sizeof(*r));
}

bool
ring_limit(struct ring *r, uint64_t memory)
{
	uint64_t bytes = memory < RING_MEMORY ? memory / 9 * 8 : RING_BYTES;

	return atomic_exchange(&r->limit, (uint32_t)bytes) > bytes;
}

uint64_t
ring_used(const struct ring *r)
{
	uint64_t bytes = ring_last(r), limit = atomic_load(&r->limit);

	if (bytes > limit)
		bytes = limit;
	return bytes + bytes / 8;
}

uint64_t
ring_first(const struct ring *r)
{
	return atomic_load(&r->first);
}

uint64_t
ring_last(const struct ring *r)
{
	return atomic_load(&r->last);
}

/* -- the writer's ---------------------------------------------------------- */

static void
tell(struct ring *r)
{
	(void)atomic_fetch_add(&r->changes, 1);
	(void)syscall(
	    SYS_futex, &r->changes, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* The offset at which a piece begins that was known when last was read; one
 * that began later is beyond it. */
static uint64_t
piece_begin(uint32_t piece, uint64_t last)
{
	int32_t behind = (int32_t)((uint32_t)(last << 1) - (piece & ~1u)) / 2;

	return last - (uint64_t)(int64_t)behind;
}

static uint32_t
piece_at(const struct ring *r, uint64_t count)
{
	return atomic_load_explicit(
	    &r->piece[count % PIECES], memory_order_relaxed);
}

/* Whole pages of a circle of so many bytes, from and to as counted. */
static void
give_back(void *circle, size_t size, uint64_t *from, uint64_t to)
{
	uint64_t begin = *from, end = to / PAGE * PAGE;

	*from = end;
	while (begin < end) {
		size_t at = begin % size;
		size_t most = size - at;
		size_t some = end - begin < most ? (size_t)(end - begin) : most;

		/* Where a kernel cannot (gVisor), it stays in use. */
		(void)madvise((char *)circle + at, some, MADV_REMOVE);
		begin += some;
	}
}

/* No reader may take from before first any more; nor is it needed. */
static void
drop_before(struct ring *r, uint64_t first)
{
	uint64_t last = ring_last(r), count = atomic_load(&r->first_piece);
	uint64_t end = atomic_load(&r->last_piece);
	uint32_t limit = atomic_load(&r->limit);
	uint64_t most = limit / BYTES_PER_PIECE;

	while (count + 1 < end &&
	       (end - count >= most ||
		   piece_begin(piece_at(r, count + 1), last) <= first)) {
		uint64_t next = piece_begin(piece_at(r, ++count), last);

		first = next > first ? next : first;
	}
	atomic_store(&r->first_piece, count);
	if (first > ring_first(r))
		atomic_store(&r->first, first);
	/* Before anything is overwritten: ring_get has the other half. */
	atomic_thread_fence(memory_order_seq_cst);
	/* Not in too small coins. */
	if (limit == RING_BYTES || first < r->given_bytes + limit / 8)
		return;
	/* What is more than a circle behind was overwritten: it is in use. */
	if (last > RING_BYTES && r->given_bytes < last - RING_BYTES)
		r->given_bytes = (last - RING_BYTES + PAGE - 1) / PAGE * PAGE;
	give_back(r->bytes, RING_BYTES, &r->given_bytes, first);
	uint64_t oldest = end > PIECES ? (end - PIECES) * sizeof(uint32_t) : 0;
	if (r->given_pieces < oldest)
		r->given_pieces = (oldest + PAGE - 1) / PAGE * PAGE;
	give_back(r->piece, sizeof(r->piece), &r->given_pieces,
	    count * sizeof(uint32_t));
}

static void
put(struct ring *r, enum wire_type stream, const char *bytes, size_t size)
{
	uint64_t last = ring_last(r), count = atomic_load(&r->last_piece);
	size_t at = last % RING_BYTES;
	size_t most = RING_BYTES - at < size ? RING_BYTES - at : size;

	/* (A piece's own begin must stay within 31 bits.) */
	if (count == 0 || stream != r->stream ||
	    last - r->begun >= RING_BYTES) {
		r->stream = stream;
		r->begun = last;
		atomic_store_explicit(&r->piece[count % PIECES],
		    (uint32_t)(last << 1) | (stream == WIRE_STDERR),
		    memory_order_relaxed);
		atomic_store(&r->last_piece, count + 1);
	}
	memcpy(r->bytes + at, bytes, most);
	memcpy(r->bytes, bytes + most, size - most);
	atomic_store(&r->last, last + size);
}

/* Make place for so many bytes, and for one more piece. */
static void
make_place(struct ring *r, size_t size)
{
	uint64_t last = ring_last(r), limit = atomic_load(&r->limit);
	uint64_t first = ring_first(r);

	if (last + size > limit && first < last + size - limit)
		first = last + size - limit;
	drop_before(r, first);
}

void
ring_put(struct ring *r, enum wire_type stream, const char *bytes, size_t size)
{
	while (size > 0) {
		size_t most = atomic_load(&r->limit) / 2;
		size_t some = size < most ? size : most;

		if (some == 0)
			return;
		make_place(r, some);
		put(r, stream, bytes, some);
		bytes += some;
		size -= some;
	}
	tell(r);
}

void
ring_trim(struct ring *r)
{
	make_place(r, 0);
}

void
ring_finish(struct ring *r, const struct ring_end *end)
{
	/* Once PID 1 does this, the supervisor is dead. */
	if (atomic_load(&r->finished))
		return;
	r->end = *end;
	atomic_store(&r->finished, 1);
	tell(r);
}

bool
ring_finished(const struct ring *r, struct ring_end *ret_end)
{
	if (!atomic_load(&r->finished))
		return false;
	if (ret_end != NULL)
		*ret_end = r->end;
	return true;
}

/* -- a reader's ------------------------------------------------------------ */

/* The last of the pieces that begins at or before that offset. */
static uint64_t
piece_of(const struct ring *r, uint64_t offset, uint64_t last)
{
	uint64_t low = atomic_load(&r->first_piece);
	uint64_t high = atomic_load(&r->last_piece);

	while (low + 1 < high) {
		uint64_t mid = low + (high - low) / 2;

		if (piece_begin(piece_at(r, mid), last) <= offset)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Copy what one piece has at that offset; *ret_piece is that piece, if nothing
 * that this looks at was overwritten meanwhile. */
static size_t
copy(const struct ring *r, uint64_t offset, uint64_t last, char *to, size_t max,
    uint64_t *ret_piece, enum wire_type *ret_stream)
{
	uint64_t piece = piece_of(r, offset, last), end = last;
	uint32_t entry = piece_at(r, piece);

	*ret_piece = piece;
	*ret_stream = entry & 1 ? WIRE_STDERR : WIRE_STDOUT;
	if (piece + 1 < atomic_load(&r->last_piece)) {
		uint64_t next = piece_begin(piece_at(r, piece + 1), last);

		end = next < last ? next : last;
	}
	if (piece_begin(entry, last) > offset || end <= offset)
		return 0;
	size_t size = end - offset < max ? (size_t)(end - offset) : max;
	size_t at = offset % RING_BYTES;
	size_t most = RING_BYTES - at < size ? RING_BYTES - at : size;
	memcpy(to, r->bytes + at, most);
	memcpy(to + most, r->bytes, size - most);
	return size;
}

size_t
ring_get(const struct ring *r, uint64_t *offset, char *to, size_t max,
    enum wire_type *ret_stream)
{
	for (;;) {
		uint64_t first = ring_first(r), last = ring_last(r), piece;
		uint64_t at = *offset > first ? *offset : first;

		if (at >= last)
			return 0;
		size_t size = copy(r, at, last, to, max, &piece, ret_stream);
		/* As with a sequence lock: was any of it overwritten? */
		atomic_thread_fence(memory_order_seq_cst);
		if (size == 0 || ring_first(r) > at ||
		    atomic_load(&r->first_piece) > piece)
			continue;
		*offset = at;
		return size;
	}
}

void
ring_wait(struct ring *r, uint64_t offset, int ms)
{
	const struct timespec most = {ms / 1000, ms % 1000 * 1000000L};
	uint32_t seen = atomic_load(&r->changes);

	if (ring_last(r) <= offset && !ring_finished(r, NULL))
		(void)syscall(
		    SYS_futex, &r->changes, FUTEX_WAIT, seen, &most, NULL, 0);
}
