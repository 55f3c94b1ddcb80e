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
    parts->whole.rp = whole_row_bytes(parts->room.resources);
    parts->whole.stride = parts->whole.rp + whole_row_bytes(parts->room.processes);
    return gpu_alloc(gpu, &parts->whole.rows, parts->room.resources * parts->whole.stride, error);
}

static void osdda_whole_close(struct gpu *gpu, struct osdda_parts *parts)
{
    gpu_free(gpu, parts->whole.rows);
}

static void osdda_whole_arguments(const struct osdda_parts *parts,
                                  union osdda_any_arguments *arguments)
{
    arguments->whole.rows = parts->whole.rows;
    arguments->whole.stride = parts->whole.stride / CHUNK_BYTES;
    arguments->whole.rp = parts->whole.rp / CHUNK_BYTES;
}

static gordian_status osdda_whole_read(struct cuda_osdda *o, bool rp, uint32_t row, uint32_t bits,
                                       uint64_t *to, gordian_error *error)
{
    gpu_address at = o->parts.whole.rows + row * o->parts.whole.stride;
    return gpu_read(o->gpu, to, at + (rp ? o->parts.whole.rp : 0), bits_words(bits) * sizeof *to,
                    error);
}

static gordian_status osdda_whole_count(struct cuda_osdda *o, uint64_t *bytes, uint64_t *used,
                                        gordian_error *error)
{
    (void)error;
    *bytes = *used = o->parts.room.resources * o->parts.whole.stride;
    return GORDIAN_OK;
}

const struct osdda_rows osdda_whole_rows = {
    .kernel = "osdda_service",
    .arguments_size = sizeof(struct osdda_arguments),
    .bytes = osdda_whole_bytes,
    .open = osdda_whole_open,
    .close = osdda_whole_close,
    .arguments = osdda_whole_arguments,
    .read = osdda_whole_read,
    .count = osdda_whole_count,
};
