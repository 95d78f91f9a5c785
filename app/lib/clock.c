/* Monotonic and wall time. */
#include "lib/clock.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t
clock_mono_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
clock_mono_ms(void)
{
	return clock_mono_us() / 1000;
}

int64_t
clock_wall_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void
clock_text(int64_t wall_ms, char to[CLOCK_TEXT_SIZE])
{
	int ms = (int)((wall_ms % 1000 + 1000) % 1000);
	time_t seconds = (time_t)((wall_ms - ms) / 1000);
	struct tm tm;

	memset(&tm, 0, sizeof(tm));
	(void)gmtime_r(&seconds, &tm);
	size_t n = strftime(to, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(to + n, CLOCK_TEXT_SIZE - n, ".%03dZ", ms);
}

int
clock_left(int64_t deadline_mono_ms)
{
	int64_t left = deadline_mono_ms - clock_mono_ms();

	if (left < 0)
		return 0;
	return left > INT_MAX ? INT_MAX : (int)left;
}
