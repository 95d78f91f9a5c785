/* What is known of an exec. */
#include "init/object.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <signal.h>
#include <string.h>

/* -- the supervisor's ------------------------------------------------------ */

/* The script, or argv with blanks between; cut where it is too long, not
 * inside of a UTF-8 character. */
static void
tell_command(char to[WIRE_CMD_MAX + 1], const struct wire_exec *exec)
{
	const char *const script[] = {exec->script, NULL};
	size_t size = 0;

	for (const char *const *arg = exec->script ? script : exec->argv;
	     *arg != NULL && size < WIRE_CMD_MAX; arg++) {
		if (size > 0)
			to[size++] = ' ';
		size_t more = strnlen(*arg, WIRE_CMD_MAX - size + 1);
		bool cut = more > WIRE_CMD_MAX - size;
		more -= cut;
		while (cut && more > 0 && ((*arg)[more] & 0xc0) == 0x80)
			more--;
		memcpy(to + size, *arg, more);
		size += more;
		if (cut)
			break;
	}
	to[size] = '\0';
}

void
object_tell(struct object *x, const struct wire_exec *exec)
{
	tell_command(x->cmd, exec);
	(void)strncpy(x->id, exec->id, WIRE_ID_MAX);
	x->tty = exec->cols > 0;
	x->feedable = exec->feedable;
	x->started_ms = clock_wall_ms();
	atomic_store(&x->listed, true);
}

void
object_over(struct object *x, const struct wire_exit *exit)
{
	const struct ring_end end = {*exit, clock_wall_ms(), clock_mono_ms()};

	if (x->ring != NULL)
		ring_finish(x->ring, &end);
	else
		atomic_store(&x->listed, false);
}

bool
object_mail(const struct object *x, struct mail *ret_mail)
{
	if (atomic_load(&x->posted) == atomic_load(&x->taken))
		return false;
	uint64_t letter = atomic_load(&x->letter);
	*ret_mail = (struct mail){
	    .what = (enum mail_what)(letter & 0xff),
	    .signal = (uint8_t)(letter >> 8),
	    .cols = (uint16_t)(letter >> 16),
	    .rows = (uint16_t)(letter >> 32),
	};
	return true;
}

void
object_took(struct object *x)
{
	(void)atomic_fetch_add(&x->taken, 1);
}

/* -- PID 1's --------------------------------------------------------------- */

void
object_clear(struct object *x, uint64_t serial)
{
	memset(x, 0, sizeof(*x));
	x->serial = serial;
	x->feed = -1;
}

void
object_release(struct object *x)
{
	fd_close(&x->feed);
	ring_free(x->ring);
	x->ring = NULL;
	atomic_store(&x->listed, false);
}

bool
object_outlives(struct object *x)
{
	/* As the command ends that loses its supervisor (init/spawn.c). */
	const struct wire_exit killed = {
	    .code = 128 + SIGKILL, .signal = SIGKILL};

	if (x->ring == NULL || !atomic_load(&x->listed))
		return false;
	fd_close(&x->feed);
	object_over(x, &killed);
	return true;
}

bool
object_runs(const struct object *x)
{
	return atomic_load(&x->listed) &&
	       (x->ring == NULL || !ring_finished(x->ring, NULL));
}

struct wire_info
object_info(const struct object *x)
{
	struct ring_end end = {.wall_ms = 0};
	struct wire_info info = {
	    .id = x->id,
	    .cmd = x->cmd,
	    .kept = x->ring != NULL,
	    .tty = x->tty,
	    .feedable = x->feedable,
	    .detached = atomic_load(&x->detached),
	    .started_ms = x->started_ms,
	};

	if (x->ring == NULL)
		return info;
	info.ended = ring_finished(x->ring, &end);
	info.exit = end.exit;
	info.ended_ms = end.wall_ms;
	/* In this order: the writer moves the first one first. */
	info.end = ring_last(x->ring);
	info.first = ring_first(x->ring);
	if (info.first > info.end)
		info.end = info.first;
	return info;
}

bool
object_post(struct object *x, const struct mail *mail, uint32_t *ret_count)
{
	uint32_t posted = atomic_load(&x->posted);

	if (posted != atomic_load(&x->taken))
		return false;
	atomic_store(&x->letter,
	    (uint64_t)mail->what | (uint64_t)mail->signal << 8 |
		(uint64_t)mail->cols << 16 | (uint64_t)mail->rows << 32);
	*ret_count = posted + 1;
	atomic_store(&x->posted, posted + 1);
	return true;
}

bool
object_was_taken(const struct object *x, uint32_t count)
{
	return (int32_t)(atomic_load(&x->taken) - count) >= 0;
}
