/* What src/engines/detect/shared.c is compiled with for one of the tests: it loses a wake-up now
 * and then, which a watchdog has to notice (soak_shared.c). */
#ifndef GORDIAN_TESTS_LOSES_H
#define GORDIAN_TESTS_LOSES_H

#include "foundation/base/threads/park.h"

#define LOSES_WAKES

static inline void wake_mostly(_Atomic uint32_t *word)
{
    static _Atomic unsigned wakes;
    if (++wakes % 100 != 0)
        park_wake(word);
}

#define park_wake(word) wake_mostly(word)

#endif
