/* Kernels that push into a growable array in every way there is, for tests: the elements tell what
 * they must be, so that lost, doubled and torn ones show. */
#ifndef GORDIAN_TESTS_GPU_KERNELS_ARRAY_SELFTEST_H
#define GORDIAN_TESTS_GPU_KERNELS_ARRAY_SELFTEST_H

#include "foundation/gpu/language/kernel.h"
#include <gordian/array.h>

enum array_selftest_way {
    ARRAY_PUSH,
    ARRAY_PUSH_WARP,
    ARRAY_PUSH_BLOCK,
    ARRAY_RESERVE,
    ARRAY_RESERVE_WARP,
    ARRAY_RESERVE_BLOCK,
    ARRAY_RESERVE_WHOLE,
    ARRAY_RESUME, /* these three with marks */
    ARRAY_RESUME_WARP,
    ARRAY_RESUME_WHOLE,
    ARRAY_WAYS,
};

/* array_fill: items `start` and on, each with array_selftest_outputs() of them. Elements of any
 * size, whose bytes array_selftest_byte() tells. */
struct array_fill_arguments {
    struct garray out;
    uint64_t marks; /* uint32_t for each item, or for each tile of a block; zeroed */
    uint32_t start, items;
    uint32_t each; /* outputs of an item at most; with the pushing ways, 1 */
    uint32_t way;
};

/* How many outputs an item has: all the same with the ways of a whole block. */
DEVICE uint32_t array_selftest_outputs(uint32_t way, uint32_t each, uint32_t item)
{
    if (way == ARRAY_RESERVE_WHOLE || way == ARRAY_RESUME_WHOLE)
        return each;
    return (item * 2654435761u >> 16) % (each + 1);
}

/* Byte number `at` of the element that is output number `output` of an item. */
DEVICE uint8_t array_selftest_byte(uint32_t item, uint32_t output, uint32_t at)
{
    if (at < 4)
        return (uint8_t)(item >> at * 8);
    if (at == 4)
        return (uint8_t)output;
    return (uint8_t)((item * 31 + output * 17 + at) * 2654435761u >> 24);
}

/* array_fetch: the elements through garray_at, one behind the other. */
struct array_fetch_arguments {
    struct garray from;
    uint64_t to;
    uint64_t count;
};

/* array_refill: one block fills the array with its threads' numbers, each of them `each` times, and
 * clears it, in turn. It is left full. */
struct array_refill_arguments {
    struct garray out; /* of uint32_t */
    uint32_t each, rounds;
};

/* array_tree: two arrays in turn, as queues of a search: every number x below `end` of the one
 * puts 2x + 1 and 2x + 2 into the other. Cooperative. */
struct array_tree_arguments {
    struct garray queues[2]; /* of uint32_t */
    uint64_t barrier;        /* struct grid_barrier */
    uint64_t sum, count;     /* uint64_t: of all numbers met */
    uint32_t end;
};

#endif
