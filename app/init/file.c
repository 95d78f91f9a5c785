/* One operation on files. */
#include "init/file.h"
#include "lib/wire.h"

#include <unistd.h>

int
file_run(const struct ops *ops, struct op *op)
{
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + 1 + WIRE_TEXT);

	(void)ops;
	(void)op;
	wire_put_fail(&frame, WIRE_FAIL_INTERNAL, "files are not served yet");
	(void)!write(STDOUT_FILENO, frame.data, frame.size);
	return 0;
}
