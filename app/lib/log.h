/*
 * The one logger: an event is one JSON line on standard error.
 *
 *	LOG_EVENT(w, "run.expired") {
 *		jw_str(&w, "run", id);
 *		jw_int(&w, "ms", took);
 *	}
 *
 * A line starts with time, program, pid, level and event ("noun.verb"). It is
 * written with one write(2), so that lines of several processes do not mix.
 * Where standard error is the journal (JOURNAL_STREAM, systemd.exec(5)) the
 * level stands before the line too, in the way that journald takes away and
 * keeps as the PRIORITY. Bodies, env values, file contents and tokens never
 * enter a line. Only main files, worker.c and sweeps log; lower layers return.
 */
#ifndef SBX_LIB_LOG_H
#define SBX_LIB_LOG_H

#include "lib/buf.h"
#include "lib/jw.h"

/* A line beyond this is dropped; a request target of 8 KiB, escaped, fits. */
#define LOG_LINE_MAX (64 * 1024)

/* syslog(3)'s numbers. */
enum log_level {
	LEVEL_ERROR = 3,   /* something that was to be done was not */
	LEVEL_WARNING = 4, /* it was, but somebody should look */
	LEVEL_INFO = 6,
};

/* The name in every line; a constant, set before any thread starts. */
void log_open(const char *program);
/* Why this process ends, in plain words: an error. */
void log_last_words(const char *text);

struct jw log_begin(struct buf *line, enum log_level level, const char *event);
void log_end(struct buf *line);

#define LOG_EVENT(w, event) LOG_AT(LEVEL_INFO, w, event)
#define LOG_AT(level, w, event)                                          \
	for (struct buf log_line_                                        \
	     __attribute__((cleanup(log_end))) = BUF_INIT(LOG_LINE_MAX), \
	     *log_once_ = &log_line_;                                    \
	     log_once_; log_once_ = NULL)                                \
		for (struct jw w = log_begin(&log_line_, level, event);  \
		     log_once_; log_once_ = NULL)

#endif
