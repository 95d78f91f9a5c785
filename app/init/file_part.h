/*
 * The operations on files (lib/wire_file.h): of init/file*.c alone. Each ends
 * with 0, or with -1 where the host left or was told why not.
 */
#ifndef SBX_INIT_FILE_PART_H
#define SBX_INIT_FILE_PART_H

#include "init/file.h"

#include <sys/stat.h>

int file_get(struct file_op *f);
int file_put(struct file_op *f);
int file_list(struct file_op *f);
int file_stat(struct file_op *f);
int file_mkdir(struct file_op *f);
int file_move(struct file_op *f);
int file_remove(struct file_op *f);

/* beneath_find; what goes wrong is told to the host. */
int file_find(
    struct file_op *f, const char *path, int how, struct beneath *ret_b);

/* Open the request's path for reading, links followed, where it is of that
 * type (S_IFREG or S_IFDIR). What it is not is never opened, nor waited for.
 * Returns the descriptor, or -1 once the host was told. */
int file_open(struct file_op *f, mode_t type, struct stat *ret_st);

/* What is told of a file; target is "" but for a link. */
void file_describe(const struct stat *st, const char *name, const char *target,
    struct wire_stat *ret_x);

/* The last part of a path, as a name to tell. */
const char *file_name(const char *path);

#endif
