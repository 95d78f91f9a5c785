/* The engine's archive of a container's files. */
#include "files.h"
#include "lib/base64.h"
#include "lib/mem.h"
#include "lib/path.h"
#include "lib/str.h"
#include "lib/tar.h"
#include "lib/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PIECE (64u * 1024)

/* One archive that is being sent. */
struct sending {
	struct fake_files *files;
	char *path;
	int fd;
	size_t sent;
	bool broken; /* nobody reads, or it must break off */
};

static const struct fake_file *
find(const struct fake_files *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++)
		if (str_eq(files->file[i].path, path))
			return &files->file[i];
	return NULL;
}

static uint64_t
size_of(const struct fake_files *files, const struct fake_file *f)
{
	if (f->type == 'h')
		return size_of(files, find(files, f->text));
	return f->text != NULL ? strlen(f->text) : f->size;
}

/* Of the first file on the way to path that is no directory: its type, or 'd'
 * where there is none. */
static char
way(const struct fake_files *files, const char *path)
{
	for (const char *at = path; (at = strchr(at + 1, '/')) != NULL;) {
		char *part = mem_strndup(path, (size_t)(at - path));
		const struct fake_file *f = find(files, part);

		free(part);
		if (f == NULL || f->type != 'd')
			return f == NULL ? '0' : f->type;
	}
	return 'd';
}

/* -- the archive ----------------------------------------------------------- */

static void
send_bytes(struct sending *s, const char *bytes, size_t size)
{
	while (size > 0 && !s->broken) {
		ssize_t n = send(s->fd, bytes, size, MSG_NOSIGNAL);

		s->broken = n <= 0;
		bytes += n;
		size -= (size_t)n;
	}
}

static void
send_chunk(struct sending *s, const char *bytes, size_t size)
{
	char head[24];
	size_t left = s->files->fault_at - s->sent;

	if (s->broken || size == 0)
		return;
	bool last = s->files->fault != FILES_WELL &&
		    s->files->fault != FILES_OTHER && size > left;
	if (last)
		size = left;
	(void)snprintf(head, sizeof(head), "%zx\r\n", size);
	if (size > 0) {
		send_bytes(s, head, strlen(head));
		send_bytes(s, bytes, size);
		send_bytes(s, "\r\n", 2);
	}
	s->sent += size;
	if (!last)
		return;
	if (s->files->fault == FILES_SHORT)
		send_bytes(s, "0\r\n\r\n", 5);
	if (s->files->fault == FILES_STALL)
		while (recv(s->fd, head, 1, 0) > 0)
			;
	s->broken = true;
}

static void
send_content(struct sending *s, const struct fake_file *f, uint64_t size)
{
	static const char zeros[PIECE];
	BUF_AUTO pad = BUF_INIT(TAR_BLOCK);

	if (f->text != NULL)
		send_chunk(s, f->text, (size_t)size);
	else
		for (uint64_t at = 0; at < size && !s->broken; at += PIECE)
			send_chunk(s, zeros,
			    size - at < PIECE ? (size_t)(size - at) : PIECE);
	tar_put_padding(&pad, size);
	send_chunk(s, pad.data, pad.size);
}

/* lib/tar writes no fifos: change the type and the sum (tar(5)). */
static void
make_fifo(char *header)
{
	unsigned sum = 0;

	header[156] = '6';
	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += (unsigned char)header[i];
	(void)snprintf(header + 148, 8, "%06o", sum);
}

static void
send_entry(struct sending *s, const struct fake_file *f, size_t base)
{
	static const enum tar_type types[] = {['d'] = TAR_DIRECTORY,
	    ['f'] = TAR_FILE,
	    ['h'] = TAR_HARDLINK,
	    ['l'] = TAR_SYMLINK,
	    ['o'] = TAR_SYMLINK,
	    ['p'] = TAR_FILE,
	    ['s'] = TAR_FILE};
	BUF_AUTO out = BUF_INIT(TAR_PUT_MAX);
	struct tar_entry x = {.type = types[(unsigned char)f->type],
	    .name = f->path + base,
	    .link = "",
	    .mode = 0644,
	    .mtime_ns = 1000000000};

	if (f->type == 's')
		return;
	if (f->type == 'f')
		x.size = size_of(s->files, f);
	if (f->type == 'l' || f->type == 'o')
		x.link = f->text;
	/* One whose other name is not in the archive is a file. */
	bool inside = f->type == 'h' &&
		      strncmp(f->text, s->path, strlen(s->path)) == 0 &&
		      f->text[strlen(s->path)] == '/';
	if (f->type == 'h' && !inside) {
		f = find(s->files, f->text);
		x.type = TAR_FILE;
		x.size = size_of(s->files, f);
	} else if (f->type == 'h') {
		x.link = f->text + base;
	}
	tar_put(&out, &x);
	if (f->type == 'p')
		make_fifo(out.data);
	send_chunk(s, out.data, out.size);
	if (x.type == TAR_FILE)
		send_content(s, f, x.size);
}

static void
send_archive(void *arg, int fd)
{
	struct sending *s = arg;
	BUF_AUTO end = BUF_INIT(2 * TAR_BLOCK);
	size_t size = strlen(s->path);
	size_t base = (size_t)(strrchr(s->path, '/') + 1 - s->path);

	s->fd = fd;
	/* 20.10 loses a name that JSON cannot hold, and what is there. */
	bool lost = !utf8_valid(s->path + base, strlen(s->path + base));
	for (size_t i = 0; i < s->files->count && !s->broken && !lost; i++) {
		const struct fake_file *f = &s->files->file[i];

		if (strncmp(f->path, s->path, size) == 0 &&
		    (f->path[size] == '\0' || f->path[size] == '/'))
			send_entry(
			    s, f, s->files->fault == FILES_OTHER ? 1 : base);
	}
	tar_put_end(&end);
	send_chunk(s, end.data, end.size);
	send_bytes(s, "0\r\n\r\n", 5);
	atomic_fetch_sub(&s->files->open, 1);
	free(s->path);
	free(s);
}

/* -- answers --------------------------------------------------------------- */

static struct fake_rule
refused(int status)
{
	return (struct fake_rule){
	    .status = status, .body = "{\"message\":\"scripted\"}"};
}

/* Go's bits of a mode, and a name that no header could hold as it is. */
static void
put_head(
    struct buf *text, const struct fake_files *files, const struct fake_file *f)
{
	static const unsigned bits[] = {['d'] = 1u << 31,
	    ['l'] = 1u << 27,
	    ['p'] = 1u << 25,
	    ['s'] = 1u << 24,
	    ['h'] = 0};
	BUF_AUTO json = BUF_INIT(4096);

	buf_addf(&json,
	    "{\"name\":\"?\",\"size\":%llu,\"mode\":%u,\"mtime\":"
	    "\"1970-01-01T01:00:01.5+01:00\",\"linkTarget\":\"?\"}",
	    (unsigned long long)size_of(files, f),
	    bits[(unsigned char)f->type] | 0644);
	buf_adds(text, "HTTP/1.1 200 OK\r\nX-Docker-Container-Path-Stat: ");
	base64_encode(json.data, json.size, text);
	buf_adds(text, "\r\n");
}

static struct fake_rule
answer_archive(struct fake_files *files, const char *method, const char *path,
    struct buf *text)
{
	const struct fake_file *f = find(files, path);
	char type = way(files, path);

	if (type == 'l' || type == 'o')
		atomic_fetch_add(&files->followed, 1);
	if (type != 'd')
		return refused(type == '0' ? 404 : 500);
	if (f == NULL)
		return refused(404);
	if (f->type == 'o' ||
	    (str_eq(method, "GET") && files->fault == FILES_REFUSE))
		return refused(500);
	put_head(text, files, f);
	if (str_eq(method, "HEAD")) {
		buf_adds(text, "\r\n");
		return (struct fake_rule){.raw = text->data};
	}
	struct sending *s = mem_zalloc(sizeof(*s));
	s->files = files;
	s->path = mem_strdup(path);
	buf_adds(text, "Transfer-Encoding: chunked\r\n\r\n");
	atomic_fetch_add(&files->archives, 1);
	atomic_fetch_add(&files->open, 1);
	return (struct fake_rule){
	    .raw = text->data, .stream = send_archive, .arg = s};
}

struct fake_rule
fake_files_answer(void *arg, const struct fake_request *r, struct buf *text)
{
	struct fake_files *files = arg;
	const char *at = strstr(r->path, "/archive?path=");
	struct err e = ERR_INIT;
	char path[4096];

	if (str_eq(r->path, "/_ping"))
		return (struct fake_rule){.status = 200, .body = "OK"};
	if (str_eq(r->path, "/version"))
		return (struct fake_rule){.status = 200,
		    .body = "{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":"
			    "\"1.12\"}"};
	if (atomic_load(&files->gone))
		return refused(404);
	if (str_ends(r->path, "/json"))
		return (struct fake_rule){.status = 200,
		    .body = "{\"Id\":\"x\",\"Name\":\"/x\",\"Created\":"
			    "\"2026-01-01T00:00:00Z\",\"Config\":{\"Image\":"
			    "\"x\"},\"State\":{\"Status\":\"exited\"}}"};
	if (at == NULL || strlen(at) >= sizeof(path))
		return refused(400);
	at = strchr(at, '=') + 1;
	if (path_decode(at, strlen(at), path, &e) != 0)
		return refused(400);
	return answer_archive(files, r->method, path, text);
}
