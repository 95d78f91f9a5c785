/*
 * Memory that is there or the process ends.
 *
 * Every input names its ceiling where it enters, so running out is a fault of
 * the host: these abort, the supervisor restarts, Redis holds the truth.
 */
#ifndef SBX_LIB_MEM_H
#define SBX_LIB_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size);		       /* not zeroed; free() */
void *mem_zalloc(size_t size);		       /* zeroed; free() */
void *mem_realloc(void *old, size_t size);     /* free() */
char *mem_strdup(const char *s);	       /* free() */
char *mem_strndup(const char *s, size_t size); /* NUL added; free() */

/* An element count times a size, aborting on overflow. */
size_t mem_array(size_t count, size_t size);

#endif
