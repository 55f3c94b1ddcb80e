/* OSDDA on a GPU: storage of the rows of RR and RP (osdda.h). */
#include "engines/detect/cuda/osdda.h"

#include "foundation/base/bits.h"

#define CHUNK_BYTES 16u
#define STEP_BYTES  (4 * sizeof(uint32_t))

static uint64_t whole_row_bytes(uint32_t bits)
{
    return ((uint64_t)bits + 8 * OSDDA_LINE - 1) / (8 * OSDDA_LINE) * OSDDA_LINE;
}

static uint64_t longest_row_bytes(struct cuda_capacity room)
{
    uint32_t longer = room.processes > room.resources ? room.processes : room.resources;
    return bits_words(longer) * sizeof(uint64_t);
}

uint64_t osdda_storage_bytes(const struct cuda_osdda *o, struct cuda_capacity room)
{
    if (!o->blocks)
        return (whole_row_bytes(room.processes) + whole_row_bytes(room.resources)) * room.resources;
    return blocks_bytes(&o->info) + blocks_top_bytes(&o->info, room.resources, room.resources) +
           blocks_top_bytes(&o->info, room.resources, room.processes) + longest_row_bytes(room);
}

gordian_status osdda_storage_open(const struct cuda_osdda *o, struct osdda_parts *parts,
                                  gordian_error *error)
{
    uint32_t resources = parts->room.resources, processes = parts->room.processes;
    if (!o->blocks) {
        struct osdda_arguments *whole = &parts->arguments.whole;
        uint64_t rr = whole_row_bytes(resources), stride = rr + whole_row_bytes(processes);
        whole->stride = stride / CHUNK_BYTES;
        whole->rp = rr / CHUNK_BYTES;
        return gpu_alloc(o->gpu, &whole->rows, resources * stride, error);
    }
    struct osdda_blocks_arguments *blocks = &parts->arguments.blocks;
    TRY(blocks_open(&parts->pool, o->gpu, error));
    blocks->store = parts->pool.store;
    TRY(blocks_matrix(&parts->pool, &blocks->rr, resources, resources, error));
    TRY(blocks_matrix(&parts->pool, &blocks->rp, resources, processes, error));
    TRY(gpu_alloc(o->gpu, &blocks->step, STEP_BYTES, error));
    return gpu_alloc(o->gpu, &blocks->row, longest_row_bytes(parts->room), error);
}

/* The kernel assembles a row of blocks, because only the device knows where they are. */
gordian_status osdda_storage_read(struct cuda_osdda *o, bool rp, uint32_t row, uint32_t bits,
                                  gordian_error *error)
{
    const struct osdda_arguments *whole = &o->parts.arguments.whole;
    size_t words = bits_words(bits);
    gpu_address at = whole->rows + (row * whole->stride + (rp ? whole->rp : 0)) * CHUNK_BYTES;
    if (o->blocks) {
        uint32_t ignored;
        bool done = service_ask(o->service, OSDDA_READ, row, (uint32_t)(2 * words), rp, &ignored);
        service_touched(o->service); /* the question itself changes nothing */
        if (!done)
            return cuda_osdda_lost(o, error);
        at = o->parts.arguments.blocks.row;
    }
    return gpu_read(o->gpu, o->parts.row, at, words * sizeof *o->parts.row, error);
}
