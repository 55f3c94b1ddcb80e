/* longjmp() and its kin, and what signal handlers were seen to do. A thread in a wait runs none of
 * its own code but signal handlers: a jump that leaves a wait is a handler's. libc knows which
 * frames a jump leaves, and calls the undo of those (state/shield.h); here it is only noted that
 * the thread jumps, so that the undo of a wait can tell a jump from a cancellation. Other jumps,
 * for errors or within a handler, leave no wait. */
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/state/watch.h"

#define JUMP_WRAPPER(name, version)                                                                \
    WRAPPER(void, name, (struct __jmp_buf_tag * state, int value))                                 \
    {                                                                                              \
        if (self)                                                                                  \
            self->jumping = true;                                                                  \
        if (unlikely(!real.name))                                                                  \
            real_resolve();                                                                        \
        real.name(state, value);                                                                   \
    }                                                                                              \
    EXPORT(name, version)

JUMP_WRAPPER(longjmp, V_OLDEST);
JUMP_WRAPPER(_longjmp, V_OLDEST);
JUMP_WRAPPER(siglongjmp, V_OLDEST);
/* What all three are in programs built with _FORTIFY_SOURCE. */
JUMP_WRAPPER(__longjmp_chk, V_CHECKED);
