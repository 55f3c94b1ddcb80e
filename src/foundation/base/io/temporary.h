/* Files and folders with names of their own, for what is gone again soon: in TMPDIR if that is an
 * absolute path, in /tmp otherwise.
 *
 *     char path[PATH_MAX];
 *     int fd;
 *     gordian_status status = temporary_file("gordian-check", "", path, sizeof path, &fd, error);
 *
 * What fails says where and why in `error`, leaves "" as the path, and the reason in errno. */
#pragma once

#include <gordian/gordian.h>

#include <stddef.h>
#include <stdio.h>

/* A new one, open to read and write: its name begins with `name` and ends with `ending`. */
gordian_status temporary_file(const char *name, const char *ending, char *path, size_t size,
                              int *fd, gordian_error *error);

/* A new one without a name, open to read and write. NULL: `error` says why. */
FILE *temporary_stream(gordian_error *error);

/* A new one, for this user alone. */
gordian_status temporary_folder(const char *name, char *path, size_t size, gordian_error *error);

/* Removes a folder with all that is in it; "" is none. */
void temporary_remove(const char *folder);
