/* longjmp() and related functions, to observe signal handlers. A thread in a wait runs only signal
 * handlers, so a jump that leaves a wait comes from a handler. libc knows which frames a jump
 * leaves, and calls their undo handlers (state/shield.h). This wrapper only records that the thread
 * jumps, so that the undo handler of a wait can distinguish a jump from a cancellation. Other
 * jumps, for errors or within a handler, leave no wait. */
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
/* With _FORTIFY_SOURCE, all three call this function. */
JUMP_WRAPPER(__longjmp_chk, V_CHECKED);
