/* free(), realloc() and munmap(): freed memory contains no locks any more, and later other ones.
 * C++ mutexes are destroyed without a call, so this is the only visible sign. */
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/locks/lock_order.h"
#include "sources/run/locks/lock_order_graph.h"

static inline void forget_block(void *block)
{
    if (block && watch.potential &&
        atomic_load_explicit(&watch.state, memory_order_relaxed) == WATCH_ON && graph_any())
        order_forget((uintptr_t)block, real.malloc_usable_size(block));
}

WRAPPER(void, free, (void *block))
{
    if (unlikely(!real.free) && !real_resolve() && !real.free)
        return;
    forget_block(block);
    real.free(block);
}
EXPORT(free, V_OLDEST);

WRAPPER(void *, realloc, (void *block, size_t size))
{
    if (unlikely(!real.realloc) && !real_resolve() && !real.realloc)
        return NULL;
    forget_block(block);
    return real.realloc(block, size);
}
EXPORT(realloc, V_OLDEST);

WRAPPER(int, munmap, (void *low, size_t size))
{
    if (unlikely(!real.munmap) && !real_resolve() && !real.munmap)
        return -1;
    if (watch.potential && atomic_load_explicit(&watch.state, memory_order_relaxed) == WATCH_ON &&
        graph_any())
        order_forget((uintptr_t)low, size);
    return real.munmap(low, size);
}
EXPORT(munmap, V_OLDEST);
