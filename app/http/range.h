/*
 * Parts of a representation, and requests that depend on which one it is: RFC
 * 9110, sections 13 and 14. Pure.
 *
 * Header values are the client's, "" where absent; what is malformed counts as
 * absent, as the RFC has it.
 */
#ifndef SBX_HTTP_RANGE_H
#define SBX_HTTP_RANGE_H

#include <stdbool.h>
#include <stdint.h>

enum range {
	RANGE_WHOLE, /* no Range, or one that is not served: several, others
			than bytes */
	RANGE_PART,
	RANGE_BEYOND, /* nothing of it is there: 416 */
};

/* What the value of Range asks for of size bytes; the outputs are filled where
 * it is RANGE_PART, with at least one byte that is there. */
enum range range_parse(
    const char *value, uint64_t size, uint64_t *ret_offset, uint64_t *ret_size);

/* If-Range lets a Range through: absent, or exactly this strong entity tag
 * (quotes included). A date never does: it may be of a version a moment ago. */
bool range_if(const char *value, const char *etag);

/* If-None-Match names this entity tag, weakly compared, or is "*". */
bool range_none_match(const char *value, const char *etag);

/* If-Modified-Since is a time at or after modified_sec (since the epoch). */
bool range_not_modified(const char *value, int64_t modified_sec);

#define RANGE_DATE_SIZE 30

/* IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT. Years 1000 to 9999; what lies
 * beyond becomes the nearest of them. */
void range_date(int64_t sec, char to[RANGE_DATE_SIZE]);

/* The same read; -1 where it is none. (The obsolete forms are not read.) */
int range_date_parse(const char *text, int64_t *ret_sec);

#endif
