/* Kernels that use every word of foundation/gpu/language/kernel.h once, for tests of the emulator
 * and of a device. */
#ifndef GORDIAN_TESTS_GPU_KERNELS_SELFTEST_H
#define GORDIAN_TESTS_GPU_KERNELS_SELFTEST_H

#include <stdint.h>

/* selftest_index, _barriers, _dynamic: `out` has a word for every thread. */
struct selftest_plain {
    uint64_t out;
    uint32_t rounds;
};

/* selftest_warps: what every thread got. */
struct selftest_warp {
    uint32_t any, all, ballot, match;
    uint32_t shuffle, down, up, exchanged;
    uint64_t shuffle64, down64, up64, exchanged64;
    uint32_t add, min, max, or_, and_;
    uint32_t half; /* the sum over the lanes of the same parity */
    uint32_t left; /* the ballot of those that have not returned */
};

struct selftest_warps_arguments {
    uint64_t out;       /* struct selftest_warp for every thread */
    uint32_t returning; /* threads from here on return before the last ballot */
};

/* selftest_atomics */
struct selftest_cells {
    uint64_t add64, or64, and64, min64, max64, exchange64, swapped64;
    uint32_t add32, or32, and32, min32, max32, exchange32, swapped32;
    uint32_t lock, guarded;
    uint32_t bits; /* threads whose bit words were right */
};

struct selftest_atomics_arguments {
    uint64_t cells;
};

/* selftest_ordered: each odd warp hands numbers to the even warp before it. */
struct selftest_ordered_arguments {
    uint64_t boxes; /* struct selftest_box for every pair of warps, zeroed */
    uint64_t sums;  /* uint64_t for every pair */
    uint32_t rounds;
};

struct selftest_box {
    uint64_t full, empty, content;
};

/* selftest_grid */
struct selftest_grid_arguments {
    uint64_t barrier; /* struct grid_barrier */
    uint64_t slots;   /* uint32_t for every block */
    uint64_t sums;    /* uint64_t for every block */
    uint32_t rounds;
};

/* selftest_service: adds up numbers the host puts in, one at a time. In mapped memory. */
struct selftest_desk {
    uint64_t asked; /* how many so far, by the host */
    uint64_t question;
    uint64_t answered; /* by the device */
    uint64_t answer;
    uint32_t stop;
    uint32_t stopped;
};

struct selftest_service_arguments {
    uint64_t desk;
};

/* selftest_trap: ways to fail. */
enum selftest_way {
    SELFTEST_TRAP,
    SELFTEST_BARRIER, /* half of the block waits at a barrier, half for its warp; emulator only */
    SELFTEST_SPIN,    /* waits for ever */
    SELFTEST_MASK,    /* a lane outside its own mask */
    SELFTEST_GRID,    /* a grid barrier in a plain launch */
    SELFTEST_LANES,   /* lanes of a warp in different operations */
};

struct selftest_trap_arguments {
    uint64_t word;
    uint32_t way;
};

#endif
