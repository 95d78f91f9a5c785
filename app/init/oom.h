/*
 * How often the kernel killed for want of memory in this run: a count that
 * only rises, or -1 where no cgroup says.
 */
#ifndef SBX_INIT_OOM_H
#define SBX_INIT_OOM_H

#include <stdint.h>

int64_t oom_count(void);

#endif
