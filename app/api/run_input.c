/* The body of POST /v1/runs. */
#include "api/run_input.h"
#include "api/egress_input.h"
#include "lib/str.h"
#include "run/warm_name.h"
#include "json/read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TTL_DEFAULT 1800
#define INIT_TIMEOUT_DEFAULT 120
#define IMAGE_MAX 1024
#define VARIABLE_MAX (128 * 1024 - 1) /* NAME=value, without its NUL */
#define LABELS_MAX 16
#define LABEL_KEY_MAX 64
#define LABEL_VALUE_MAX 256

static int
read_image(const json_t *body, struct run_request *rq, struct err *e)
{
	if (read_string(body, "image", &rq->image, e) != 0)
		return -1;
	if (rq->image == NULL || str_blank(rq->image))
		return err_set(e, ERR_INPUT,
		    "image is required: name an image, as in \"debian:12\".");
	if (strlen(rq->image) > IMAGE_MAX)
		return err_set(e, ERR_INPUT,
		    "image has more than %d characters.", IMAGE_MAX);
	return 0;
}

/* Linux executes nothing whose environment has a longer string, whatever the
 * whole has (MAX_ARG_STRLEN in execve(2)): every command would end with 126. */
static int
check_env(const char *const *env, struct err *e)
{
	for (; *env != NULL; env++) {
		size_t size = strcspn(*env, "=");

		if (strlen(*env) > VARIABLE_MAX)
			return err_set(e, ERR_INPUT,
			    "env.%.*s has %zu bytes with its name and the "
			    "\"=\"; it may have %d at most.",
			    (int)(size < 64 ? size : 64), *env, strlen(*env),
			    VARIABLE_MAX);
	}
	return 0;
}

static int
read_network(
    const json_t *body, struct arena *a, struct run_request *rq, struct err *e)
{
	json_t *allow;

	if (read_string(body, "network", &rq->network, e) != 0 ||
	    read_member(body, "egressAllow", JSON_ARRAY, &allow, e) != 0)
		return -1;
	if (rq->network == NULL)
		rq->network = "none";
	if (str_eq(rq->network, "egress"))
		rq->network = "allowlist";
	if (!str_eq(rq->network, "none") && !str_eq(rq->network, "open") &&
	    !str_eq(rq->network, "allowlist"))
		return err_set(e, ERR_INPUT,
		    "network is \"%.64s\"; it must be none, allowlist (or its "
		    "alias egress) or open.",
		    rq->network);
	if (allow != NULL && !str_eq(rq->network, "allowlist"))
		return err_set(e, ERR_INPUT,
		    "egressAllow goes with network \"allowlist\" only; "
		    "network is \"%s\".",
		    rq->network);
	return egress_input_own(body, a, &rq->egress_allow, e);
}

static int
read_limits(const json_t *body, struct run_request *rq, struct err *e)
{
	json_t *limits, *none = NULL;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (read_member(body, "limits", JSON_OBJECT, &limits, e) != 0)
		return -1;
	if (limits == NULL)
		limits = none = json_object();
	/* 6 MiB and 0.01 CPU are the least that Docker takes. */
	int rc =
	    read_int(limits, "memoryMb", 6, 1 << 30, 1024, &rq->memory_mb, e);
	if (rc == 0)
		rc = read_real(limits, "cpus", 0.01, (double)cpus,
		    cpus < 1 ? 0.01 : 1.0, &rq->cpus, e);
	if (rc == 0)
		rc = read_int(limits, "pids", 1, 1 << 22, 256, &rq->pids, e);
	json_decref(none);
	return rc == 0 ? 0 : err_wrap(e, "limits");
}

static int
check_label(const char *key, const char *value, size_t size, struct err *e)
{
	static const char letters[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789._/-";

	if (*key == '\0' || strlen(key) > LABEL_KEY_MAX ||
	    key[strspn(key, letters)] != '\0')
		return err_set(e, ERR_INPUT,
		    "labels has the name \"%.100s\", which is not 1 to %d "
		    "characters of [A-Za-z0-9._/-].",
		    key, LABEL_KEY_MAX);
	if (value == NULL)
		return err_set(
		    e, ERR_INPUT, "labels.%s must be a string.", key);
	bool plain = size <= LABEL_VALUE_MAX;
	for (size_t i = 0; i < size; i++)
		plain = plain && (unsigned char)value[i] >= 0x20 &&
			value[i] != 0x7f;
	if (!plain)
		return err_set(e, ERR_INPUT,
		    "labels.%s must have at most %d bytes and no control "
		    "characters.",
		    key, LABEL_VALUE_MAX);
	return 0;
}

static int
read_labels(
    const json_t *body, struct arena *a, struct run_request *rq, struct err *e)
{
	json_t *labels, *value;
	const char *key;

	rq->labels = "";
	if (read_member(body, "labels", JSON_OBJECT, &labels, e) != 0)
		return -1;
	if (labels == NULL)
		return 0;
	if (json_object_size(labels) > LABELS_MAX)
		return err_set(e, ERR_INPUT,
		    "labels has %zu members; it may have %d at most.",
		    json_object_size(labels), LABELS_MAX);
	json_object_foreach(labels, key,
	    value) if (check_label(key, json_string_value(value),
			   json_string_length(value), e) != 0) return -1;
	char *text = json_dumps(labels, JSON_COMPACT);
	rq->labels = arena_strdup(a, text != NULL ? text : "{}");
	free(text);
	return 0;
}

static int
read_init(const json_t *body, struct run_request *rq, struct err *e)
{
	json_t *init;

	if (read_member(body, "init", JSON_OBJECT, &init, e) != 0)
		return -1;
	if (init == NULL)
		return 0;
	if (read_string(init, "cmd", &rq->init.cmd, e) != 0 ||
	    read_int(init, "timeoutSec", 1, RUN_TTL_MAX, INIT_TIMEOUT_DEFAULT,
		&rq->init.timeout_sec, e) != 0)
		return err_wrap(e, "init");
	if (rq->init.cmd == NULL || str_blank(rq->init.cmd))
		return err_set(e, ERR_INPUT,
		    "init.cmd is required: the shell command to run once.");
	return 0;
}

static int
read_warm(
    const json_t *body, struct arena *a, struct run_request *rq, struct err *e)
{
	char repo[WARM_REPO_SIZE], path[WARM_PATH_SIZE];
	const char *repo_text, *path_text;
	json_t *warm;

	rq->warm_repo = rq->warm_path = "";
	if (read_member(body, "warm", JSON_OBJECT, &warm, e) != 0)
		return -1;
	if (warm == NULL)
		return 0;
	if (read_string(warm, "repo", &repo_text, e) != 0 ||
	    read_string(warm, "path", &path_text, e) != 0)
		return err_wrap(e, "warm");
	if (repo_text == NULL)
		return err_set(e, ERR_INPUT,
		    "warm.repo is required: the repository whose template the "
		    "run is given, as in \"owner/name\".");
	if (path_text == NULL)
		path_text = WARM_DEFAULT_PATH;
	if (warm_repo_read(repo_text, repo, e) != 0 ||
	    warm_path_read(path_text, path, e) != 0)
		return -1;
	rq->warm_repo = arena_strdup(a, repo);
	rq->warm_path = arena_strdup(a, path);
	return 0;
}

int
run_input(const json_t *body, struct arena *a, struct run_request *ret_rq,
    struct err *e)
{
	static const struct read_env_rule env = {.line_breaks = true};
	struct run_request rq = {0};

	if (read_image(body, &rq, e) != 0 ||
	    read_env(body, "env", &env, a, &rq.env, e) != 0 ||
	    check_env(rq.env, e) != 0 ||
	    read_int(body, "ttlSec", 1, RUN_TTL_MAX, TTL_DEFAULT, &rq.ttl_sec,
		e) != 0 ||
	    read_limits(body, &rq, e) != 0 ||
	    read_labels(body, a, &rq, e) != 0 ||
	    read_bool(body, "autoExtend", &rq.auto_extend, e) != 0 ||
	    read_init(body, &rq, e) != 0 ||
	    read_network(body, a, &rq, e) != 0 ||
	    read_warm(body, a, &rq, e) != 0)
		return -1;
	*ret_rq = rq;
	return 0;
}

int
run_input_filter(const char *label, struct err *e)
{
	const char *colon = strchr(label, ':');

	if (colon == NULL || colon == label)
		return err_set(e, ERR_INPUT,
		    "label must be name:value, as in ?label=team:blue.");
	return 0;
}
