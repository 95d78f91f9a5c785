/*
 * Writing JSON into a buffer (RFC 8259). Commas are its own business:
 *
 *	jw_open(&w, '{');
 *	jw_str(&w, "id", id);
 *	jw_key(&w, "tags"); jw_open(&w, '['); jw_str(&w, NULL, "a");
 *	jw_close(&w, ']');
 *	jw_close(&w, '}');
 *
 * Inside an object each value has a key; inside an array the key is NULL.
 * Text that is not UTF-8 gets U+FFFD, so the output always is.
 */
#ifndef SBX_LIB_JW_H
#define SBX_LIB_JW_H

#include "lib/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct jw {
	struct buf *out;
	bool comma; /* the next value is preceded by one */
};

#define JW_INIT(buf_)         \
	{                     \
		(buf_), false \
	}

void jw_open(struct jw *w, char bracket);  /* '{' or '[' */
void jw_close(struct jw *w, char bracket); /* '}' or ']' */
void jw_key(struct jw *w, const char *key);
void jw_str(struct jw *w, const char *key, const char *value);
void jw_strn(struct jw *w, const char *key, const char *value, size_t size);
void jw_int(struct jw *w, const char *key, int64_t value);
void jw_bool(struct jw *w, const char *key, bool value);
void jw_time(struct jw *w, const char *key, int64_t wall_ms); /* RFC 3339 */
void jw_real(struct jw *w, const char *key, double value);    /* finite */
void jw_raw(struct jw *w, const char *key, const char *json);

#endif
