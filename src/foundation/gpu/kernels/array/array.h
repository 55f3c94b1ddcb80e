/*
 * A growable array in the library's kernels: <gordian/array_device.h>, which documents it, written
 * with the operations of language/kernel.h, so that it also runs in the kernel emulator.
 */
#pragma once

#include "foundation/gpu/language/kernel.h"

#define GARRAY_WORDS
#define GARRAY_DEVICE                    DEVICE
#define GARRAY_DEVICE_APART              DEVICE_APART
#define GARRAY_WARP                      WARP_SIZE
#define GARRAY_WARP_ALL                  WARP_ALL
#define GARRAY_THREAD                    THREAD_INDEX
#define GARRAY_THREADS                   BLOCK_SIZE
#define GARRAY_LANE                      LANE
#define GARRAY_SHARED(type, name, count) SHARED(type, name, count)

#define garray_word_block_barrier             block_barrier
#define garray_word_warp_ballot               warp_ballot
#define garray_word_warp_shuffle              warp_shuffle
#define garray_word_warp_shuffle64            warp_shuffle64
#define garray_word_warp_shuffle_up           warp_shuffle_up
#define garray_word_atomic_add64              atomic_add64
#define garray_word_atomic_or64               atomic_or64
#define garray_word_atomic_and64              atomic_and64
#define garray_word_atomic_max64              atomic_max64
#define garray_word_atomic_exchange64         atomic_exchange64
#define garray_word_atomic_compare_exchange64 atomic_compare_exchange64
#define garray_word_load_relaxed64            load_relaxed64
#define garray_word_load_acquire64            load_acquire64
#define garray_word_load_acquire_system64     load_acquire_system64
#define garray_word_store_release_system64    store_release_system64
#define garray_word_fence_device              fence_device
#define garray_word_popcount32                popcount32
#define garray_word_find_first32              find_first32
#define garray_word_trap                      trap

#include <gordian/array_device.h>
