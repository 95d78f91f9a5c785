/* Bearer tokens: reading the file, comparing without telling by time. */
#include "http/token.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define TOKEN_FILE_MAX (64 * 1024)
#define BLANK " \t\r"

struct token {
	char *path;
	char *lines; /* NULL where the file could not be read */
	struct stat seen;
};

struct token *
token_new(const char *path)
{
	struct token *t = mem_zalloc(sizeof(*t));

	t->path = mem_strdup(path);
	return t;
}

static void
forget(struct token *t)
{
	if (t->lines != NULL)
		explicit_bzero(t->lines, strlen(t->lines));
	free(t->lines);
	t->lines = NULL;
}

void
token_free(struct token *t)
{
	if (t == NULL)
		return;
	forget(t);
	free(t->path);
	free(t);
}

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* The file is looked at before it is read: one that is replaced in between is
 * read once more at the next call, never missed. */
static void
refresh(struct token *t)
{
	struct stat now;
	struct err e;

	if (stat(t->path, &now) != 0) {
		forget(t);
		return;
	}
	if (t->lines != NULL && same_file(&now, &t->seen))
		return;
	forget(t);
	t->lines = fd_read_file(t->path, TOKEN_FILE_MAX, NULL, &e);
	t->seen = now;
}

/* What follows the scheme, NULL where it is not Bearer. */
static const char *
credential(const char *authorization)
{
	const char scheme[] = "bearer ";

	if (strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
		return NULL;
	authorization += sizeof(scheme) - 1;
	return authorization + strspn(authorization, " ");
}

bool
token_listed(const char *lines, const char *authorization)
{
	const char *offered = credential(authorization);
	size_t offered_size = offered != NULL ? strlen(offered) : 0;
	bool found = false;

	if (offered_size == 0)
		return false;
	/* Every line is compared, whether one matched already or not. */
	for (const char *line = lines; *line != '\0';) {
		size_t size = strcspn(line, "\n");
		const char *next = line + size + (line[size] == '\n');

		while (size > 0 && strchr(BLANK, line[size - 1]) != NULL)
			size--;
		while (size > 0 && strchr(BLANK, *line) != NULL) {
			line++;
			size--;
		}
		found |= size == offered_size &&
			 str_same_secret(line, offered, size);
		line = next;
	}
	return found;
}

bool
token_valid(struct token *t, const char *authorization)
{
	refresh(t);
	return t->lines != NULL && token_listed(t->lines, authorization);
}
