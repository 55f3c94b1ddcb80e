#define _GNU_SOURCE
#include "foundation/base/modules.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool cut_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

bool program_path(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0 || (size_t)length == size - 1)
        return false;
    path[length] = '\0';
    return true;
}

bool program_folder(char *folder, size_t size)
{
    return program_path(folder, size) && cut_name(folder);
}

bool code_folder(const void *function, char *folder, size_t size)
{
    Dl_info about;
    return dladdr(function, &about) && about.dli_fname &&
           snprintf(folder, size, "%s", about.dli_fname) < (int)size && cut_name(folder);
}

bool find_installed_file(const char *folder, const char *const *places, int mode, char *path,
                         size_t size)
{
    char candidate[2 * PATH_MAX], resolved[PATH_MAX];
    for (; *places; places++) {
        bool whole = **places == '/';
        snprintf(candidate, sizeof candidate, "%s%s%s", whole ? "" : folder, whole ? "" : "/",
                 *places);
        if (access(candidate, mode) == 0 && realpath(candidate, resolved))
            return snprintf(path, size, "%s", resolved) < (int)size;
    }
    return false;
}

const void *module_open(const char *path, const char *symbol, char *why, size_t size)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct module_head *table = module ? dlsym(module, symbol) : NULL;
    if (!table) {
        const char *reason = dlerror();
        snprintf(why, size, "%s", reason ? reason : path);
    }
    if (module)
        dlclose(module); /* RTLD_NODELETE keeps it loaded */
    if (table && table->version != MODULE_VERSION) {
        snprintf(why, size, "%s has a different version", path);
        return NULL;
    }
    return table;
}
