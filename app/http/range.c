/* Ranges, and conditions of requests. */
#include "http/range.h"
#include "lib/str.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#define BLANK " \t"		  /* OWS */
#define DATE_LEAST (-30610224000) /* of the year 1000 */
#define DATE_MOST 253402300799	  /* of the year 9999 */
/* Names are English: no program of ours sets a locale. */
#define DATE "%a, %d %b %Y %H:%M:%S GMT"

/* Digits from *at on: a number, the largest there is where it is larger; false
 * where there is none. */
static bool
number(const char **at, uint64_t *ret)
{
	const char *p = *at;
	uint64_t n = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
	}
	if (p == *at)
		return false;
	*at = p;
	*ret = n;
	return true;
}

/* Past blanks and empty elements of a list. */
static const char *
skip(const char *p)
{
	return p + strspn(p, BLANK ",");
}

enum range
range_parse(
    const char *value, uint64_t size, uint64_t *ret_offset, uint64_t *ret_size)
{
	uint64_t first = 0, last = UINT64_MAX;

	if (strncasecmp(value, "bytes=", 6) != 0)
		return RANGE_WHOLE;
	const char *p = skip(value + 6);
	bool has_first = number(&p, &first);
	if (*p++ != '-')
		return RANGE_WHOLE;
	bool has_last = number(&p, &last);
	if ((!has_first && !has_last) || *skip(p) != '\0' ||
	    (has_first && last < first))
		return RANGE_WHOLE;
	if (!has_first) { /* the last so many bytes */
		/* All of nothing is no part of it. */
		if (size == 0 && last > 0)
			return RANGE_WHOLE;
		first = last < size ? size - last : 0;
		last = last > 0 ? UINT64_MAX : 0;
	}
	if (first >= size)
		return RANGE_BEYOND;
	*ret_offset = first;
	*ret_size = (last < size ? last + 1 : size) - first;
	return RANGE_PART;
}

bool
range_if(const char *value, const char *etag)
{
	return *value == '\0' || str_eq(value, etag);
}

bool
range_none_match(const char *value, const char *etag)
{
	size_t size = strlen(etag);

	if (str_eq(value, "*"))
		return true;
	for (const char *p = skip(value); *p != '\0'; p = skip(p)) {
		if (str_starts(p, "W/"))
			p += 2;
		const char *end = *p == '"' ? strchr(p + 1, '"') : NULL;
		if (end == NULL)
			return false;
		end++;
		if ((size_t)(end - p) == size && memcmp(p, etag, size) == 0)
			return true;
		p = end;
	}
	return false;
}

bool
range_not_modified(const char *value, int64_t modified_sec)
{
	int64_t since;

	return range_date_parse(value, &since) == 0 && modified_sec <= since;
}

/* -- dates --------------------------------------------------------------- */

void
range_date(int64_t sec, char to[RANGE_DATE_SIZE])
{
	const time_t at = sec < DATE_LEAST  ? DATE_LEAST
			  : sec > DATE_MOST ? DATE_MOST
					    : sec;
	struct tm t;

	(void)gmtime_r(&at, &t);
	(void)strftime(to, RANGE_DATE_SIZE, DATE, &t);
}

int
range_date_parse(const char *text, int64_t *ret_sec)
{
	struct tm t = {.tm_isdst = 0};
	char written[RANGE_DATE_SIZE];

	if (strptime(text, DATE, &t) == NULL)
		return -1;
	int64_t sec = timegm(&t);
	/* strptime(3) is lax: written again it is the same, or it was none. */
	range_date(sec, written);
	if (!str_eq(written, text))
		return -1;
	*ret_sec = sec;
	return 0;
}
