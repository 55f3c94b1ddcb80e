/* dlclose(): the locks of an unloaded library are destroyed, and memory mapped there later has
 * others. The loader unmaps it without an observable call, so the lists of libraries before and
 * after are compared. */
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/locks/lock_order.h"
#include "sources/run/state/arena.h"

#include <link.h>

#define MODULES 4096u

struct module {
    uintptr_t low, high;
};

struct modules {
    uint32_t count;
    struct module list[MODULES];
};

static int note_module(struct dl_phdr_info *info, size_t size, void *context)
{
    struct modules *modules = context;
    struct module module = {UINTPTR_MAX, 0};
    (void)size;
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + header->p_vaddr, high = low + header->p_memsz;
        if (header->p_type != PT_LOAD)
            continue;
        module.low = low < module.low ? low : module.low;
        module.high = high > module.high ? high : module.high;
    }
    if (modules->count < MODULES && module.low < module.high)
        modules->list[modules->count++] = module;
    return 0;
}

static void forget_unloaded(const struct modules *before)
{
    struct modules *after = pages_map(sizeof *after);
    if (after)
        dl_iterate_phdr(note_module, after);
    for (uint32_t i = 0; after && after->count < MODULES && i < before->count; i++) {
        const struct module *module = &before->list[i];
        bool there = false;
        for (uint32_t k = 0; k < after->count && !there; k++)
            there = after->list[k].low == module->low;
        if (!there)
            order_forget(module->low, module->high - module->low);
    }
    pages_unmap(after, sizeof *after);
}

WRAPPER(int, dlclose, (void *handle))
{
    if (unlikely(!real.dlclose) && !real_resolve() && !real.dlclose)
        return -1;
    bool looks = watch.potential && !watch.sandboxed &&
                 atomic_load_explicit(&watch.state, memory_order_relaxed) == WATCH_ON;
    struct modules *before = looks ? pages_map(sizeof *before) : NULL;
    if (before)
        dl_iterate_phdr(note_module, before);
    int result = real.dlclose(handle);
    if (before && result == 0)
        forget_unloaded(before);
    pages_unmap(before, sizeof *before);
    return result;
}
EXPORT2(dlclose, V_2_34, V_OLDEST);
