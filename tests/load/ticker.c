/*
 * What the load's commands do, put into their runs: print a line a second, each
 * with its number and the moment of its writing.
 *
 *	ticker LINES BURST PHASE
 *
 * LINES lines, PHASE nanoseconds after the second of CLOCK_MONOTONIC, then
 * BURST more on the second itself, when all other tickers print theirs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000L

static void
print_line(long number)
{
	struct timespec now;
	char line[64];

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	int size = snprintf(line, sizeof(line), "%ld %lld\n", number,
	    (long long)now.tv_sec * SECOND + now.tv_nsec);
	if (write(STDOUT_FILENO, line, (size_t)size) != size)
		exit(EXIT_FAILURE);
}

int
main(int argc, char **argv)
{
	struct timespec at;

	if (argc != 4)
		return EXIT_FAILURE;
	long lines = strtol(argv[1], NULL, 10);
	long burst = strtol(argv[2], NULL, 10);
	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec = strtol(argv[3], NULL, 10);
	for (long i = 0; i < lines + burst; i++) {
		at.tv_sec++;
		if (i == lines)
			at.tv_nsec = 0;
		while (clock_nanosleep(
			   CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
			continue;
		print_line(i);
	}
	return EXIT_SUCCESS;
}
