/* A container to and from the engine's JSON. */
#include "docker/container_json.h"
#include "lib/jw.h"
#include "lib/mem.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILTER_MAX (8u * 1024)

/* -- writing -------------------------------------------------------------- */

static void
write_strings(struct jw *w, const char *key, const char *const *strings)
{
	jw_key(w, key);
	jw_open(w, '[');
	for (; strings != NULL && *strings != NULL; strings++)
		jw_str(w, NULL, *strings);
	jw_close(w, ']');
}

static void
write_size(struct jw *w, int64_t bytes)
{
	jw_key(w, "TmpfsOptions");
	jw_open(w, '{');
	jw_int(w, "SizeBytes", bytes);
	jw_int(w, "Mode", 0755);
	jw_close(w, '}');
}

static void
write_labels(
    struct jw *w, const char *key, const struct label *labels, size_t count)
{
	jw_key(w, key);
	jw_open(w, '{');
	for (size_t i = 0; i < count; i++)
		jw_str(w, labels[i].key, labels[i].value);
	jw_close(w, '}');
}

static void
write_volume(struct jw *w, const struct mount *m)
{
	jw_key(w, "VolumeOptions");
	jw_open(w, '{');
	jw_bool(w, "NoCopy", true);
	if (m->label_count > 0)
		write_labels(w, "Labels", m->labels, m->label_count);
	jw_close(w, '}');
}

static void
write_mounts(struct jw *w, const struct container_spec *spec)
{
	jw_key(w, "Mounts");
	jw_open(w, '[');
	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct mount *m = &spec->mounts[i];

		jw_open(w, '{');
		jw_str(w, "Type", m->type);
		if (m->source != NULL)
			jw_str(w, "Source", m->source);
		jw_str(w, "Target", m->target);
		jw_bool(w, "ReadOnly", m->readonly);
		if (m->no_copy)
			write_volume(w, m);
		if (m->bytes > 0)
			write_size(w, m->bytes);
		jw_close(w, '}');
	}
	jw_close(w, ']');
}

static void
write_host_config(struct jw *w, const struct container_spec *spec)
{
	static const char *const no_new_privileges[] = {
	    "no-new-privileges", NULL};
	static const char *const impatient[] = {
	    "timeout:1", "attempts:1", NULL};

	jw_key(w, "HostConfig");
	jw_open(w, '{');
	jw_str(w, "NetworkMode", spec->network);
	if (spec->dns != NULL) {
		const char *const servers[] = {spec->dns, NULL};

		write_strings(w, "Dns", servers);
		write_strings(w, "DnsOptions", impatient);
	}
	jw_int(w, "Memory", spec->memory_bytes);
	jw_int(w, "MemorySwap", spec->memory_bytes);
	jw_int(w, "NanoCpus", spec->nano_cpus);
	jw_int(w, "PidsLimit", spec->pids);
	jw_int(w, "ShmSize", spec->shm_bytes);
	/* A pipe in the box's core_pattern would store what a workload makes
	 * crash on the box, values of its env in it. */
	jw_raw(w, "Ulimits", "[{\"Name\":\"core\",\"Soft\":0,\"Hard\":0}]");
	write_strings(w, "SecurityOpt", no_new_privileges);
	write_strings(w, "CapDrop", spec->cap_drop);
	write_mounts(w, spec);
	if (spec->runtime != NULL && spec->runtime[0] != '\0')
		jw_str(w, "Runtime", spec->runtime);
	/* The entrypoint reaps; the log would only fill the host's disk. */
	jw_bool(w, "Init", false);
	jw_bool(w, "Privileged", false);
	if (spec->annotation_count > 0)
		write_labels(w, "Annotations", spec->annotations,
		    spec->annotation_count);
	jw_raw(w, "LogConfig", "{\"Type\":\"none\"}");
	jw_raw(w, "RestartPolicy", "{\"Name\":\"no\"}");
	jw_close(w, '}');
}

void
container_json_write(struct buf *body, const struct container_spec *spec)
{
	struct jw w = JW_INIT(body);

	jw_open(&w, '{');
	jw_str(&w, "Image", spec->image);
	jw_str(&w, "User", spec->user);
	write_strings(&w, "Entrypoint", spec->entrypoint);
	/* Of what is not said here a commit takes what it finds. */
	jw_raw(&w, "Cmd", "[]");
	if (spec->working_dir != NULL)
		jw_str(&w, "WorkingDir", spec->working_dir);
	if (spec->no_healthcheck)
		jw_raw(&w, "Healthcheck", "{\"Test\":[\"NONE\"]}");
	write_labels(&w, "Labels", spec->labels, spec->label_count);
	write_host_config(&w, spec);
	jw_close(&w, '}');
}

void
container_json_filter(struct buf *path, const char *key, const char *value)
{
	BUF_AUTO filter = BUF_INIT(FILTER_MAX);
	BUF_AUTO pair = BUF_INIT(FILTER_MAX);
	struct jw w = JW_INIT(&filter);

	buf_addf(&pair, "%s=%s", key, value);
	jw_open(&w, '{');
	jw_key(&w, "label");
	jw_open(&w, '[');
	jw_str(&w, NULL, pair.data);
	jw_close(&w, ']');
	jw_close(&w, '}');
	engine_escape(path, filter.data);
}

/* -- reading -------------------------------------------------------------- */

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/*
 * RFC 3339 in UTC, as the engine writes all its times ("2026-01-31T09:00:00.
 * 123456789Z"). 0 for its zero time, year 1, and for anything else.
 */
static int64_t
time_of(const json_t *object, const char *key)
{
	struct tm tm = {0};
	const char *end =
	    strptime(text_of(object, key), "%Y-%m-%dT%H:%M:%S", &tm);

	if (end == NULL || tm.tm_year < 70)
		return 0;
	int64_t ms = (int64_t)timegm(&tm) * 1000;
	int unit = 100;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
			ms += (*end - '0') * unit;
	return ms;
}

int64_t
container_json_seconds(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 && value <= INT64_MAX / 1000 ? value * 1000 : 0;
}

static const char *
put_string(char *block, size_t *at, const char *text)
{
	char *to = block + *at;
	size_t size = strlen(text) + 1;

	memcpy(to, text, size);
	*at += size;
	return to;
}

void
container_json_labels(
    json_t *labels, struct label **ret_labels, size_t *ret_count)
{
	size_t count = json_object_size(labels);
	size_t size = mem_array(count, sizeof(**ret_labels));
	size_t at = size, n = 0;
	const char *key;
	json_t *value;

	json_object_foreach(labels, key, value) size +=
	    strlen(key) + json_string_length(value) + 2;
	struct label *list = mem_zalloc(size);
	char *block = (char *)list;
	json_object_foreach(labels, key, value)
	{
		struct label *l = &list[n++];

		l->key = put_string(block, &at, key);
		l->value = put_string(block, &at,
		    json_is_string(value) ? json_string_value(value) : "");
	}
	*ret_labels = list;
	*ret_count = n;
}

/* What inspect and list have in common. */
static int
read_common(const json_t *object, const char *name, const char *image,
    json_t *labels, struct container_info *info)
{
	const char *id = text_of(object, "Id");

	if (id[0] == '\0' || strlen(id) >= sizeof(info->id))
		return -1;
	memcpy(info->id, id, strlen(id) + 1);
	info->name = mem_strdup(name[0] == '/' ? name + 1 : name);
	info->image = mem_strdup(image);
	container_json_labels(labels, &info->labels, &info->label_count);
	return 0;
}

int
container_json_inspect(const char *bytes, size_t size,
    struct container_info *ret_info, struct err *e)
{
	json_auto_t *answer = json_loadb(bytes, size, 0, NULL);
	const json_t *config = json_object_get(answer, "Config");
	const json_t *state = json_object_get(answer, "State");
	struct container_info info = {0};

	if (!json_is_object(config) || !json_is_object(state) ||
	    read_common(answer, text_of(answer, "Name"),
		text_of(config, "Image"), json_object_get(config, "Labels"),
		&info) != 0)
		return err_set(
		    e, ERR_ENGINE, "Docker's container makes no sense");
	info.image_id = mem_strdup(text_of(answer, "Image"));
	info.runtime = mem_strdup(
	    text_of(json_object_get(answer, "HostConfig"), "Runtime"));
	info.status = mem_strdup(text_of(state, "Status"));
	info.running = json_is_true(json_object_get(state, "Running"));
	info.oom_killed = json_is_true(json_object_get(state, "OOMKilled"));
	info.exit_code = json_integer_value(json_object_get(state, "ExitCode"));
	info.netns = mem_strdup(
	    text_of(json_object_get(answer, "NetworkSettings"), "SandboxKey"));
	info.pid = json_integer_value(json_object_get(state, "Pid"));
	info.created_ms = time_of(answer, "Created");
	info.finished_ms = time_of(state, "FinishedAt");
	*ret_info = info;
	return 0;
}

static int
read_listed(const json_t *object, struct container_info *info)
{
	const char *name = json_string_value(
	    json_array_get(json_object_get(object, "Names"), 0));

	if (read_common(object, name != NULL ? name : "",
		text_of(object, "Image"), json_object_get(object, "Labels"),
		info) != 0)
		return -1;
	info->status = mem_strdup(text_of(object, "State"));
	info->running = strcmp(info->status, "running") == 0;
	info->created_ms = container_json_seconds(object, "Created");
	return 0;
}

int
container_json_list(const char *bytes, size_t size,
    struct container_list *ret_list, struct err *e)
{
	json_auto_t *answer = json_loadb(bytes, size, 0, NULL);
	size_t count = json_array_size(answer);
	struct container_list list = {
	    mem_zalloc(mem_array(count, sizeof(*list.item))), count};

	bool good = json_is_array(answer);
	for (size_t i = 0; i < count && good; i++)
		good =
		    read_listed(json_array_get(answer, i), &list.item[i]) == 0;
	if (!good) {
		container_list_release(&list);
		return err_set(
		    e, ERR_ENGINE, "Docker's list of containers is none");
	}
	*ret_list = list;
	return 0;
}

/* -- releasing ------------------------------------------------------------ */

void
container_info_release(struct container_info *info)
{
	free(info->labels);
	free(info->name);
	free(info->image);
	free(info->image_id);
	free(info->runtime);
	free(info->status);
	free(info->netns);
	memset(info, 0, sizeof(*info));
}

void
container_list_release(struct container_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		container_info_release(&list->item[i]);
	free(list->item);
	list->item = NULL;
	list->count = 0;
}
