/* Usage and metrics of the whole box. */
#include "api/service.h"
#include "lib/str.h"
#include "store/counters.h"

#include <stdio.h>
#include <string.h>

#define METRICS_MAX (4u << 20)

static const char *const states[] = {
    "creating", "running", "exited", "destroying"};
static const char *const pools[] = {"control", "stream"};

#define STATES (sizeof(states) / sizeof(states[0]))
#define POOLS_SHOWN (sizeof(pools) / sizeof(pools[0]))

/* A figure that is called "KIND OF". */
static int64_t
figure_in(const struct figures *f, const char *kind, const char *of)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s %s", kind, of);
	return figure_of(f, name);
}

/* As the reaper found it last; 0 where it has not looked yet. */
static void
usage_disk(struct jw *w, const struct figures *f)
{
	jw_key(w, "disk");
	jw_open(w, '{');
	jw_int(w, "runsBytes", figure_of(f, "disk runs"));
	jw_int(w, "runsFlagged", figure_of(f, "disk flagged"));
	jw_int(w, "cacheBytes", figure_of(f, "disk cache"));
	jw_int(w, "snapshotsBytes", figure_of(f, "disk snapshots"));
	jw_int(w, "freeBytes", figure_of(f, "disk free"));
	jw_close(w, '}');
	jw_int(w, "templates", figure_of(f, "templates"));
	jw_int(w, "snapshots", figure_of(f, "snapshots"));
}

int
api_usage(struct call *c, struct err *e)
{
	struct figures f;
	int64_t threads = 0, busy = 0;
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);

	if (usage_read(c->ctx.redis, c->x->arena, &f, e) != 0)
		return -1;
	struct jw w = call_json(&body);
	jw_key(&w, "memory");
	jw_open(&w, '{');
	jw_int(&w, "reservedMb", figure_of(&f, "memory"));
	jw_int(&w, "limitMb", c->ctx.config->max_memory_mb);
	jw_close(&w, '}');
	jw_key(&w, "runs");
	jw_open(&w, '{');
	for (size_t i = 0; i < STATES; i++)
		jw_int(&w, states[i], figure_in(&f, "runs", states[i]));
	jw_close(&w, '}');
	jw_int(&w, "inFlight", figure_of(&f, "inflight"));
	usage_disk(&w, &f);
	jw_key(&w, "workers");
	jw_open(&w, '{');
	for (size_t i = 0; i < POOLS_SHOWN; i++) {
		threads += figure_in(&f, "threads", pools[i]);
		busy += figure_in(&f, "busy", pools[i]);
	}
	jw_int(&w, "busy", busy);
	jw_int(&w, "total", threads);
	jw_close(&w, '}');
	return call_answer(c, &w, 200, e);
}

/* -- Prometheus text, version 0.0.4 --------------------------------------- */

static void
head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
gauges(struct buf *out, const struct figures *f, const char *name,
    const char *kind, const char *label, const char *const *of, size_t count,
    const char *help)
{
	head(out, name, "gauge", help);
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "%s{%s=\"%s\"} %lld\n", name, label, of[i],
		    (long long)figure_in(f, kind, of[i]));
}

static void
gauge(struct buf *out, const char *name, int64_t value, const char *help)
{
	head(out, name, "gauge", help);
	buf_addf(out, "%s %lld\n", name, (long long)value);
}

/* The counters of one kind: "KIND ROUTE LAST", LAST after the last blank. */
static void
counters(struct buf *out, const struct figures *f, const char *kind,
    const char *name, const char *first, const char *last)
{
	size_t skip = strlen(kind) + 1;

	for (size_t i = 0; i < f->count; i++) {
		const char *text = f->item[i].name;

		if (!str_starts(text, kind) || text[skip - 1] != ' ')
			continue;
		const char *blank = strrchr(text + skip, ' ');
		if (blank == NULL)
			continue;
		buf_addf(out, "%s{%s=\"%.*s\",%s=\"%s\"} %lld\n", name, first,
		    (int)(blank - text) - (int)skip, text + skip, last,
		    blank + 1, (long long)f->item[i].value);
	}
}

/* What a histogram has beside its buckets: "duration_sum_us ROUTE", and the
 * count, which is that of the last bucket. */
static void
durations(struct buf *out, const struct figures *f)
{
	static const char sum[] = "duration_sum_us ", count[] = "duration ";
	static const char last[] = " +Inf";

	for (size_t i = 0; i < f->count; i++) {
		const char *name = f->item[i].name;

		if (str_starts(name, sum))
			buf_addf(out,
			    "sbx_request_duration_seconds_sum{route=\"%s\"} "
			    "%.6f\n",
			    name + strlen(sum), (double)f->item[i].value / 1e6);
		if (str_starts(name, count) && str_ends(name, last))
			buf_addf(out,
			    "sbx_request_duration_seconds_count{route=\"%.*s\"}"
			    " %lld\n",
			    (int)(strlen(name) - strlen(count) - strlen(last)),
			    name + strlen(count), (long long)f->item[i].value);
	}
}

static void
requests(struct buf *out, const struct figures *f)
{
	head(out, "sbx_requests_total", "counter",
	    "Finished requests by route and status.");
	counters(out, f, "requests", "sbx_requests_total", "route", "status");
	head(out, "sbx_request_duration_seconds", "histogram",
	    "Time from accept to the last byte; an exec lasts as long as its "
	    "command.");
	counters(out, f, "duration", "sbx_request_duration_seconds_bucket",
	    "route", "le");
	durations(out, f);
	head(out, "sbx_sweeps_total", "counter",
	    "Sweeps of the reaper by outcome, and what they dealt with.");
	counters(out, f, "sweep", "sbx_sweeps_total", "sweep", "what");
}

static void
disk(struct buf *out, const struct figures *f)
{
	static const struct {
		const char *name, *figure, *help;
	} rows[] = {
	    {"sbx_runs_disk_bytes", "disk runs",
		"What all runs hold of the disk: layers and volumes."},
	    {"sbx_runs_disk_flagged", "disk flagged",
		"Runs that hold more than SBX_RUN_DISK_WARN_GB."},
	    {"sbx_cache_bytes", "disk cache",
		"What the warm cache holds: templates, older generations in "
		"use, and what could not be deleted."},
	    {"sbx_cache_undeleted_bytes", "disk trash",
		"What was removed from the warm cache and resists deletion."},
	    {"sbx_cache_templates", "templates",
		"Repositories with a template."},
	    {"sbx_snapshots", "snapshots", "Snapshots."},
	    {"sbx_snapshots_bytes", "disk snapshots",
		"Their images, layers that they share counted for each."},
	    {"sbx_disk_free_bytes", "disk free",
		"Free on the engine's disk or the warm cache's, where there "
		"is less."},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		gauge(out, rows[i].name, figure_of(f, rows[i].figure),
		    rows[i].help);
}

int
api_metrics(struct call *c, struct err *e)
{
	struct figures counted, now;
	BUF_AUTO out = BUF_INIT(METRICS_MAX);

	if (counters_read(c->ctx.redis, c->x->arena, &counted, e) != 0 ||
	    usage_read(c->ctx.redis, c->x->arena, &now, e) != 0)
		return -1;
	requests(&out, &counted);
	gauges(&out, &now, "sbx_runs", "runs", "state", states, STATES,
	    "Runs by state.");
	gauge(&out, "sbx_operations_in_flight", figure_of(&now, "inflight"),
	    "Execs and writes in flight.");
	gauge(&out, "sbx_memory_reserved_bytes",
	    figure_of(&now, "memory") << 20,
	    "Memory limits of all runs that have not exited.");
	gauge(&out, "sbx_memory_limit_bytes",
	    c->ctx.config->max_memory_mb << 20,
	    "SBX_MAX_MEMORY_MB in bytes; 0 is no limit.");
	disk(&out, &now);
	gauges(&out, &now, "sbx_workers", "workers", "pool", pools, POOLS_SHOWN,
	    "Worker processes.");
	gauges(&out, &now, "sbx_worker_threads", "threads", "pool", pools,
	    POOLS_SHOWN, "Worker threads.");
	gauges(&out, &now, "sbx_worker_threads_busy", "busy", "pool", pools,
	    POOLS_SHOWN, "Worker threads that serve a request.");
	return exchange_reply(
	    c->x, 200, "text/plain; version=0.0.4", out.data, out.size, e);
}
