/* ULIDs: formatting and reading. */
#include "lib/ulid.h"
#include "lib/clock.h"

#include <string.h>
#include <sys/random.h>

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void
ulid_format(int64_t wall_ms, const unsigned char random[10], char to[ULID_SIZE])
{
	uint64_t time = (uint64_t)wall_ms;

	for (int i = 9; i >= 0; i--) {
		to[i] = digits[time & 31];
		time >>= 5;
	}
	/* 80 bits are 16 digits of 5: two groups of 5 bytes. */
	for (int group = 0; group < 2; group++) {
		uint64_t bits = 0;

		for (int i = 0; i < 5; i++)
			bits = bits << 8 | random[group * 5 + i];
		for (int i = 7; i >= 0; i--) {
			to[10 + group * 8 + i] = digits[bits & 31];
			bits >>= 5;
		}
	}
	to[26] = '\0';
}

int
ulid_new(char to[ULID_SIZE], struct err *e)
{
	unsigned char random[10];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, ERR_INTERNAL, "no random bytes");
	ulid_format(clock_wall_ms(), random, to);
	return 0;
}

bool
ulid_parse(const char *s, char to[ULID_SIZE])
{
	/* 26 digits hold 130 bits: the first may be 7 at most. */
	if (strlen(s) != 26 || s[0] > '7')
		return false;
	for (int i = 0; i < 26; i++) {
		char c = s[i];

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		if (memchr(digits, c, 32) == NULL)
			return false;
		to[i] = c;
	}
	to[26] = '\0';
	return true;
}

int64_t
ulid_time(const char *ulid)
{
	int64_t time = 0;

	for (int i = 0; i < 10; i++) {
		const char *at = strchr(digits, ulid[i]);

		time = time << 5 | (at != NULL ? at - digits : 0);
	}
	return time;
}
