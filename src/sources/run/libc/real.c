#include "sources/run/libc/real.h"

#include "sources/run/libc/export.h"

#include <dlfcn.h>
#include <stddef.h>

struct real real;

struct symbol {
    const char *name;
    const char *version; /* NULL: the default version */
    size_t offset;
    bool optional; /* missing in some versions of libc */
};

static const struct symbol symbols[] = {
#define REAL(name) {#name, NULL, offsetof(struct real, name), false},
    REAL_FUNCTIONS(REAL)
#undef REAL
        {"execveat", NULL, offsetof(struct real, execveat), true},
    {"__longjmp_chk", NULL, offsetof(struct real, __longjmp_chk), false},
    {"sigset", NULL, offsetof(struct real, sigset), false},
    {"_pthread_cleanup_push", NULL, offsetof(struct real, cleanup_push), false},
    {"_pthread_cleanup_pop", NULL, offsetof(struct real, cleanup_pop), false},
    {"__libc_start_main", V_2_34, offsetof(struct real, libc_start_main), true},
    {"__libc_start_main", V_OLDEST, offsetof(struct real, oldest_start_main), true},
    {"__call_tls_dtors", "GLIBC_PRIVATE", offsetof(struct real, call_tls_dtors), true},
#if defined(__x86_64__)
    {"pthread_cond_wait", V_OLDEST, offsetof(struct real, oldest_cond_wait), false},
    {"pthread_cond_timedwait", V_OLDEST, offsetof(struct real, oldest_cond_timedwait), false},
#endif
};

/* Finds the next function in lookup order, which may belong to an allocator or another tool instead
 * of libc. A lookup by version would skip these, so it is used only where an old version differs.
 * Looking up an existing symbol allocates nothing. Looking up a missing one may call calloc, which
 * may lock: so the mutex functions come first in the list, and all exist. */
bool real_resolve(void)
{
    bool complete = true;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void **slot = (void **)((char *)&real + symbols[i].offset);
        if (__atomic_load_n(slot, __ATOMIC_ACQUIRE))
            continue;
        const char *name = symbols[i].name, *version = symbols[i].version;
        void *found = version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
        __atomic_store_n(slot, found, __ATOMIC_RELEASE);
        complete = complete && (found || symbols[i].optional);
    }
    return complete;
}
