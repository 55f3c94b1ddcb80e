/* OSDDA on a GPU: rows kept whole (osdda.h). */
#include "engines/detect/cuda/osdda.h"

#include "foundation/base/bits.h"

#define CHUNK_BYTES 16u

static uint64_t whole_row_bytes(uint32_t bits)
{
    return ((uint64_t)bits + 8 * OSDDA_LINE - 1) / (8 * OSDDA_LINE) * OSDDA_LINE;
}

static uint64_t osdda_whole_bytes(const struct gpu_info *info, struct cuda_room room)
{
    (void)info;
    return (whole_row_bytes(room.processes) + whole_row_bytes(room.resources)) * room.resources;
}

static gordian_status osdda_whole_open(struct gpu *gpu, struct osdda_parts *parts,
                                       gordian_error *error)
{
    struct osdda_arguments *whole = &parts->arguments.whole;
    uint64_t rr = whole_row_bytes(parts->room.resources);
    uint64_t stride = rr + whole_row_bytes(parts->room.processes);
    whole->stride = stride / CHUNK_BYTES;
    whole->rp = rr / CHUNK_BYTES;
    return gpu_alloc(gpu, &whole->rows, parts->room.resources * stride, error);
}

static gordian_status osdda_whole_read(struct cuda_osdda *o, bool rp, uint32_t row, uint32_t bits,
                                       uint64_t *to, gordian_error *error)
{
    const struct osdda_arguments *whole = &o->parts.arguments.whole;
    gpu_address at = whole->rows + (row * whole->stride + (rp ? whole->rp : 0)) * CHUNK_BYTES;
    return gpu_read(o->gpu, to, at, bits_words(bits) * sizeof *to, error);
}

const struct osdda_rows osdda_whole_rows = {
    .kernel = "osdda_service",
    .arguments_size = sizeof(struct osdda_arguments),
    .bytes = osdda_whole_bytes,
    .open = osdda_whole_open,
    .read = osdda_whole_read,
};
