/* The two methods of Meneses, "Cuda GPU Dynamically Resizable Array": see array_paper.cu. */
#pragma once

#include <stdint.h>

#define ARRAY_PAPER_THREADS 1024u /* one block: more would hang the second method */
#define ARRAY_PAPER_BUCKETS 27u   /* bucket b has 32 << b elements */

/* In device memory, zeroed. */
struct array_paper {
    uint64_t buckets[ARRAY_PAPER_BUCKETS]; /* addresses; 0: missing; 1: out of memory */
    uint32_t taken[ARRAY_PAPER_BUCKETS];   /* the second method: a thread allocates it */
    uint32_t size;
    uint64_t lost;      /* elements that did not fit */
    uint64_t heap_used; /* only in the emulator */
};

/* array_paper_all: each thread allocates, all but one discard the bucket. array_paper_wait: one
 * thread allocates, the others wait for it; one block only. array_paper_end: sums the elements and
 * frees the buckets; one block. */
struct array_paper_arguments {
    uint64_t from; /* uint32_t each */
    uint64_t count;
    uint64_t vector;     /* struct array_paper */
    uint64_t heap;       /* in the emulator: memory for the buckets; */
    uint64_t heap_bytes; /* a device has malloc */
    uint64_t answer;     /* array_paper_end: struct array_task_answer, zeroed */
    uint32_t below;
};
