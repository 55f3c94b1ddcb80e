/* A kernel that fails, in place of one that was to run: GORDIAN_GPU_FAIL_AFTER (gpu.h). */
#include "foundation/gpu/kernels/resident/trap.h"
#include "foundation/gpu/language/kernel.h"

KERNEL(trap_now, struct trap_arguments)
{
    if (THREAD_INDEX == a.thread)
        trap();
}
