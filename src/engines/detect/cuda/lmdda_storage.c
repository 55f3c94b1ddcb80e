/* LMDDA on a GPU: storage of its matrices (lmdda_storage.h). */
#include "engines/detect/cuda/lmdda_storage.h"

#include "foundation/gpu/kernels/detect/what_if.h"

#define WORD_BYTES    sizeof(uint32_t)
#define BARRIER_BYTES 64u /* larger than struct grid_barrier: a cache line of its own */
#define MATRICES      4u  /* in blocks: AG, RP, and two to recompute RP with */
#define REACH_THREADS 256u

static uint32_t at_most(uint32_t most, uint32_t value)
{
    return value > most ? most : value;
}

uint64_t lmdda_storage_bytes(const struct cuda_lmdda *l, struct cuda_capacity room)
{
    uint64_t row = hop_stride(room.processes) * WORD_BYTES;
    if (l->blocks)
        return blocks_bytes(&l->info) +
               MATRICES * blocks_top_bytes(&l->info, room.resources, room.processes) + row;
    return 2 * row * room.resources +
           hop_bytes(&l->options, at_most(room.processes, room.resources), room.processes);
}

static gordian_status open_whole(struct cuda_lmdda *l, struct lmdda_parts *parts,
                                 gordian_error *error)
{
    gpu_address *matrices[] = {&parts->device.grants, &parts->device.reach};
    uint32_t slots = at_most(parts->room.processes, parts->room.resources);
    parts->device.stride = hop_stride(parts->room.processes);
    uint64_t bytes = (uint64_t)parts->device.stride * WORD_BYTES * parts->room.resources;
    for (size_t i = 0; i < 2; i++) {
        TRY(gpu_alloc(l->gpu, matrices[i], bytes, error));
        TRY(gpu_zero(l->gpu, *matrices[i], bytes, error));
    }
    return hop_open(&parts->hop, l->gpu, &l->options, slots, parts->room.processes, error);
}

gordian_status lmdda_storage_open(struct cuda_lmdda *l, struct lmdda_parts *parts,
                                  gordian_error *error)
{
    if (!l->blocks)
        return open_whole(l, parts, error);
    uint64_t row = hop_stride(parts->room.processes) * WORD_BYTES;
    TRY(blocks_open(&parts->blocks.pool, l->gpu, error));
    struct block_matrix *matrices[MATRICES] = {&parts->blocks.grants, &parts->blocks.reach,
                                               &parts->blocks.walks[0], &parts->blocks.walks[1]};
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < MATRICES && status == GORDIAN_OK; i++)
        status = blocks_matrix(&parts->blocks.pool, matrices[i], parts->room.resources,
                               parts->room.processes, error);
    parts->device.grants = parts->blocks.grants.tops;
    parts->device.reach = parts->blocks.reach.tops;
    parts->device.stride = parts->room.resources;
    parts->device.top_count = parts->blocks.reach.top_count;
    parts->device.store = parts->blocks.pool.store;
    TRY(status);
    TRY(gpu_alloc(l->gpu, &parts->blocks.barrier, BARRIER_BYTES, error));
    TRY(gpu_zero(l->gpu, parts->blocks.barrier, BARRIER_BYTES, error));
    TRY(gpu_alloc(l->gpu, &parts->blocks.changed, 3 * WORD_BYTES, error));
    return gpu_alloc(l->gpu, &parts->blocks.row, row, error);
}

gordian_status lmdda_storage_recompute(struct cuda_lmdda *l, gordian_error *error)
{
    if (!l->blocks)
        return hop_start(&l->parts.hop, &l->parts.device, l->parts.slot_count,
                         l->rag->process_limit, l->rag->resource_limit, error);
    struct lmdda_reach_arguments reach = {
        .state = l->parts.device,
        .walks = {l->parts.blocks.walks[0].tops, l->parts.blocks.walks[1].tops},
        .barrier = l->parts.blocks.barrier,
        .changed = l->parts.blocks.changed,
        .rows = l->rag->resource_limit};
    unsigned most = l->info.emulated ? 2 : l->info.multiprocessors, resident = 0;
    unsigned threads = l->info.emulated ? 64 : REACH_THREADS;
    TRY(gpu_resident_blocks(l->gpu, "lmdda_blocks_reach", threads, 0, &resident, error));
    unsigned blocks = at_most(resident, at_most(most, reach.rows / threads + 1));
    return cuda_lmdda_launch(
        l, GPU_LAUNCH("lmdda_blocks_reach", blocks, threads, reach, .cooperative = true), error);
}

gordian_status lmdda_storage_find_ends(struct cuda_lmdda *l, gordian_error *error)
{
    uint32_t rows = l->rag->resource_limit;
    uint32_t most = l->info.emulated ? 2 : l->info.multiprocessors * 8;
    if (l->blocks) {
        struct lmdda_ends_arguments question = {
            .state = l->parts.device, .ends = l->parts.ends, .rows = rows};
        uint32_t blocks = at_most(most, rows / (LMDDA_THREADS / 32) + 1);
        return gpu_launch(l->gpu, GPU_LAUNCH("lmdda_blocks_ends", blocks, LMDDA_THREADS, question),
                          error);
    }
    struct what_if_arguments question = {.matrix = l->parts.device.reach,
                                         .runs = l->parts.device.runs,
                                         .ends = l->parts.ends,
                                         .stride = l->parts.device.stride,
                                         .words = cuda_lmdda_words(l),
                                         .rows = rows};
    uint32_t blocks = at_most(most, rows / (WHAT_IF_THREADS / 32) + 1);
    return gpu_launch(l->gpu, GPU_LAUNCH("what_if_ends", blocks, WHAT_IF_THREADS, question), error);
}

/* A kernel assembles a row of blocks, because only the device knows where they are. */
gordian_status lmdda_storage_read(struct cuda_lmdda *l, uint32_t row, void *to,
                                  gordian_error *error)
{
    gpu_address at = l->parts.device.reach + (uint64_t)row * l->parts.device.stride * WORD_BYTES;
    if (l->blocks) {
        struct lmdda_read_arguments read = {.state = l->parts.device,
                                            .to = l->parts.blocks.row,
                                            .row = row,
                                            .count = cuda_lmdda_words(l)};
        TRY(gpu_launch(l->gpu, GPU_LAUNCH("lmdda_blocks_read", 1, LMDDA_THREADS, read), error));
        TRY(gpu_wait(l->gpu, error));
        at = read.to;
    }
    return gpu_read(l->gpu, to, at, cuda_lmdda_words(l) * WORD_BYTES, error);
}
