/* Files that are installed with this program or library, and modules loaded at run time. They are
 * found even if all files were moved together. */
#pragma once

#include <gordian/gordian.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Path of the running program, to run it again; false: unknown. */
bool program_path(char *path, size_t size);
/* The folder of the running program. */
bool program_folder(char *folder, size_t size);
/* The folder of the program or library that contains a function. */
bool code_folder(const void *function, char *folder, size_t size);

/* Finds the first of `places` (NULL at the end) that access(2) permits with `mode`. They are
 * absolute, or relative to the folder. *path has symbolic links resolved. */
bool find_installed_file(const char *folder, const char *const *places, int mode, char *path,
                         size_t size);

/* A module has one symbol: a table of functions that begins with its version. */
struct module_head {
    uint64_t version;
};

#define MODULE_VERSION                                                                             \
    ((uint64_t)GORDIAN_VERSION_MAJOR << 40 | (uint64_t)GORDIAN_VERSION_MINOR << 20 |               \
     GORDIAN_VERSION_PATCH)

/* Loads a module and returns its table `symbol`. The module stays loaded. NULL: `why` has the
 * reason. */
const void *module_open(const char *path, const char *symbol, char *why, size_t size);
