/* Atomic replacement of a file: write under another name, sync, rename. After any failure or
 * interrupt, a reader finds the old file or the new one, never part of either. */
#pragma once

#include "foundation/base/io/output.h"

#include <gordian/gordian.h>
#include <sys/types.h>

/* Writes the output of `write` to the file at this path, through PATH.new, which is removed in any
 * case. The message of a failure does not name the file, unless `write` does. */
gordian_status replace_file(const char *path, mode_t mode,
                            gordian_status (*write)(void *context, struct output *out,
                                                    gordian_error *error),
                            void *context, gordian_error *error);

/* The steps of the replacement, for an open folder. On failure errno has the reason. */

/* Creates or truncates a file of this name, to read and write; -1: failed. */
int replace_begin(int folder, const char *name, mode_t mode);
/* Syncs the file (fd -1: done already) and renames it. False: the old name is unchanged. If
 * `synced` is NULL, a failure to sync the folder is a failure; otherwise it is returned there. */
bool replace_end(int folder, int fd, const char *from, const char *to, bool *synced);
/* Syncs the names in a folder to disk, where folders can be synced. */
bool replace_sync_folder(int folder);
