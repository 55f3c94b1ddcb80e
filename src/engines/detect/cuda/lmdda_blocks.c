/* LMDDA on a GPU: matrices in blocks (lmdda_rows.h, foundation/gpu/blocks.h). */
#include "engines/detect/cuda/lmdda_rows.h"

#define WORD_BYTES    sizeof(uint32_t)
#define BARRIER_BYTES 64u /* more than struct grid_barrier has: a line of its own */
#define MATRICES      4u  /* AG, RP, and two to make it anew with */
#define REACH_THREADS 256u

static uint64_t lmdda_blocks_bytes(const struct cuda_lmdda *l, struct cuda_room room)
{
    return blocks_bytes(&l->info) +
           MATRICES * blocks_top_bytes(&l->info, room.resources, room.processes) +
           hop_stride(room.processes) * WORD_BYTES;
}

static gordian_status lmdda_blocks_open(struct cuda_lmdda *l, struct lmdda_parts *parts,
                                        gordian_error *error)
{
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

static gordian_status lmdda_blocks_make_anew(struct cuda_lmdda *l, gordian_error *error)
{
    struct lmdda_reach_arguments reach = {
        .state = l->parts.device,
        .walks = {l->parts.blocks.walks[0].tops, l->parts.blocks.walks[1].tops},
        .barrier = l->parts.blocks.barrier,
        .changed = l->parts.blocks.changed,
        .rows = l->rag->resource_limit};
    unsigned most = l->info.emulated ? 2 : l->info.multiprocessors, resident = 0;
    unsigned threads = l->info.emulated ? 64 : REACH_THREADS;
    TRY(gpu_resident_blocks(l->gpu, "lmdda_blocks_reach", threads, 0, &resident, error));
    unsigned blocks = reach.rows / threads + 1;
    blocks = blocks < most ? blocks : most;
    return cuda_lmdda_launch(l,
                             GPU_LAUNCH("lmdda_blocks_reach", blocks < resident ? blocks : resident,
                                        threads, reach, .cooperative = true),
                             error);
}

static gordian_status lmdda_blocks_find_ends(struct cuda_lmdda *l, gordian_error *error)
{
    struct lmdda_ends_arguments question = {
        .state = l->parts.device, .ends = l->parts.ends, .rows = l->rag->resource_limit};
    uint32_t most = l->info.emulated ? 2 : l->info.multiprocessors * 8;
    uint32_t wanted = question.rows / (LMDDA_THREADS / 32) + 1;
    return gpu_launch(
        l->gpu,
        GPU_LAUNCH("lmdda_blocks_ends", wanted < most ? wanted : most, LMDDA_THREADS, question),
        error);
}

/* A kernel puts the row together: where its blocks are, only the device knows. */
static gordian_status lmdda_blocks_read(struct cuda_lmdda *l, uint32_t row, uint32_t first,
                                        uint32_t count, void *to, gordian_error *error)
{
    struct lmdda_read_arguments read = {.state = l->parts.device,
                                        .to = l->parts.blocks.row,
                                        .row = row,
                                        .first = first,
                                        .count = count};
    TRY(gpu_launch(l->gpu, GPU_LAUNCH("lmdda_blocks_read", 1, LMDDA_THREADS, read), error));
    TRY(gpu_wait(l->gpu, error));
    return gpu_read(l->gpu, to, read.to, count * WORD_BYTES, error);
}

const struct lmdda_rows lmdda_block_rows = {
    .event = "lmdda_blocks_event",
    .join = "lmdda_blocks_join",
    .blocks = true,
    .bytes = lmdda_blocks_bytes,
    .open = lmdda_blocks_open,
    .make_anew = lmdda_blocks_make_anew,
    .find_ends = lmdda_blocks_find_ends,
    .read = lmdda_blocks_read,
};
