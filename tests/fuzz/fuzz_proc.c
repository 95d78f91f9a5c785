/*
 * init/proc: a process' parent and session are what the kernel says of it,
 * whatever name it has given itself. The input is its name and, behind a line
 * feed, any text that is read as such a file.
 */
#include "init/proc.h"
#include "lib/buf.h"
#include "lib/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COMM_MAX 63 /* proc(5): what is longer is cut */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_name(const char *comm)
{
	const int parents[] = {0, 1, 4194304};
	struct proc p = {-1, -1};

	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		BUF_AUTO stat = BUF_INIT(512);

		buf_addf(&stat, "7 (%s) S %d 12 %d 34816 -1 4194304 1 2\n",
		    comm, parents[i], parents[i] + 3);
		if (!proc_parse(stat.data, &p) || p.parent != parents[i] ||
		    p.session != parents[i] + 3)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *in = mem_strndup((const char *)data, size), *rest = in;
	const char *comm = strsep(&rest, "\n");
	struct proc p;

	if (strlen(comm) <= COMM_MAX)
		check_name(comm);
	if (rest != NULL && proc_parse(rest, &p) && strchr(rest, ')') == NULL)
		abort();
	free(in);
	return 0;
}
