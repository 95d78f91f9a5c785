/* Errors as values: the three ways to fill one. */
#include "lib/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	e->kind = kind;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return -1;
}

int
err_sys(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	int number = errno;
	va_list ap;

	e->kind = kind;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);

	/* strerror is thread-safe in glibc >= 2.32 and in musl. */
	size_t used = strlen(e->text);
	(void)snprintf(
	    e->text + used, sizeof(e->text) - used, ": %s", strerror(number));
	return -1;
}

int
err_wrap(struct err *e, const char *fmt, ...)
{
	struct err inner = *e;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	size_t used = strlen(e->text);
	(void)snprintf(
	    e->text + used, sizeof(e->text) - used, ": %s", inner.text);
	return -1;
}
