/* Ranges: reserved addresses, with memory mapped from the front. */
#include "foundation/gpu/device.h"

#include <inttypes.h>

struct range_piece {
    uint64_t bytes;
    uint64_t piece; /* the device's name for it */
};

struct gpu_range {
    struct gpu *gpu;
    gpu_address address;
    uint64_t reservation; /* the device's name for it */
    uint64_t reserved, mapped;
    struct range_piece *pieces; /* in the order of their addresses */
    size_t count, room;
};

static bool round_up(const struct gpu *gpu, uint64_t *bytes)
{
    uint64_t more = gpu->granularity - 1;
    if (*bytes > UINT64_MAX / 2)
        return false;
    *bytes = (*bytes + more) & ~more;
    return true;
}

gordian_status gpu_range_create(struct gpu_range **out, struct gpu *gpu, uint64_t bytes,
                                gordian_error *error)
{
    *out = NULL;
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    if (bytes == 0 || !round_up(gpu, &bytes))
        return fail(error, GORDIAN_STATUS_INPUT, "invalid size of a range: %" PRIu64 " bytes",
                    bytes);
    struct gpu_range *range = memory_zeroed(&gpu->memory, sizeof *range);
    if (!range)
        return fail_memory(error);
    range->gpu = gpu;
    range->reserved = bytes;
    gordian_status status =
        gpu->operations->reserve(gpu, &range->address, &range->reservation, bytes, error);
    if (status != GORDIAN_OK) {
        memory_free(&gpu->memory, range);
        return status;
    }
    *out = range;
    return GORDIAN_OK;
}

void gpu_range_destroy(struct gpu_range *range)
{
    if (!range)
        return;
    struct gpu *gpu = range->gpu;
    gpu_range_shrink(range, 0);
    gpu->operations->release(gpu, &(struct gpu_release){.kind = GPU_RANGE,
                                                        .address = range->address,
                                                        .piece = range->reservation,
                                                        .bytes = range->reserved});
    memory_free(&gpu->memory, range->pieces);
    memory_free(&gpu->memory, range);
}

gpu_address gpu_range_address(const struct gpu_range *range)
{
    return range->address;
}

uint64_t gpu_range_reserved(const struct gpu_range *range)
{
    return range->reserved;
}

uint64_t gpu_range_mapped(const struct gpu_range *range)
{
    return range->mapped;
}

gordian_status gpu_range_grow(struct gpu_range *range, uint64_t bytes, gordian_error *error)
{
    struct gpu *gpu = range->gpu;
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    if (!round_up(gpu, &bytes) || bytes > range->reserved)
        return fail(error, GORDIAN_STATUS_INPUT, "%" PRIu64 " bytes of a range of %" PRIu64, bytes,
                    range->reserved);
    if (bytes <= range->mapped)
        return GORDIAN_OK;
    if (!memory_grow(&gpu->memory, &range->pieces, &range->room, range->count + 1,
                     sizeof *range->pieces))
        return fail_memory(error);
    struct range_piece piece = {.bytes = bytes - range->mapped};
    TRY(gpu->operations->back(gpu, range->address + range->mapped, &piece.piece, piece.bytes,
                              error));
    range->pieces[range->count++] = piece;
    range->mapped = bytes;
    return GORDIAN_OK;
}

void gpu_range_shrink(struct gpu_range *range, uint64_t bytes)
{
    struct gpu *gpu = range->gpu;
    while (range->count) {
        const struct range_piece *last = &range->pieces[range->count - 1];
        if (range->mapped - last->bytes < bytes)
            break;
        range->mapped -= last->bytes;
        range->count--;
        gpu->operations->release(gpu,
                                 &(struct gpu_release){.kind = GPU_PIECE,
                                                       .address = range->address + range->mapped,
                                                       .piece = last->piece,
                                                       .bytes = last->bytes});
    }
}
