/* What one worker process counts. */
#include "metrics.h"
#include "lib/mem.h"
#include "store/counters.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Every status an exchange may end with; 0 stands for any other. */
static const int statuses[] = {200, 201, 202, 204, 206, 400, 401, 403, 404, 405,
    409, 410, 411, 412, 413, 416, 422, 429, 499, 500, 501, 502, 503, 504, 507,
    0};

static const struct {
	int64_t us;
	const char *le;
} buckets[] = {{1000, "0.001"}, {5000, "0.005"}, {10000, "0.01"},
    {25000, "0.025"}, {50000, "0.05"}, {100000, "0.1"}, {250000, "0.25"},
    {500000, "0.5"}, {1000000, "1"}, {2500000, "2.5"}, {10000000, "10"},
    {60000000, "60"}, {600000000, "600"}, {INT64_MAX, "+Inf"}};

#define STATUSES (sizeof(statuses) / sizeof(statuses[0]))
#define BUCKETS (sizeof(buckets) / sizeof(buckets[0]))
#define CELLS (STATUSES + BUCKETS + 1) /* and the sum of durations */
#define NAME_SIZE 128

struct metrics {
	const struct route *routes;
	size_t count;
	atomic_llong busy;
	atomic_llong cell[]; /* CELLS a route, the last row for none */
};

struct metrics *
metrics_new(const struct route *routes, size_t count)
{
	struct metrics *m = mem_zalloc(
	    sizeof(*m) + mem_array((count + 1) * CELLS, sizeof(m->cell[0])));

	m->routes = routes;
	m->count = count;
	return m;
}

void
metrics_free(struct metrics *m)
{
	free(m);
}

void
metrics_begin(struct metrics *m)
{
	(void)atomic_fetch_add(&m->busy, 1);
}

int64_t
metrics_busy(const struct metrics *m)
{
	return atomic_load(&m->busy);
}

void
metrics_end(
    struct metrics *m, const struct route *route, int status, int64_t us)
{
	size_t row = route != NULL ? (size_t)(route - m->routes) : m->count;
	atomic_llong *cell = &m->cell[row * CELLS];
	size_t s = 0;

	while (statuses[s] != status && statuses[s] != 0)
		s++;
	(void)atomic_fetch_add(&cell[s], 1);
	for (size_t b = 0; b < BUCKETS; b++)
		if (us <= buckets[b].us)
			(void)atomic_fetch_add(&cell[STATUSES + b], 1);
	(void)atomic_fetch_add(&cell[STATUSES + BUCKETS], us);
	(void)atomic_fetch_sub(&m->busy, 1);
}

static void
cell_name(
    const struct metrics *m, size_t row, size_t column, char to[NAME_SIZE])
{
	const struct route *route = row < m->count ? &m->routes[row] : NULL;
	char name[NAME_SIZE / 2];

	(void)snprintf(name, sizeof(name), "%s%s%s",
	    route ? route->method : "none", route ? " " : "",
	    route ? route->pattern : "");
	if (column < STATUSES)
		(void)snprintf(
		    to, NAME_SIZE, "requests %s %d", name, statuses[column]);
	else if (column < STATUSES + BUCKETS)
		(void)snprintf(to, NAME_SIZE, "duration %s %s", name,
		    buckets[column - STATUSES].le);
	else
		(void)snprintf(to, NAME_SIZE, "duration_sum_us %s", name);
}

/* A row's cells that grew, moved on; what failed is put back. */
static int
flush_row(struct metrics *m, size_t row, struct redis *r, struct err *e)
{
	atomic_llong *cell = &m->cell[row * CELLS];
	char name[CELLS][NAME_SIZE];
	struct figure amount[CELLS];
	size_t column[CELLS], count = 0;

	for (size_t i = 0; i < CELLS; i++) {
		int64_t value = atomic_exchange(&cell[i], 0);

		if (value == 0)
			continue;
		cell_name(m, row, i, name[count]);
		amount[count] = (struct figure){name[count], value};
		column[count++] = i;
	}
	int rc = counters_add(r, amount, count, e);
	for (size_t i = 0; rc != 0 && i < count; i++)
		(void)atomic_fetch_add(&cell[column[i]], amount[i].value);
	return rc;
}

int
metrics_flush(struct metrics *m, struct redis *r, struct err *e)
{
	for (size_t row = 0; row <= m->count; row++)
		if (flush_row(m, row, r, e) != 0)
			return -1;
	return 0;
}
