/* Files that are replaced as a whole: written under another name, synced, renamed. Whatever fails
 * or is interrupted, a reader finds the old file or the new one, never a part of either. */
#pragma once

#include "foundation/base/io/output.h"

#include <gordian/gordian.h>
#include <sys/types.h>

/* Writes what `write` prints into the file at this path, through PATH.new, which is gone in any
 * case. The message of a failure names no file unless `write` does. */
gordian_status replace_file(const char *path, mode_t mode,
                            gordian_status (*write)(void *context, struct output *out,
                                                    gordian_error *error),
                            void *context, gordian_error *error);

/* The parts of that, in an open folder; on failure errno says why. */

/* A new file of this name, or an empty one, to read and write; -1: failed. */
int replace_begin(int folder, const char *name, mode_t mode);
/* Syncs the file (fd -1: it has been) and gives it its name; false: nothing has that name that had
 * not before. Unless `synced` is NULL it tells whether the folder has been synced, too; otherwise
 * that it could not be is a failure. */
bool replace_end(int folder, int fd, const char *from, const char *to, bool *synced);
/* Brings the names in a folder to the disk, where folders can be synced. */
bool replace_sync_folder(int folder);
