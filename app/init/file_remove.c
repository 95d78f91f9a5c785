/* What is removed, with all that is in it. */
#include "init/file_part.h"

int
file_remove(struct file_op *f)
{
	return file_fail(f, WIRE_FAIL_INTERNAL, "not served yet");
}
