/* Waiting until a word changes (a futex, where there is one). Only the word counts: a thread that
 * changes it wakes the waiters afterwards, and a waiter checks it again, so no wake-up is lost. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sleeps while the word is `value`, until park_wake or the time `until` (clock_ns; UINT64_MAX: no
 * limit). May return spuriously: check the word again. False: timeout. */
bool park_wait(_Atomic uint32_t *word, uint32_t value, uint64_t until);
/* Wakes all waiters of the word. */
void park_wake(_Atomic uint32_t *word);
