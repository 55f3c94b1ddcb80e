/* Moves elements between a growable array and contiguous memory. */
#pragma once

#include <gordian/array.h>

#define ARRAY_MOVE_THREADS 256u

/* Elements first .. first + count - 1, whose pages exist. Any number of blocks. */
struct array_move_arguments {
    struct garray array; /* chunked */
    uint64_t other;      /* element `first` of the other side */
    uint64_t first, count;
    uint32_t unit; /* 1, 2, 4, 8 or 16 bytes moved at a time: divides the element and `other` */
    uint32_t in;   /* 0: out of the array; 1: into it */
};
