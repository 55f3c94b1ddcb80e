/* What `gordian bench array` measures growable arrays beside, and checks answers with. */
#ifndef GORDIAN_BENCH_KERNELS_ARRAY_BENCH_H
#define GORDIAN_BENCH_KERNELS_ARRAY_BENCH_H

#include "gpu/kernel.h"
#include <gordian/array.h>

#define ARRAY_BENCH_THREADS 256u

DEVICE uint64_t array_bench_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Word number `word` of element i of what is filtered; the first is a number in [0, 99]. */
DEVICE uint32_t array_bench_word(uint64_t seed, uint64_t i, uint32_t word)
{
    uint64_t x = array_bench_mix(seed + i * 16 + word);
    return word == 0 ? (uint32_t)((x >> 32) * 100 >> 32) : (uint32_t)x;
}

/* What was kept, whatever its order. */
struct array_bench_answer {
    uint64_t count;
    uint64_t sum;  /* of the numbers */
    uint64_t hash; /* summed over the elements: every word of each counts */
};

/* The hash of an element so far, and one word more. */
DEVICE uint64_t array_bench_hash(uint64_t hash, uint32_t word)
{
    return array_bench_mix(hash + UINT64_C(0x9e3779b97f4a7c15) + word);
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
    uint64_t answer; /* struct array_bench_answer, zeroed */
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

/* array_records, array_records_plain: the filter for elements of 8, 16 and 64 bytes; the array's
 * pages have 1024 elements or more. */
struct array_records_arguments {
    uint64_t from; /* 16-byte aligned */
    uint64_t count;
    struct garray out;
    uint64_t plain, stored; /* array_records_plain: where to, and a zeroed uint64_t */
    uint32_t element;
    uint32_t below;
};

#endif
