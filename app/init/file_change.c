/* Directories made, and things moved. */
#include "init/file_part.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
file_mkdir(struct file_op *f)
{
	struct beneath b;
	struct stat st;

	if (file_find(f, f->x.path, BENEATH_FOLLOW | BENEATH_MAKE, &b) != 0)
		return -1;
	FD_AUTO dir = b.dir;
	if (!file_may_finish(f))
		return file_fail_fenced(f);
	if (mkdirat(dir, b.name, 0755) != 0) {
		int error = errno;

		if (error != EEXIST ||
		    fstatat(dir, b.name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISDIR(st.st_mode))
			return file_fail_errno(f, f->x.path, error);
	}
	return file_say(f, WIRE_DONE);
}

int
file_move(struct file_op *f)
{
	return file_fail(f, WIRE_FAIL_INTERNAL, "not served yet");
}
