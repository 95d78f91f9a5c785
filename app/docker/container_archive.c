/* Files of a container, by the engine's archive. */
#include "docker/container_archive.h"
#include "lib/base64.h"
#include "lib/mem.h"
#include "lib/utf8.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STAT_FIELD "X-Docker-Container-Path-Stat"
#define URL_ROOM (16u * 1024)
#define NS_PER_SEC 1000000000

/* -- what the engine tells of a path -------------------------------------- */

/* RFC 3339 with a fraction, in the daemon's time zone: "Z", "+01:00". */
static int
read_time(const char *text, int64_t *ret_ns)
{
	struct tm tm = {0}, zone = {0};
	int64_t fraction = 0, sec;
	int unit = NS_PER_SEC / 10;
	const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (at == NULL)
		return -1;
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10)
			fraction += (*at - '0') * unit;
	int sign = *at == '+' ? -1 : 1;
	if (*at == '+' || *at == '-')
		at = strptime(at + 1, "%H:%M", &zone);
	else if (*at++ != 'Z')
		return -1;
	if (at == NULL || *at != '\0')
		return -1;
	sec = (int64_t)timegm(&tm) +
	      sign * (zone.tm_hour * 3600 + zone.tm_min * 60);
	/* As far as 64 bits of nanoseconds go: from 1677 to 2262. */
	if (__builtin_mul_overflow(sec, NS_PER_SEC, ret_ns) ||
	    __builtin_add_overflow(*ret_ns, fraction, ret_ns))
		*ret_ns = sec < 0 ? INT64_MIN : INT64_MAX;
	return 0;
}

/* Go's os.FileMode (pkg.go.dev/io/fs): not the kernel's bits. */
static enum container_file
type_of(uint32_t mode)
{
	static const struct {
		uint32_t bit;
		enum container_file type;
	} table[] = {
	    {1u << 31, CONTAINER_DIRECTORY}, {1u << 27, CONTAINER_SYMLINK},
	    {1u << 26, CONTAINER_DEVICE}, {1u << 25, CONTAINER_FIFO},
	    {1u << 24, CONTAINER_SOCKET}, {1u << 21, CONTAINER_DEVICE},
	    {1u << 19, CONTAINER_DEVICE}, /* "irregular" */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (mode & table[i].bit)
			return table[i].type;
	return CONTAINER_FILE;
}

static uint32_t
permissions(uint32_t mode)
{
	return (mode & 0777) | (mode & 1u << 23 ? 04000u : 0) |
	       (mode & 1u << 22 ? 02000u : 0) | (mode & 1u << 20 ? 01000u : 0);
}

int
container_archive_parse(
    const char *value, struct container_stat *ret_stat, struct err *e)
{
	BUF_AUTO text = BUF_INIT(ENGINE_FIELD_MAX);
	struct container_stat stat;
	json_auto_t *o = NULL;

	if (base64_decode(value, &text) == 0)
		o = json_loadb(text.data, text.size, 0, NULL);
	json_t *size = json_object_get(o, "size");
	json_t *mode = json_object_get(o, "mode");
	const char *mtime = json_string_value(json_object_get(o, "mtime"));
	if (!json_is_integer(size) || json_integer_value(size) < 0 ||
	    !json_is_integer(mode) || json_integer_value(mode) < 0 ||
	    json_integer_value(mode) > UINT32_MAX || mtime == NULL ||
	    read_time(mtime, &stat.mtime_ns) != 0)
		return err_set(
		    e, ERR_ENGINE, "Docker's word on a path makes no sense");
	uint32_t bits = (uint32_t)json_integer_value(mode);
	stat.type = type_of(bits);
	stat.mode = permissions(bits);
	stat.size = (uint64_t)json_integer_value(size);
	*ret_stat = stat;
	return 0;
}

/* -- calls ---------------------------------------------------------------- */

static struct engine_call
archive_call(const char *method, const char *id, const char *path,
    const struct container_wait *wait, struct buf *url)
{
	buf_adds(url, "/containers/");
	engine_escape(url, id);
	buf_adds(url, "/archive?path=");
	engine_escape(url, path);
	return (struct engine_call){.method = method,
	    .path = url->data,
	    .field = STAT_FIELD,
	    .timeout_ms = wait->timeout_ms,
	    .idle_ms = wait->idle_ms,
	    .gone = wait->gone,
	    .arg = wait->arg};
}

int
container_archive_stat(struct engine *en, const char *id, const char *path,
    const struct container_wait *wait, struct container_stat *ret_stat,
    struct err *e)
{
	BUF_AUTO url = BUF_INIT(URL_ROOM);
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call =
	    archive_call("HEAD", id, path, wait, &url);

	if (engine_do(en, &call, &reply, e) != 0)
		return err_wrap(e, "cannot look at a file");
	if (reply.status != 200)
		return engine_refused(&reply, "cannot look at a file", e);
	return container_archive_parse(reply.field.data, ret_stat, e);
}

/* -- archives ------------------------------------------------------------- */

struct container_archive {
	struct engine_stream *stream;
	struct tar_reader tar;
	const char *bytes; /* received, not yet read */
	size_t size;
	char *prefix; /* the path, as names of the archive begin */
	bool wider;   /* it is of a directory above the path */
	bool inside;  /* the entry before was of the path */
};

static const char *
last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/*
 * The path to ask for. An engine (20.10) hands the last name on as JSON: where
 * that cannot hold it, the archive would be empty, and the directory's is asked
 * for. Names in an archive begin with the last one of the path asked for.
 */
static char *
askable(const char *path, char **ret_prefix)
{
	char *ask = mem_strdup(path), *slash;

	while (!utf8_valid(last_name(ask), strlen(last_name(ask))) &&
	       (slash = strrchr(ask, '/')) != NULL && slash != ask)
		*slash = '\0';
	*ret_prefix = mem_strdup(path + (last_name(ask) - ask));
	return ask;
}

static struct engine_stream *
open_stream(struct engine *en, const char *id, const char *path,
    const struct container_wait *wait, struct err *e)
{
	BUF_AUTO url = BUF_INIT(URL_ROOM);
	const struct engine_call call =
	    archive_call("GET", id, path, wait, &url);
	struct engine_stream *s = engine_stream_open(en, &call, e);

	if (s == NULL) {
		(void)err_wrap(e, "cannot read a file");
		return NULL;
	}
	if (engine_stream_reply(s)->status == 200)
		return s;
	(void)engine_refused(engine_stream_reply(s), "cannot read a file", e);
	engine_stream_free(s);
	return NULL;
}

struct container_archive *
container_archive_open(struct engine *en, const char *id, const char *path,
    const struct container_wait *wait, struct err *e)
{
	struct container_archive *a = mem_zalloc(sizeof(*a));
	char *ask = askable(path, &a->prefix);

	tar_reader_init(&a->tar);
	a->wider = strlen(ask) < strlen(path);
	a->stream = open_stream(en, id, ask, wait, e);
	free(ask);
	if (a->stream != NULL)
		return a;
	container_archive_free(a);
	return NULL;
}

void
container_archive_free(struct container_archive *a)
{
	if (a == NULL)
		return;
	engine_stream_free(a->stream);
	tar_reader_release(&a->tar);
	free(a->prefix);
	free(a);
}

/* A name of the archive, below the path; NULL where it is not. */
static const char *
below(const struct container_archive *a, const char *name)
{
	size_t size = strlen(a->prefix);

	if (strncmp(name, a->prefix, size) != 0)
		return NULL;
	if (name[size] == '\0')
		return name + size;
	return name[size] == '/' ? name + size + 1 : NULL;
}

/* The next event of the whole archive. */
static int
next_event(struct container_archive *a, struct tar_entry *ret_entry,
    const char **ret_bytes, size_t *ret_size, struct err *e)
{
	for (;;) {
		size_t used = 0;
		int event = TAR_MORE, rc = 1;

		if (a->size > 0)
			event = tar_next(&a->tar, a->bytes, a->size, &used,
			    ret_entry, ret_bytes, ret_size, e);
		a->bytes += used;
		a->size -= used;
		if (event < 0)
			e->kind = ERR_ENGINE; /* not the caller's archive */
		if (event != TAR_MORE)
			return event;
		if (a->size == 0)
			rc = engine_stream_next(
			    a->stream, &a->bytes, &a->size, e);
		if (rc < 0)
			return err_wrap(e, "cannot read a file");
		/* What the engine cannot read on ends its answer, cleanly. */
		if (rc == 0)
			return err_set(e, ERR_ENGINE,
			    "Docker's archive ends in the middle");
	}
}

int
container_archive_next(struct container_archive *a, struct tar_entry *ret_entry,
    const char **ret_bytes, size_t *ret_size, struct err *e)
{
	for (;;) {
		int event = next_event(a, ret_entry, ret_bytes, ret_size, e);

		if (event < 0 || event == TAR_END)
			return event;
		if (event == TAR_CONTENT && a->inside)
			return event;
		if (event == TAR_CONTENT)
			continue;
		ret_entry->name = below(a, ret_entry->name);
		a->inside = ret_entry->name != NULL;
		if (!a->inside && !a->wider)
			return err_set(e, ERR_ENGINE,
			    "Docker's archive is of something else");
		if (!a->inside)
			continue;
		if (ret_entry->type == TAR_HARDLINK)
			ret_entry->link = below(a, ret_entry->link);
		/* Its content is elsewhere. */
		if (ret_entry->link == NULL) {
			ret_entry->type = TAR_OTHER;
			ret_entry->link = "";
		}
		return event;
	}
}
