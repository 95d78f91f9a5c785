/*
 * The one logger: an event is one JSON line on standard error.
 *
 *	LOG_EVENT(w, "run.expired") {
 *		jw_str(&w, "run", id);
 *		jw_int(&w, "ms", took);
 *	}
 *
 * A line starts with time, program, pid and event ("noun.verb"). It is written
 * with one write(2), so that lines of several processes do not mix. Bodies,
 * env values, file contents and tokens never enter one. Only main files,
 * worker.c and sweeps log; lower layers return.
 */
#ifndef SBX_LIB_LOG_H
#define SBX_LIB_LOG_H

#include "lib/buf.h"
#include "lib/jw.h"

/* A line beyond this is dropped; a request target of 8 KiB, escaped, fits. */
#define LOG_LINE_MAX (64 * 1024)

/* The name in every line; a constant, set before any thread starts. */
void log_open(const char *program);

struct jw log_begin(struct buf *line, const char *event);
void log_end(struct buf *line);

#define LOG_EVENT(w, event)                                                 \
	for (struct buf log_line_                                           \
	     __attribute__((cleanup(log_end))) = BUF_INIT(LOG_LINE_MAX),    \
	     *log_once_ = &log_line_;                                       \
	     log_once_; log_once_ = NULL)                                   \
		for (struct jw w = log_begin(&log_line_, event); log_once_; \
		     log_once_ = NULL)

#endif
