/* Archives in and out of a run. */
#include "tar_fixture.h"
#include "../wait.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIME_NS (INT64_C(1700000000) * 1000000000)

/* -- made here ------------------------------------------------------------- */

void
archive_add(struct buf *to, const struct tar_entry *x, const char *content)
{
	struct tar_entry entry = *x;

	if (entry.type == 0)
		entry.type = TAR_FILE;
	if (entry.link == NULL)
		entry.link = "";
	if (entry.mode == 0)
		entry.mode = entry.type == TAR_DIRECTORY ? 0755 : 0644;
	if (entry.mtime_ns == 0)
		entry.mtime_ns = TIME_NS;
	if (content != NULL)
		entry.size = strlen(content);
	tar_put(to, &entry);
	if (content != NULL) {
		buf_adds(to, content);
		tar_put_padding(to, entry.size);
	}
	assert_false(to->over);
}

void
archive_file(struct buf *to, const char *name, const char *content)
{
	archive_add(to, &(struct tar_entry){.name = name}, content);
}

void
archive_link(
    struct buf *to, enum tar_type type, const char *name, const char *link)
{
	archive_add(to,
	    &(struct tar_entry){.type = type, .name = name, .link = link},
	    NULL);
}

void
archive_set_type(struct buf *archive, size_t at, char type)
{
	unsigned char *header = (unsigned char *)archive->data + at;
	unsigned sum = 8 * ' ';
	char text[8];

	header[156] = (unsigned char)type;
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += i - 148 < 8 ? 0 : header[i];
	(void)snprintf(text, sizeof(text), "%06o", sum);
	memcpy(header + 148, text, sizeof(text));
}

int
archive_count(const struct buf *archive)
{
	struct tar_reader r;
	struct tar_entry x;
	struct err e = ERR_INIT;
	const char *content;
	size_t used = 0, content_size;
	int count = 0, event = TAR_MORE;

	tar_reader_init(&r);
	for (size_t at = 0; at < archive->size && event >= 0; at += used) {
		event = tar_next(&r, archive->data + at, archive->size - at,
		    &used, &x, &content, &content_size, &e);
		count += event == TAR_HEADER;
	}
	tar_reader_release(&r);
	return event == TAR_END ? count : -1;
}

/* -- in and out ------------------------------------------------------------ */

int
archive_pack(const char *path, const char *user, struct buf *out)
{
	const struct wire_file x = {
	    .what = WIRE_FILE_PACK, .path = path, .user = user};
	struct file_call c;
	const char *payload;
	enum wire_type type;
	size_t n;
	int rc = 0;

	buf_reset(out);
	file_start(&c, &x);
	while ((type = file_next(&c, &payload, &n)) == WIRE_STARTED ||
	       type == WIRE_DATA)
		if (type == WIRE_DATA)
			buf_add(out, payload, n);
	if (type == WIRE_FAIL) {
		struct err e = ERR_INIT;
		const char *text;
		enum wire_fail why;

		check_ok(wire_get_fail(payload, n, &why, &text, &n, &e), &e);
		memcpy(file_text, text, n);
		file_text[n] = '\0';
		rc = (int)why;
	} else if (type != WIRE_DATA_END)
		rc = FILE_CUT;
	file_leave(&c);
	assert_false(out->over);
	return rc;
}

int
archive_unpack_x(const struct wire_file *x, const struct buf *archive)
{
	struct wire_file request = *x;
	struct file_call c;
	bool taken = true;
	size_t n;

	request.what = WIRE_FILE_UNPACK;
	file_start(&c, &request);
	for (size_t at = 0; at < archive->size && taken; at += n) {
		n = archive->size - at;
		n = n < WIRE_CHUNK ? n : WIRE_CHUNK;
		taken = file_tell(&c, WIRE_DATA, archive->data + at, n);
	}
	if (taken)
		(void)file_tell(&c, WIRE_DATA_END, NULL, 0);
	return file_finish(&c);
}

int
archive_unpack(const char *path, const struct buf *archive)
{
	return archive_unpack_x(&(struct wire_file){.path = path}, archive);
}

/* -- the box's tar --------------------------------------------------------- */

static void
be_tar(const char *const *argv, int input, int output)
{
	const char *all[40] = {"tar"};
	size_t n = 1;

	for (; *argv != NULL; argv++)
		all[n++] = *argv;
	if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0)
		_exit(98);
	(void)execvp("tar", (char *const *)(uintptr_t)all);
	_exit(99);
}

/* Through files, so that neither side waits for the other. */
int
archive_tar(
    const char *const *argv, const struct buf *input, struct buf *output)
{
	FD_AUTO in = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	FD_AUTO out = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int status;

	assert_true(in >= 0 && out >= 0);
	if (input != NULL)
		assert_int_equal(pwrite(in, input->data, input->size, 0),
		    (ssize_t)input->size);
	pid_t pid = fork();
	if (pid == 0)
		be_tar(argv, in, out);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (output != NULL) {
		off_t size = lseek(out, 0, SEEK_END);

		buf_reset(output);
		char *to = buf_grow(output, (size_t)size);
		assert_non_null(to);
		assert_int_equal(pread(out, to, (size_t)size, 0), size);
		output->size = (size_t)size;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void
archive_is_at(const struct buf *archive, const char *directory)
{
	const char *const argv[] = {
	    "-d", "--numeric-owner", "-C", directory, "-f", "-", NULL};
	BUF_AUTO said = BUF_INIT(ARCHIVE_MAX);

	assert_true(archive_count(archive) >= 0);
	if (archive_tar(argv, archive, &said) != 0)
		fail_msg("tar -d: %s", said.data);
}
