/*
 * run/warm_name: what is taken for a repository or a path is its own reading,
 * and of the form that the host's files and mounts rely on; what is not says
 * why.
 */
#include "run/warm_name.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_repo(const char *text)
{
	char repo[WARM_REPO_SIZE], again[WARM_REPO_SIZE], file[WARM_REPO_SIZE];
	struct err e = ERR_INIT;

	if (warm_repo_read(text, repo, &e) != 0) {
		if (e.kind != ERR_INPUT || *e.text == '\0')
			abort();
		return;
	}
	warm_repo_file(repo, file);
	if (warm_repo_read(repo, again, &e) != 0 || strcmp(repo, again) != 0 ||
	    warm_repo_of_file(file, again) != 0 || strcmp(repo, again) != 0 ||
	    strchr(file, '/') != NULL || file[0] == '.' ||
	    strchr(repo, '/') == NULL || strstr(repo, "/.") != NULL)
		abort();
}

static void
check_file(const char *text)
{
	char repo[WARM_REPO_SIZE], file[WARM_REPO_SIZE];

	if (warm_repo_of_file(text, repo) != 0)
		return;
	warm_repo_file(repo, file);
	if (strcmp(file, text) != 0)
		abort();
}

static void
check_path(const char *text)
{
	char path[WARM_PATH_SIZE], again[WARM_PATH_SIZE];
	struct err e = ERR_INIT;

	if (warm_path_read(text, path, &e) != 0) {
		if (e.kind != ERR_INPUT || *e.text == '\0')
			abort();
		return;
	}
	size_t size = strlen(path);
	if (warm_path_read(path, again, &e) != 0 || strcmp(path, again) != 0 ||
	    strncmp(path, text, size) != 0 || path[0] != '/' || size < 2 ||
	    path[size - 1] == '/' || strstr(path, "//") != NULL ||
	    strstr(path, "/../") != NULL || strncmp(path, "/etc/", 5) == 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	check_repo(text);
	check_file(text);
	check_path(text);
	free(text);
	return 0;
}
