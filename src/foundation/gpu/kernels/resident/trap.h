/* What trap.cu takes. */
#ifndef GORDIAN_FOUNDATION_GPU_KERNELS_RESIDENT_TRAP_H
#define GORDIAN_FOUNDATION_GPU_KERNELS_RESIDENT_TRAP_H

#include <stdint.h>

struct trap_arguments {
    uint32_t thread; /* the one that traps */
};

#endif
