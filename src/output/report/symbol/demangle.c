/* Demangles names of C++ and Rust. The demangler of C++ belongs to its run-time library, which is
 * usually present where a program needs it. */
#include "output/report/symbol/elfutils_internal.h"
#include "output/report/symbol/rust.h"

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
    char rust[RUST_NAME_MOST];
    if (name && rust_demangle(name, rust)) {
        const char *own = symbols_keep(symbols, strdup(rust));
        return own ? own : name;
    }
    if (!name || strncmp(name, "_Z", 2) != 0)
        return name;
    if (!symbols->demangler_tried)
        find_demangler(symbols);
    if (!symbols->demangle)
        return name;
    int status = 0;
    char *plain = symbols->demangle(name, NULL, NULL, &status);
    /* Older names of Rust end with a hash, "::h895122d50459843c". */
    enum { SUM = 19 };
    size_t length = plain ? strlen(plain) : 0;
    if (length > SUM && strncmp(plain + length - SUM, "::h", 3) == 0 &&
        strspn(plain + length - SUM + 3, "0123456789abcdef") == SUM - 3)
        plain[length - SUM] = '\0';
    const char *kept = symbols_keep(symbols, plain);
    return kept ? kept : name;
}
