/* Text: comparing, and reading numbers without surprises. */
#include "lib/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool
str_eq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

bool
str_ieq(const char *a, const char *b)
{
	return strcasecmp(a, b) == 0;
}

bool
str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool
str_ends(const char *s, const char *suffix)
{
	size_t size = strlen(s), want = strlen(suffix);

	return size >= want && strcmp(s + size - want, suffix) == 0;
}

bool
str_blank(const char *s)
{
	return s[strspn(s, " \t\r\n\v\f")] == '\0';
}

const char *
str_word(const char **at, const char *apart, size_t *ret_size)
{
	const char *word = *at + strspn(*at, apart);

	*ret_size = strcspn(word, apart);
	*at = word + *ret_size;
	return *ret_size > 0 ? word : NULL;
}

bool
str_same_secret(const char *a, const char *b, size_t size)
{
	unsigned char differ = 0;

	for (size_t i = 0; i < size; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return differ == 0;
}

int
str_to_int(const char *s, int64_t min, int64_t max, int64_t *ret_value)
{
	const char *digits = *s == '-' ? s + 1 : s;
	char *end;

	if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
		return -1;
	errno = 0;
	long long value = strtoll(s, &end, 10);
	if (errno != 0 || *end != '\0' || value < min || value > max)
		return -1;
	*ret_value = value;
	return 0;
}

void
str_lower(char *s)
{
	for (; *s != '\0'; s++)
		if (*s >= 'A' && *s <= 'Z')
			*s = (char)(*s - 'A' + 'a');
}

uint32_t
str_hash(const char *s)
{
	uint32_t hash = 2166136261u;

	for (; *s != '\0'; s++)
		hash = (hash ^ (unsigned char)*s) * 16777619u;
	return hash;
}

void
str_hex(char *to, const void *bytes, size_t size)
{
	static const char digit[] = "0123456789abcdef";
	const unsigned char *from = bytes;

	for (size_t i = 0; i < size; i++) {
		*to++ = digit[from[i] >> 4];
		*to++ = digit[from[i] & 15];
	}
	*to = '\0';
}

static bool
is_name_char(char c, bool first)
{
	return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (!first && c >= '0' && c <= '9');
}

bool
str_is_name(const char *s)
{
	if (!is_name_char(*s, true))
		return false;
	while (*++s != '\0')
		if (!is_name_char(*s, false))
			return false;
	return true;
}
