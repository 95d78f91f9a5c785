/* Samples, turns and rows. */
#include "measure.h"
#include "lib/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
samples_add(struct samples *s, double value)
{
	if (s->count == s->room) {
		s->room = s->room > 0 ? s->room * 2 : 64;
		s->value = mem_realloc(
		    s->value, mem_array(s->room, sizeof(*s->value)));
	}
	s->value[s->count++] = value;
}

void
samples_release(struct samples *s)
{
	free(s->value);
	memset(s, 0, sizeof(*s));
}

static int
by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double
samples_at(const struct samples *s, double share)
{
	if (s->count == 0)
		return 0;
	double *sorted = mem_alloc(mem_array(s->count, sizeof(*sorted)));
	memcpy(sorted, s->value, s->count * sizeof(*sorted));
	qsort(sorted, s->count, sizeof(*sorted), by_value);
	/* Nearest rank, rounded up. */
	double exact = share * (double)s->count;
	size_t rank = (size_t)exact;
	rank += (double)rank < exact;
	double value = sorted[rank > 0 ? rank - 1 : 0];
	free(sorted);
	return value;
}

static void
shuffle(size_t *order, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t k = (size_t)rand() % i, one = order[k];

		order[k] = order[i - 1];
		order[i - 1] = one;
	}
}

void
measure_in_turn(struct contender *c, size_t count, int rounds)
{
	size_t *order = mem_alloc(mem_array(count, sizeof(*order)));

	for (size_t i = 0; i < count; i++)
		order[i] = i;
	/* What one leaves to do behind it falls to whoever comes next: by
	 * chance, but by the same chance in every run. */
	srand(1);
	for (int round = 0; round <= rounds; round++) {
		shuffle(order, count);
		for (size_t i = 0; i < count; i++) {
			struct contender *one = &c[order[i]];
			double ms = one->once(one->arg);

			if (round > 0)
				samples_add(&one->ms, ms);
		}
	}
	free(order);
}

void
contenders_release(struct contender *c, size_t count)
{
	for (size_t i = 0; i < count; i++)
		samples_release(&c[i].ms);
}

static const char *
shown(const char *text)
{
	return *text != '\0' ? text : "-";
}

void
row_add(const char *measure, const struct row *row)
{
	static const char *const verdict[] = {"", "met", "MISSED"};
	const char *path = getenv("SBX_BENCH_ROWS");
	FILE *f = path != NULL ? fopen(path, "ae") : stdout;

	if (f == NULL) {
		perror(path);
		abort();
	}
	(void)fprintf(f, "%s\t%s\t%s\t%s\t%s\t%s\n", measure, shown(row->ours),
	    shown(row->beside), shown(row->ratio), shown(row->goal),
	    shown(verdict[row->verdict]));
	if (f != stdout)
		(void)fclose(f);
}

void
row_judge(struct row *row, double ours, double beside, double times,
    const char *beside_name)
{
	double ratio = beside > 0 ? ours / beside : 0;

	(void)snprintf(
	    row->ratio, sizeof(row->ratio), "%.2f x %s", ratio, beside_name);
	if (times <= 0)
		return;
	(void)snprintf(
	    row->goal, sizeof(row->goal), "<= %.2f x %s", times, beside_name);
	row->verdict = ratio > 0 && ratio <= times ? GOAL_MET : GOAL_MISSED;
}
