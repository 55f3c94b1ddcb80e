/* C++ names. The demangler is the C++ run-time library's; a program with C++ names in it has that
 * library, so it is here too, mostly. */
#include "report/symbol/inside.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void find_demangler(struct symbols *symbols)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    symbols->demangler_tried = true;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !symbols->demangle; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        if (!library)
            continue;
        void *found = dlsym(library, "__cxa_demangle");
        if (!found) {
            dlclose(library);
            continue;
        }
        symbols->demangler_library = library;
        memcpy(&symbols->demangle, &found, sizeof found);
    }
}

const char *symbols_demangle(struct symbols *symbols, const char *name)
{
    if (!name || strncmp(name, "_Z", 2) != 0)
        return name;
    if (!symbols->demangler_tried)
        find_demangler(symbols);
    if (!symbols->demangle)
        return name;
    int status = 0;
    const char *kept = symbols_keep(symbols, symbols->demangle(name, NULL, NULL, &status));
    return kept ? kept : name;
}
