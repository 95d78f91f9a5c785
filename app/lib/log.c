/* The one logger. */
#include "lib/log.h"
#include "lib/clock.h"

#include <unistd.h>

/* Set once, before threads: a constant for the rest of the process. */
static const char *log_program = "sbx";

void
log_open(const char *program)
{
	log_program = program;
}

struct jw
log_begin(struct buf *line, const char *event)
{
	struct jw w = JW_INIT(line);

	jw_open(&w, '{');
	jw_time(&w, "time", clock_wall_ms());
	jw_str(&w, "program", log_program);
	jw_int(&w, "pid", getpid());
	jw_str(&w, "event", event);
	return w;
}

void
log_end(struct buf *line)
{
	buf_adds(line, "}\n");
	if (!line->over)
		(void)!write(STDERR_FILENO, line->data, line->size);
	buf_release(line);
}
