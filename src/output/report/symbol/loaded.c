/* Loads the symbolizer with elfutils at run time, so that the program itself does not need
 * elfutils. */
#include "output/report/symbol/symbolizer.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* Paths relative to the directory of the program. */
static const char *const places[] = {
    STACKS_MODULE,
    "src/" STACKS_MODULE,
#ifdef RUN_LIBRARY_FOLDER
    RUN_LIBRARY_FOLDER "/" STACKS_MODULE,
#endif
    NULL,
};

const struct symbolizer_table *symbols_best(char *why, size_t size)
{
    char folder[PATH_MAX], path[PATH_MAX];
    if (!program_folder(folder, sizeof folder) ||
        !find_installed_file(folder, places, R_OK, path, sizeof path)) {
        snprintf(why, size, STACKS_MODULE " was not found");
        return NULL;
    }
    return module_open(path, STACKS_TABLE, why, size);
}
