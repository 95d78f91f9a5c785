/* Goals and figures. */
#include "report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define WORKERS_KB (300 * 1024)
/* A thread opens its connection to Redis at its first need; a call that left a
 * descriptor behind would make thousands in a phase. */
#define FILES_MORE 64

static int missed;

__attribute__((format(printf, 2, 3))) static void
goal(bool met, const char *format, ...)
{
	va_list ap;

	missed += !met;
	printf("%s  ", met ? "met   " : "MISSED");
	va_start(ap, format);
	(void)vprintf(format, ap);
	va_end(ap);
	(void)putchar('\n');
}

static void
goals_of_lines(const struct report *r)
{
	const struct streams_result *l = &r->lines;

	goal(l->lost == 0, "no line is lost: %zu of %zu are", l->lost,
	    l->lost + l->late.count + l->burst.count);
	goal(l->too_late == 0,
	    "no line comes more than %d ms after it was written: %zu do; p50 "
	    "%.2f, p99 %.2f, max %.1f ms (%.0f s after the start)",
	    STREAMS_LATE_MS, l->too_late, samples_at(&l->late, 0.5),
	    samples_at(&l->late, 0.99), l->worst, l->worst_at);
	printf("        (all in the same millisecond: p50 %.2f, p99 %.2f, max "
	       "%.1f ms, of %zu lines)\n",
	    samples_at(&l->burst, 0.5), samples_at(&l->burst, 0.99),
	    samples_at(&l->burst, 1), l->burst.count);
	goal(l->cut == 0, "no stream is cut: %zu of %zu are", l->cut,
	    r->streams);
	goal(l->wrong == 0, "no stream is refused or garbled: %zu are%s%s",
	    l->wrong, l->wrong > 0 ? ", the first: " : "", l->example);
}

static void
goals_of_calls(const struct report *r)
{
	const struct calls *c = r->calls;

	goal(c->failed == 0, "no other request fails: %zu of %zu do%s%s",
	    c->failed, c->made, c->failed > 0 ? ", the first: " : "",
	    c->example);
	printf("        (short calls: p50 %.1f, p99 %.1f, max %.1f ms, of %zu; "
	       "runs made or removed: p50 %.0f, max %.0f ms, of %zu)\n",
	    samples_at(&c->brief, 0.5), samples_at(&c->brief, 0.99),
	    samples_at(&c->brief, 1), c->brief.count,
	    samples_at(&c->docker, 0.5), samples_at(&c->docker, 1),
	    c->docker.count);
}

static void
goals_of_size(const struct report *r)
{
	static const char *const kinds[WATCHED] = {"workers", "nginx", "Redis"};

	goal(r->most_kb[WATCH_WORKERS] <= WORKERS_KB,
	    "all workers, those that drain too, have at most %d MiB: %.1f",
	    WORKERS_KB / 1024, (double)r->most_kb[WATCH_WORKERS] / 1024);
	for (int phase = 0; phase < REPORT_PHASES; phase++)
		for (int kind = 0; kind < WATCHED; kind++) {
			int64_t from = r->phase[phase][0].files[kind];
			int64_t to = r->phase[phase][1].files[kind];

			goal(to <= from + FILES_MORE,
			    "descriptors of %s stay, phase %d: %" PRId64
			    " at its begin, %" PRId64 " at its end",
			    kinds[kind], phase + 1, from, to);
		}
}

int
report_goals(const struct report *r)
{
	missed = 0;
	goals_of_lines(r);
	goals_of_calls(r);
	goals_of_size(r);
	return missed;
}

void
report_sizes(const struct report *r)
{
	const struct watch_sample *s = &r->phase[0][1];

	printf(
	    "sizes: streams | threads for streams | workers idle, busy, most "
	    "(MiB) | nginx | Redis | init of a run (KiB) | descriptors of "
	    "workers, nginx | cores of workers, nginx\n"
	    "| %zu | %d × %d | %.0f, %.0f, %.0f | %.0f | %.0f | %" PRId64
	    " | %" PRId64 ", %" PRId64 " | %.2f, %.2f |\n",
	    r->streams, r->workers, r->stream_threads,
	    (double)r->idle.kb[WATCH_WORKERS] / 1024,
	    (double)s->kb[WATCH_WORKERS] / 1024,
	    (double)r->most_kb[WATCH_WORKERS] / 1024,
	    (double)s->kb[WATCH_NGINX] / 1024,
	    (double)s->kb[WATCH_REDIS] / 1024, r->init_kb,
	    s->files[WATCH_WORKERS], s->files[WATCH_NGINX],
	    r->cpu[WATCH_WORKERS], r->cpu[WATCH_NGINX]);
}
