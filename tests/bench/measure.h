/*
 * Measuring beside alternatives, and the rows of the table that `make bench`
 * prints.
 *
 * Whatever else the machine does hits all contenders alike: they take turns in
 * one loop, in another order each round. So the ratios hold where the absolute
 * numbers move.
 */
#ifndef SBX_BENCH_MEASURE_H
#define SBX_BENCH_MEASURE_H

#include <stddef.h>

struct samples {
	double *value;
	size_t count, room;
};

void samples_add(struct samples *s, double value);
void samples_release(struct samples *s);

/* The value that this share (0.5, 0.99) of the samples does not exceed. */
double samples_at(const struct samples *s, double share);

struct contender {
	double (*once)(void *arg); /* measures itself: ms */
	void *arg;
	struct samples ms;
};

/* Each of them rounds times, after one round that does not count. */
void measure_in_turn(struct contender *c, size_t count, int rounds);

void contenders_release(struct contender *c, size_t count);

/*
 * A row of the table, appended to the file $SBX_BENCH_ROWS as
 * "measure TAB ours TAB beside TAB ratio TAB goal TAB verdict". Empty texts
 * show as "-".
 */
enum verdict { NO_GOAL, GOAL_MET, GOAL_MISSED };

struct row {
	char ours[96], beside[128], ratio[48], goal[48];
	enum verdict verdict;
};

void row_add(const char *measure, const struct row *row);

/* Fill ratio, goal and verdict: ours should be at most so many times what
 * beside is; 0 sets no goal. */
void row_judge(struct row *row, double ours, double beside, double times,
    const char *beside_name);

#endif
