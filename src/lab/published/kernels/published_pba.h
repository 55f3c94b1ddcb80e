/* The kernels of GPU-PBA (thesis, algorithms 24 to 30): see published_pba.cu. */
#pragma once

#include <stdint.h>

/* Arguments of all kernels. Every array is of uint32_t; matrices have a row for each process. A
 * block has a thread for each resource, up to the maximum of a block, and dynamic shared memory of
 * one uint32_t for each thread. The grid is one block; published_pba_check has a block for each
 * process. */
struct published_pba_arguments {
    uint64_t request; /* units requested or released, by resource */
    uint64_t maximum, allocation, need;
    uint64_t available, work;
    uint64_t finish, able; /* by process; `able` is the thesis's atf */
    uint64_t go_on;        /* one value; the thesis's cont */
    uint32_t process;
    uint32_t resources;
};
