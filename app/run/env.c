/* A run's environment, NAME=value pairs that each end with a NUL. */
#include "run/env.h"
#include "lib/buf.h"
#include "lib/fd.h"
#include "run/egress.h"
#include "run/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ENV_FILE_MAX (2u << 20) /* above any JSON body */

#define PROXY_PORT "3128" /* proxy/place.h */

/* Some tools read the one spelling, some the other. */
static const char *const proxy_names[] = {
    "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"};
static const char *const proxy_not_for[] = {
    "NO_PROXY=localhost,127.0.0.1", "no_proxy=localhost,127.0.0.1"};

#define PROXY_NAMES (sizeof(proxy_names) / sizeof(proxy_names[0]))
#define PROXY_NOT_FOR (sizeof(proxy_not_for) / sizeof(proxy_not_for[0]))
#define PROXY_ENV (PROXY_NAMES + PROXY_NOT_FOR)

int
run_env_write(const struct config *config, const char *id,
    const char *const *env, struct err *e)
{
	char path[RUN_PATH_SIZE];
	BUF_AUTO bytes = BUF_INIT(ENV_FILE_MAX);

	run_path(config, "", NULL, path);
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return err_sys(e, ERR_INTERNAL, "cannot make %s", path);
	run_path(config, id, NULL, path);
	if (mkdir(path, 0700) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot make %s", path);
	for (; env != NULL && *env != NULL; env++)
		buf_add(&bytes, *env, strlen(*env) + 1);
	if (bytes.over)
		return err_set(e, ERR_TOO_LARGE,
		    "env is larger than %u bytes in all.", ENV_FILE_MAX);
	run_path(config, id, "env", path);
	return fd_write_file(path, 0600, bytes.data, bytes.size, e);
}

static size_t
count_env(const char *const *env)
{
	size_t count = 0;

	while (env != NULL && env[count] != NULL)
		count++;
	return count;
}

/* What names the proxy; returns how many of PROXY_ENV that is. */
static size_t
put_proxy(const struct run *run, struct arena *a, const char **env)
{
	char address[ADDRESS_TEXT];
	size_t n = 0;

	if (!egress_has(run))
		return 0;
	egress_address(run, address);
	for (size_t i = 0; i < PROXY_NAMES; i++)
		env[n++] = arena_printf(
		    a, "%s=http://%s:" PROXY_PORT, proxy_names[i], address);
	for (size_t i = 0; i < PROXY_NOT_FOR; i++)
		env[n++] = proxy_not_for[i];
	return n;
}

int
run_env_read(const struct config *config, const struct run *run,
    const char *const *extra, struct arena *a, const char *const **ret_env,
    struct err *e)
{
	char path[RUN_PATH_SIZE];
	struct stat st;
	size_t size = 0, count = 0;
	char *bytes = NULL;

	run_path(config, run->id, "env", path);
	if (stat(path, &st) == 0) {
		char *file = fd_read_file(path, ENV_FILE_MAX, &size, e);

		if (file == NULL)
			return -1;
		bytes = arena_strndup(a, file, size);
		free(file);
	}
	for (size_t i = 0; i < size; i++)
		count += bytes[i] == '\0';
	size_t room = PROXY_ENV + count + count_env(extra) + 1;
	const char **env = arena_alloc(a, room * sizeof(*env));
	size_t n = put_proxy(run, a, env);
	for (size_t i = 0; count > 0; i += strlen(bytes + i) + 1, count--)
		env[n++] = bytes + i;
	for (; extra != NULL && *extra != NULL; extra++)
		env[n++] = *extra;
	*ret_env = env;
	return 0;
}
