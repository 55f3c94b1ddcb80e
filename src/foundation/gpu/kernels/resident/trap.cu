/* A kernel that fails, launched instead of another: GORDIAN_GPU_FAIL_AFTER (gpu.h). */
#include "foundation/gpu/kernels/resident/trap.h"
#include "foundation/gpu/language/kernel.h"

KERNEL(trap_now, struct trap_arguments)
{
    if (THREAD_INDEX == a.thread)
        trap();
}
