/* Temporary files and folders: in TMPDIR if that is an absolute path, otherwise in /tmp.
 *
 *     char path[PATH_MAX];
 *     int fd;
 *     gordian_status status = temporary_file("gordian-check", "", path, sizeof path, &fd, error);
 *
 * A failure is described in `error`; the path is "" then, and errno has the reason. */
#pragma once

#include <gordian/gordian.h>

#include <stddef.h>
#include <stdio.h>

/* Creates a file, open to read and write. Its name begins with `name` and ends with `ending`. */
gordian_status temporary_file(const char *name, const char *ending, char *path, size_t size,
                              int *fd, gordian_error *error);

/* Creates a file without a name, open to read and write. NULL: failed, see `error`. */
FILE *temporary_stream(gordian_error *error);

/* Creates a folder that only this user can access. */
gordian_status temporary_folder(const char *name, char *path, size_t size, gordian_error *error);

/* Removes a folder and everything in it. "" is no folder. */
void temporary_remove(const char *folder);
