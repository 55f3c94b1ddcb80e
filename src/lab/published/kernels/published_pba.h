/* The kernels of GPU-PBA (thesis, algorithms 24 to 30): see published_pba.cu. */
#pragma once

#include <stdint.h>

/* What all of them take. Every array is of uint32_t; matrices have a row a process. A block has a
 * thread a resource, or as many threads as a block may have, and uint32_t's of dynamic shared
 * memory to match. One block; published_pba_check: a block a process. */
struct published_pba_arguments {
    uint64_t request; /* units asked for, or given back, by resource */
    uint64_t maximum, allocation, need;
    uint64_t available, work;
    uint64_t finish, able; /* by process; `able` is the thesis's atf */
    uint64_t go_on;        /* one; the thesis's cont */
    uint32_t process;
    uint32_t resources;
};
