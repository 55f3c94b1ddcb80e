/* Moves elements between a growable array and contiguous memory: many small pages in one launch,
 * where a copy page by page would take a driver call for each. */
#include "foundation/gpu/kernels/array/array.h"
#include "foundation/gpu/kernels/array/array_move.h"

DEVICE void move_unit(void *to, const void *from, uint32_t unit)
{
    if (unit == 16)
        *(uint4 *)to = *(const uint4 *)from;
    else if (unit == 8)
        *(uint64_t *)to = *(const uint64_t *)from;
    else if (unit == 4)
        *(uint32_t *)to = *(const uint32_t *)from;
    else if (unit == 2)
        *(uint16_t *)to = *(const uint16_t *)from;
    else
        *(uint8_t *)to = *(const uint8_t *)from;
}

KERNEL(array_move, struct array_move_arguments)
{
    const uint64_t each = a.array.element / a.unit, units = a.count * each;
    const uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    for (uint64_t u = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; u < units; u += step) {
        const uint64_t i = u / each, part = (u - i * each) * a.unit;
        char *other = GPU_POINTER(char, a.other) + u * a.unit;
        char *mine = (char *)garray_slot(&a.array, a.first + i, a.array.element) + part;
        if (a.in)
            move_unit(mine, other, a.unit);
        else
            move_unit(other, mine, a.unit);
    }
}
