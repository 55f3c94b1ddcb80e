/* The two methods of Meneses, "Cuda GPU Dynamically Resizable Array": see array_paper.cu. */
#pragma once

#include <stdint.h>

#define ARRAY_PAPER_THREADS 1024u /* one block: more hang the second method */
#define ARRAY_PAPER_BUCKETS 27u   /* bucket b has 32 << b elements */

/* In device memory, zeroed. */
struct array_paper {
    uint64_t buckets[ARRAY_PAPER_BUCKETS]; /* addresses; 0: not there; 1: there is no memory */
    uint32_t taken[ARRAY_PAPER_BUCKETS];   /* the second method: somebody allocates it */
    uint32_t size;
    uint64_t lost;      /* elements without memory */
    uint64_t heap_used; /* in the emulator */
};

/* array_paper_all: every thread allocates, all but one throw it away; array_paper_wait: one
 * allocates, the others wait for it, one block only; array_paper_end: adds the elements up, and
 * frees the buckets, one block. */
struct array_paper_arguments {
    uint64_t from; /* uint32_t each */
    uint64_t count;
    uint64_t vector;     /* struct array_paper */
    uint64_t heap;       /* in the emulator: memory for the buckets; */
    uint64_t heap_bytes; /* on a device there is malloc */
    uint64_t answer;     /* array_paper_end: struct array_task_answer, zeroed */
    uint32_t below;
};
