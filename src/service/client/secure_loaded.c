/* secure_load for libraries that must not need OpenSSL themselves: loads the module. */
#include "foundation/base/error.h"
#include "service/client/secure.h"

#include <limits.h>
#include <unistd.h>

#define SECURE_MODULE "libgordian-tls.so"
#define SECURE_TABLE  "gordian_tls_interface"

/* Paths relative to the folder of the library, or of the program that contains it. */
static const char *const places[] = {
    SECURE_MODULE,
    "src/" SECURE_MODULE,
    "gordian/" SECURE_MODULE,
#ifdef RUN_LIBRARY_FOLDER
    RUN_LIBRARY_FOLDER "/" SECURE_MODULE,
#endif
#ifdef MODULE_FOLDER
    MODULE_FOLDER "/" SECURE_MODULE,
#endif
    NULL,
};

/* Inside a program, dladdr returns the program's own argument, which need not be a path. */
static bool find_module(char *path, size_t size)
{
    char folder[PATH_MAX];
    /* POSIX allows the conversion of a function's address. */
    const void *here = (const void *)(uintptr_t)secure_load;
    return (code_folder(here, folder, sizeof folder) &&
            find_installed_file(folder, places, R_OK, path, size)) ||
           (program_folder(folder, sizeof folder) &&
            find_installed_file(folder, places, R_OK, path, size));
}

const struct secure_interface *secure_load(gordian_error *error)
{
    char path[PATH_MAX], why[200];
    if (!find_module(path, sizeof path)) {
        fail(error, GORDIAN_STATUS_UNAVAILABLE,
             "tls:// needs OpenSSL through " SECURE_MODULE ", which is not installed");
        return NULL;
    }
    const struct secure_interface *table = module_open(path, SECURE_TABLE, why, sizeof why);
    if (!table)
        fail(error, GORDIAN_STATUS_UNAVAILABLE, "tls:// needs OpenSSL: %s", why);
    return table;
}
