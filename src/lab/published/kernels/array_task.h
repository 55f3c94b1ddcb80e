/* The task to measure growable arrays with, taken from the paper: of many numbers, keep the ones
 * below a bound. Provides the input and the check of the result. */
#pragma once

#include "foundation/gpu/language/kernel.h"
#include <gordian/array.h>

#define ARRAY_TASK_THREADS 256u

DEVICE uint64_t array_task_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Word number `word` of input element i; the first word is a number in [0, 99]. */
DEVICE uint32_t array_task_word(uint64_t seed, uint64_t i, uint32_t word)
{
    uint64_t x = array_task_mix(seed + i * 16 + word);
    return word == 0 ? (uint32_t)((x >> 32) * 100 >> 32) : (uint32_t)x;
}

/* Summary of the kept elements, independent of their order. */
struct array_task_answer {
    uint64_t count;
    uint64_t sum;  /* of the numbers */
    uint64_t hash; /* summed over the elements; depends on every word of each */
};

/* Adds one more word to the hash of an element. */
DEVICE uint64_t array_task_hash(uint64_t hash, uint32_t word)
{
    return array_task_mix(hash + UINT64_C(0x9e3779b97f4a7c15) + word);
}

/* array_numbers: writes `count` elements of `words` words. Any grid, also for the kernels below. */
struct array_numbers_arguments {
    uint64_t to;
    uint64_t count;
    uint64_t seed;
    uint32_t words;
};

/* array_answer: adds up the elements whose number is below `below`. */
struct array_answer_arguments {
    struct garray from;
    uint64_t plain;  /* check this memory; 0: the array */
    uint64_t count;  /* elements */
    uint64_t answer; /* struct array_task_answer, zeroed */
    uint32_t words;  /* of an element */
    uint32_t below;
};

/* array_atomic: the paper's lower bound, one atomic per element into preallocated memory. */
struct array_atomic_arguments {
    uint64_t from;   /* uint32_t each */
    uint64_t plain;  /* uint32_t each, with capacity for all */
    uint64_t stored; /* uint64_t, zeroed */
    uint64_t count;
    uint32_t below;
};

/* array_pause: keeps the device busy while the host prepares the next launches. */
struct array_pause_arguments {
    uint64_t nanoseconds;
};
