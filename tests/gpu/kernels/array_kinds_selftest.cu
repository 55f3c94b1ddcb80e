/* Several LFVectors that grow at once out of one heap. */
#include "array_kinds_selftest.h"
#include "lab/published/kernels/array_lfvector.h"

KERNEL(lfvector_shared, struct lfvector_shared_arguments)
{
    const uint32_t step = GRID_SIZE * BLOCK_SIZE;
    for (uint32_t i = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.count; i += step) {
        const struct lfvector *out = &a.out[i % a.vectors];
        char *slot = (char *)lfvector_push(out);
        if (!slot)
            continue;
        for (uint32_t at = 0; at < out->element; at++)
            slot[at] = (char)(i >> at % 4 * 8);
    }
}
