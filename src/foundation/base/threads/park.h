/* Sleeping on a word until somebody changes it. The word is the only truth: whoever changes it
 * wakes afterwards, and whoever sleeps looks at it again, so no wake-up can be lost. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sleeps while the word is `value`, until it is woken or the clock (clock_ns) says `until`;
 * UINT64_MAX: no limit. May return for no reason: look again. False: the time is up. */
bool park_wait(_Atomic uint32_t *word, uint32_t value, uint64_t until);
/* Wakes all who sleep on it. */
void park_wake(_Atomic uint32_t *word);
