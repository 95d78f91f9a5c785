/* manifest.json of the warm cache. */
#include "run/cache_manifest.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/jw.h"
#include "lib/str.h"
#include "json/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITE_MS 30000

static bool
is_hash(const char *text)
{
	return strlen(text) == DIGEST_HEX_SIZE - 1 &&
	       strspn(text, "0123456789abcdef") == DIGEST_HEX_SIZE - 1;
}

static bool
is_repo(const char *text)
{
	struct err ignored = ERR_INIT;
	char repo[WARM_REPO_SIZE];

	return warm_repo_read(text, repo, &ignored) == 0 && str_eq(repo, text);
}

static bool
is_gen(const char *text)
{
	char gen[ULID_SIZE];

	return ulid_parse(text, gen) && str_eq(gen, text);
}

/* A member that must be there, and valid. */
static bool
take(const json_t *o, const char *name, bool (*valid)(const char *), char *to,
    size_t room)
{
	struct err ignored = ERR_INIT;
	const char *text;

	if (read_string(o, name, &text, &ignored) != 0 || text == NULL ||
	    !valid(text))
		return false;
	int n = snprintf(to, room, "%s", text);
	return n >= 0 && (size_t)n < room;
}

int
cache_manifest_parse(const char *bytes, size_t size,
    struct cache_manifest *ret_manifest, struct err *e)
{
	struct err ignored = ERR_INIT;
	struct cache_manifest m = {.used_ms = 0};
	json_auto_t *o = read_object(bytes, size, &ignored);

	if (o == NULL || !take(o, "repo", is_repo, m.repo, sizeof(m.repo)) ||
	    !take(o, "gen", is_gen, m.gen, sizeof(m.gen)) ||
	    !take(o, "lockHash", is_hash, m.lock.hash, sizeof(m.lock.hash)) ||
	    !take(
		o, "repoDir", lock_dir_valid, m.lock.dir, sizeof(m.lock.dir)) ||
	    read_int(o, "createdAt", 0, INT64_MAX, 0, &m.created_ms,
		&ignored) != 0 ||
	    read_int(o, "bytes", 0, INT64_MAX, 0, &m.bytes, &ignored) != 0 ||
	    read_int(o, "entries", 0, INT64_MAX, 0, &m.entries, &ignored) != 0)
		return err_set(
		    e, ERR_ABSENT, "what is there is not a whole manifest");
	*ret_manifest = m;
	return 0;
}

void
cache_manifest_text(const struct cache_manifest *manifest, struct buf *out)
{
	struct jw w = JW_INIT(out);

	jw_open(&w, '{');
	jw_str(&w, "repo", manifest->repo);
	jw_str(&w, "gen", manifest->gen);
	jw_str(&w, "lockHash", manifest->lock.hash);
	jw_str(&w, "repoDir", manifest->lock.dir);
	jw_int(&w, "createdAt", manifest->created_ms);
	jw_int(&w, "bytes", manifest->bytes);
	jw_int(&w, "entries", manifest->entries);
	jw_close(&w, '}');
	buf_addc(out, '\n');
}

static int
read_all(int fd, char *to, size_t room, size_t *ret_size)
{
	size_t size = 0;
	ssize_t n;

	while (size < room && ((n = read(fd, to + size, room - size)) > 0 ||
				  (n < 0 && errno == EINTR)))
		size += n > 0 ? (size_t)n : 0;
	*ret_size = size;
	return size < room && n < 0 ? -1 : 0;
}

int
cache_manifest_load(int dir, struct cache_manifest *ret_manifest, struct err *e)
{
	char bytes[CACHE_MANIFEST_MAX + 1];
	size_t size;
	struct stat st;
	FD_AUTO fd = openat(dir, CACHE_MANIFEST,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_ABSENT, "there is no manifest");
	if (fd < 0 || fstat(fd, &st) != 0 ||
	    read_all(fd, bytes, CACHE_MANIFEST_MAX, &size) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot read a manifest");
	bytes[size] = '\0';
	if (cache_manifest_parse(bytes, size, ret_manifest, e) != 0)
		return -1;
	ret_manifest->used_ms =
	    (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	return 0;
}

int
cache_manifest_store(
    int dir, const struct cache_manifest *manifest, struct err *e)
{
	BUF_AUTO text = BUF_INIT(CACHE_MANIFEST_MAX - 1);
	FD_AUTO fd = openat(dir, CACHE_MANIFEST_NEW,
	    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	cache_manifest_text(manifest, &text);
	if (fd < 0)
		return err_sys(e,
		    errno == ENOSPC ? ERR_FILE_SPACE : ERR_INTERNAL,
		    "cannot make a manifest");
	if (fd_write_all(
		fd, text.data, text.size, clock_mono_ms() + WRITE_MS, e) != 0)
		return -1;
	if (fsync(fd) != 0 ||
	    renameat(dir, CACHE_MANIFEST_NEW, dir, CACHE_MANIFEST) != 0 ||
	    fsync(dir) != 0)
		return err_sys(
		    e, ERR_INTERNAL, "cannot put a manifest in place");
	return 0;
}
