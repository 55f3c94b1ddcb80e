/* Finds the preloaded library: next to the command in its build directory, or in the library
 * directory of an installation. Both can be moved. */
#include "cli/run_library.h"
#include "foundation/base/modules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libgordian-run.so"

/* Paths relative to the directory of the command. */
static const char *const places[] = {
    LIBRARY,
    "src/sources/run/" LIBRARY,
#ifdef RUN_LIBRARY_FOLDER /* path in an installation, usually relative as well */
    RUN_LIBRARY_FOLDER "/" LIBRARY,
#endif
    "../lib/gordian/" LIBRARY,
    NULL,
};

static bool find_library(char *path, size_t size)
{
    char folder[PATH_MAX], resolved[PATH_MAX];
    const char *given = getenv("GORDIAN_RUN_LIBRARY");
    if (given && *given)
        return realpath(given, resolved) && snprintf(path, size, "%s", resolved) < (int)size;
    return program_folder(folder, sizeof folder) &&
           find_installed_file(folder, places, R_OK, path, size);
}

bool run_library(char *path, size_t size, char *why, size_t why_size)
{
    if (!find_library(path, size)) {
        snprintf(why, why_size, "%s was not found", LIBRARY);
        return false;
    }
    if (strpbrk(path, " :")) {
        snprintf(why, why_size, "the loader does not support a path with a blank or a colon: %s",
                 path);
        return false;
    }
    return true;
}
