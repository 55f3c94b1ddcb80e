/* The example of docs/guide/garray.md. */
#include "array_example.h"
#include "foundation/gpu/kernels/array/array.h"

/* Every number from 1 to count with each of its divisors. */
KERNEL(array_example, struct array_example_arguments)
{
    uint32_t step = GRID_SIZE * BLOCK_SIZE;
    for (uint32_t i = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.count; i += step) {
        uint32_t number = i + 1, n = 0;
        for (uint32_t d = 1; d <= number; d++)
            n += number % d == 0;
        struct garray_part part = garray_resume(&a.pairs, GPU_POINTER(uint32_t, a.marks) + i, n);
        uint32_t k = 0;
        for (uint32_t d = 1; d <= number; d++) {
            if (number % d != 0)
                continue;
            if (k >= part.skip && k - part.skip < part.count) {
                struct pair *slot =
                    GARRAY_SLOT(struct pair, &a.pairs, part.first + (k - part.skip));
                slot->number = number;
                slot->divisor = d;
            }
            k++;
        }
    }
}
