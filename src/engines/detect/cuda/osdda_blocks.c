/* OSDDA on a GPU: rows in blocks (osdda.h, foundation/gpu/blocks.h). */
#include "engines/detect/cuda/osdda.h"

#include "foundation/base/bits.h"

#define STEP_BYTES (4 * sizeof(uint32_t))

static uint64_t longest_row_bytes(const struct osdda_parts *parts)
{
    uint32_t longer = parts->room.processes > parts->room.resources ? parts->room.processes
                                                                    : parts->room.resources;
    return bits_words(longer) * sizeof(uint64_t);
}

static uint64_t osdda_blocks_bytes(const struct gpu_info *info, struct cuda_room room)
{
    return blocks_bytes(info) + blocks_top_bytes(info, room.resources, room.resources) +
           blocks_top_bytes(info, room.resources, room.processes);
}

static gordian_status osdda_blocks_open(struct gpu *gpu, struct osdda_parts *parts,
                                        gordian_error *error)
{
    uint32_t resources = parts->room.resources;
    TRY(blocks_open(&parts->blocks.pool, gpu, error));
    TRY(blocks_matrix(&parts->blocks.pool, &parts->blocks.rr, resources, resources, error));
    TRY(blocks_matrix(&parts->blocks.pool, &parts->blocks.rp, resources, parts->room.processes,
                      error));
    TRY(gpu_alloc(gpu, &parts->blocks.step, STEP_BYTES, error));
    return gpu_alloc(gpu, &parts->blocks.row, longest_row_bytes(parts), error);
}

static void osdda_blocks_close(struct gpu *gpu, struct osdda_parts *parts)
{
    gpu_free_all(gpu, parts->blocks.rr.tops, parts->blocks.rp.tops, parts->blocks.step,
                 parts->blocks.row);
    blocks_close(&parts->blocks.pool);
}

static void osdda_blocks_fill_arguments(const struct osdda_parts *parts,
                                        union osdda_any_arguments *arguments)
{
    arguments->blocks.store = parts->blocks.pool.store;
    arguments->blocks.rr = parts->blocks.rr;
    arguments->blocks.rp = parts->blocks.rp;
    arguments->blocks.step = parts->blocks.step;
    arguments->blocks.row = parts->blocks.row;
}

/* The kernel puts the row together: where its blocks are, only the device knows. */
static gordian_status osdda_blocks_read(struct cuda_osdda *o, bool rp, uint32_t row, uint32_t bits,
                                        uint64_t *to, gordian_error *error)
{
    size_t words = bits_words(bits);
    uint32_t ignored;
    bool done = service_ask(o->service, OSDDA_READ, row, (uint32_t)(2 * words), rp, &ignored);
    service_touched(o->service); /* the question itself changes nothing */
    if (!done)
        return cuda_osdda_lost(o, error);
    return gpu_read(o->gpu, to, o->parts.blocks.row, words * sizeof *to, error);
}

static gordian_status osdda_blocks_count(struct cuda_osdda *o, uint64_t *bytes, uint64_t *used,
                                         gordian_error *error)
{
    struct osdda_parts *parts = &o->parts;
    uint64_t tops = blocks_matrix_bytes(&parts->blocks.rr) + blocks_matrix_bytes(&parts->blocks.rp);
    gordian_status status = blocks_count(&parts->blocks.pool, bytes, used, error);
    *bytes += tops + longest_row_bytes(parts);
    *used += tops + longest_row_bytes(parts);
    return status;
}

static gordian_status osdda_blocks_feed(struct osdda_parts *parts, gordian_error *error)
{
    bool ignored;
    return blocks_feed(&parts->blocks.pool, &ignored, error);
}

const struct osdda_rows osdda_block_rows = {
    .kernel = "osdda_blocks_service",
    .arguments_size = sizeof(struct osdda_blocks_arguments),
    .bytes = osdda_blocks_bytes,
    .open = osdda_blocks_open,
    .close = osdda_blocks_close,
    .arguments = osdda_blocks_fill_arguments,
    .read = osdda_blocks_read,
    .count = osdda_blocks_count,
    .feed = osdda_blocks_feed,
};
