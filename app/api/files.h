/* The routes of files: /v1/runs/{id}/files and everything below it. */
#ifndef SBX_API_FILES_H
#define SBX_API_FILES_H

#include "api/call.h"

int api_files_get(struct call *c, struct err *e);  /* content, list ... */
int api_files_put(struct call *c, struct err *e);  /* content, archive */
int api_files_post(struct call *c, struct err *e); /* mkdir, move */
int api_files_delete(struct call *c, struct err *e);

#endif
