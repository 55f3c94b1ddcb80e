/* The arguments of trap.cu. */
#pragma once

#include <stdint.h>

struct trap_arguments {
    uint32_t thread; /* the thread that traps */
};
