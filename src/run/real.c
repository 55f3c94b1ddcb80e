#include "run/real.h"

#include "run/export.h"

#include <dlfcn.h>
#include <stddef.h>

struct real real;

struct symbol {
    const char *name, *newest, *older;
    size_t offset;
};

static const struct symbol symbols[] = {
#define REAL(name, newest, older) {#name, newest, older, offsetof(struct real, name)},
    REAL_FUNCTIONS(REAL)
#undef REAL
#if defined(__x86_64__)
    {"pthread_cond_wait", V_OLDEST, V_OLDEST, offsetof(struct real, oldest_cond_wait)},
    {"pthread_cond_timedwait", V_OLDEST, V_OLDEST, offsetof(struct real, oldest_cond_timedwait)},
#endif
};

/* The lookup of a symbol that is there allocates nothing; that of a missing one may call calloc,
 * which may lock. So the mutex functions come first in the list, and are all there. */
static void *find(const struct symbol *symbol)
{
    void *found = dlvsym(RTLD_NEXT, symbol->name, symbol->newest);
    if (!found && symbol->older != symbol->newest)
        found = dlvsym(RTLD_NEXT, symbol->name, symbol->older);
    return found ? found : dlsym(RTLD_NEXT, symbol->name);
}

bool real_resolve(void)
{
    bool complete = true;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void **slot = (void **)((char *)&real + symbols[i].offset);
        if (__atomic_load_n(slot, __ATOMIC_ACQUIRE))
            continue;
        void *found = find(&symbols[i]);
        __atomic_store_n(slot, found, __ATOMIC_RELEASE);
        complete = complete && found;
    }
    return complete;
}
