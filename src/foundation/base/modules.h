/* Files that were built or installed together with this program or library, wherever all of them
 * have been moved to. */
#pragma once

#include <gordian/gordian.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The running program, to be run again; false: it cannot be told. */
bool beside_self(char *path, size_t size);
/* The folder of the running program. */
bool beside_program(char *folder, size_t size);
/* The folder of the program or library that a function is in. */
bool beside_code(const void *function, char *folder, size_t size);

/* The first of the places (ending in NULL) where there is something that `mode` allows (access(2)):
 * paths from the folder, or whole ones. Its path is without links. */
bool beside_find(const char *folder, const char *const *places, int mode, char *path, size_t size);

/* A module's one symbol is a table of functions, which begins with the version it was built for. */
struct beside_head {
    uint64_t version;
};

#define BESIDE_VERSION                                                                             \
    ((uint64_t)GORDIAN_VERSION_MAJOR << 40 | (uint64_t)GORDIAN_VERSION_MINOR << 20 |               \
     GORDIAN_VERSION_PATCH)

/* The table called `symbol` in a module, which stays loaded. NULL: why is in `why`. */
const void *beside_load(const char *path, const char *symbol, char *why, size_t size);
