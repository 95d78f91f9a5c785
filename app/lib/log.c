/* The one logger. */
#include "lib/log.h"
#include "lib/clock.h"
#include "lib/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Set once, before threads: constants for the rest of the process. */
static const char *log_program = "sbx";
static bool log_to_journal;

/* The variable may have come from a parent with another standard error. */
static bool
is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char mine[48];
	struct stat st;

	if (stream == NULL || fstat(STDERR_FILENO, &st) != 0)
		return false;
	(void)snprintf(mine, sizeof(mine), "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino);
	return str_eq(stream, mine);
}

void
log_open(const char *program)
{
	log_program = program;
	log_to_journal = is_journal();
}

static void
begin_line(struct buf *line, enum log_level level)
{
	if (log_to_journal)
		buf_addf(line, "<%d>", (int)level);
}

static void
end_line(struct buf *line, const char *end)
{
	buf_adds(line, end);
	if (!line->over)
		(void)!write(STDERR_FILENO, line->data, line->size);
	buf_release(line);
}

void
log_last_words(const char *text)
{
	struct buf line = BUF_INIT(LOG_LINE_MAX);

	begin_line(&line, LEVEL_ERROR);
	buf_addf(&line, "%s: %s", log_program, text);
	end_line(&line, "\n");
}

static const char *
level_name(enum log_level level)
{
	return level == LEVEL_ERROR	? "error"
	       : level == LEVEL_WARNING ? "warning"
					: "info";
}

struct jw
log_begin(struct buf *line, enum log_level level, const char *event)
{
	struct jw w = JW_INIT(line);

	begin_line(line, level);
	jw_open(&w, '{');
	jw_time(&w, "time", clock_wall_ms());
	jw_str(&w, "program", log_program);
	jw_int(&w, "pid", getpid());
	jw_str(&w, "level", level_name(level));
	jw_str(&w, "event", event);
	return w;
}

void
log_end(struct buf *line)
{
	end_line(line, "}\n");
}
