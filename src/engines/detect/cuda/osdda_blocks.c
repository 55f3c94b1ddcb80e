/* OSDDA on a GPU: rows in blocks (osdda.h, foundation/gpu/blocks.h). */
#include "engines/detect/cuda/osdda.h"

#include "foundation/base/bits.h"

#define STEP_BYTES (4 * sizeof(uint32_t))

static uint64_t longest_row_bytes(struct cuda_room room)
{
    uint32_t longer = room.processes > room.resources ? room.processes : room.resources;
    return bits_words(longer) * sizeof(uint64_t);
}

static uint64_t osdda_blocks_bytes(const struct gpu_info *info, struct cuda_room room)
{
    return blocks_bytes(info) + blocks_top_bytes(info, room.resources, room.resources) +
           blocks_top_bytes(info, room.resources, room.processes) + longest_row_bytes(room);
}

static gordian_status osdda_blocks_open(struct gpu *gpu, struct osdda_parts *parts,
                                        gordian_error *error)
{
    struct osdda_blocks_arguments *blocks = &parts->arguments.blocks;
    uint32_t resources = parts->room.resources;
    TRY(blocks_open(&parts->pool, gpu, error));
    blocks->store = parts->pool.store;
    TRY(blocks_matrix(&parts->pool, &blocks->rr, resources, resources, error));
    TRY(blocks_matrix(&parts->pool, &blocks->rp, resources, parts->room.processes, error));
    TRY(gpu_alloc(gpu, &blocks->step, STEP_BYTES, error));
    return gpu_alloc(gpu, &blocks->row, longest_row_bytes(parts->room), error);
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
    return gpu_read(o->gpu, to, o->parts.arguments.blocks.row, words * sizeof *to, error);
}

const struct osdda_rows osdda_block_rows = {
    .kernel = "osdda_blocks_service",
    .arguments_size = sizeof(struct osdda_blocks_arguments),
    .blocks = true,
    .bytes = osdda_blocks_bytes,
    .open = osdda_blocks_open,
    .read = osdda_blocks_read,
};
