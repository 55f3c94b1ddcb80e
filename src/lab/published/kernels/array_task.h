/* The task that growable arrays are measured with, the paper's: keep those of many numbers that are
 * below a bound. What there is to filter, and whether what came of it is right. */
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

/* Word number `word` of element i of what is filtered; the first is a number in [0, 99]. */
DEVICE uint32_t array_task_word(uint64_t seed, uint64_t i, uint32_t word)
{
    uint64_t x = array_task_mix(seed + i * 16 + word);
    return word == 0 ? (uint32_t)((x >> 32) * 100 >> 32) : (uint32_t)x;
}

/* What was kept, whatever its order. */
struct array_task_answer {
    uint64_t count;
    uint64_t sum;  /* of the numbers */
    uint64_t hash; /* summed over the elements: every word of each counts */
};

/* The hash of an element so far, and one word more. */
DEVICE uint64_t array_task_hash(uint64_t hash, uint32_t word)
{
    return array_task_mix(hash + UINT64_C(0x9e3779b97f4a7c15) + word);
}

/* array_numbers: writes `count` elements of `words` words. Any grid, as all that follow. */
struct array_numbers_arguments {
    uint64_t to;
    uint64_t count;
    uint64_t seed;
    uint32_t words;
};

/* array_answer: adds up the elements whose number is below `below`. */
struct array_answer_arguments {
    struct garray from;
    uint64_t plain;  /* look at this instead; 0: the array */
    uint64_t count;  /* elements */
    uint64_t answer; /* struct array_task_answer, zeroed */
    uint32_t words;  /* of an element */
    uint32_t below;
};

/* array_atomic: the paper's lower bound, one atomic an element into memory that is there. */
struct array_atomic_arguments {
    uint64_t from;   /* uint32_t each */
    uint64_t plain;  /* likewise, room for all */
    uint64_t stored; /* uint64_t, zeroed */
    uint64_t count;
    uint32_t below;
};

/* array_pause: keeps the device busy while the host gets the next launches ready. */
struct array_pause_arguments {
    uint64_t nanoseconds;
};
