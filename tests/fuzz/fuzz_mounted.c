/*
 * run/mounted: an overlay is known by its line of mountinfo whatever its
 * directories are called, and by no other's. The input is two names and the
 * rest of a line, with line feeds between.
 */
#include "lib/buf.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "run/mounted.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ID 471

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As the kernel writes a value of an option (seq_show_option). */
static void
put_escaped(struct buf *out, const char *name)
{
	for (; *name != '\0'; name++)
		if (strchr(" \t\n\\,=", *name) != NULL)
			buf_addf(out, "\\%03o", (unsigned char)*name);
		else
			buf_addc(out, *name);
}

static bool
tells(const char *text, const char *lower, const char *upper)
{
	char *line = mem_strdup(text);
	bool is = mounted_line(line, ID, lower, upper);

	free(line);
	return is;
}

static void
check_own(const char *lower, const char *upper)
{
	BUF_AUTO line = BUF_INIT(1u << 20);

	buf_addf(
	    &line, "%d 30 0:60 / /v rw shared:7 - overlay overlay rw,", ID);
	buf_adds(&line, "lowerdir=");
	put_escaped(&line, lower);
	buf_adds(&line, ",upperdir=");
	put_escaped(&line, upper);
	buf_adds(&line, ",workdir=/w\n");
	if (!tells(line.data, lower, upper) ||
	    tells(line.data, upper, lower) != str_eq(lower, upper))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *in = mem_strndup((const char *)data, size), *rest = in;
	const char *lower = strsep(&rest, "\n");
	const char *upper = rest != NULL ? strsep(&rest, "\n") : NULL;

	if (rest != NULL) {
		check_own(lower, upper);
		/* What is taken for it names both. */
		if (tells(rest, "/lower", "/upper") &&
		    (strstr(rest, "upperdir=") == NULL ||
			!str_starts(rest + strspn(rest, "0"), "471 ")))
			abort();
	}
	free(in);
	return 0;
}
