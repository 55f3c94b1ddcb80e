/* LMDDA on a GPU: matrices kept whole (lmdda_rows.h). */
#include "engines/detect/cuda/lmdda_rows.h"
#include "foundation/gpu/kernels/detect/what_if.h"

#define WORD_BYTES sizeof(uint32_t)

static uint64_t whole_matrix_bytes(uint32_t processes, uint32_t resources)
{
    return hop_stride(processes) * WORD_BYTES * resources;
}

static uint64_t lmdda_whole_bytes(const struct cuda_lmdda *l, struct cuda_room room)
{
    uint32_t slots = room.processes < room.resources ? room.processes : room.resources;
    return 2 * whole_matrix_bytes(room.processes, room.resources) +
           hop_bytes(&l->options, slots, room.processes);
}

static gordian_status lmdda_whole_open(struct cuda_lmdda *l, struct lmdda_parts *parts,
                                       gordian_error *error)
{
    uint64_t bytes = whole_matrix_bytes(parts->room.processes, parts->room.resources);
    gpu_address *matrices[] = {&parts->device.grants, &parts->device.reach};
    uint32_t slots = parts->room.processes < parts->room.resources ? parts->room.processes
                                                                   : parts->room.resources;
    gordian_status status = GORDIAN_OK;
    parts->device.stride = hop_stride(parts->room.processes);
    for (size_t i = 0; i < 2 && status == GORDIAN_OK; i++) {
        status = gpu_alloc(l->gpu, matrices[i], bytes, error);
        THEN(status, gpu_zero(l->gpu, *matrices[i], bytes, error));
    }
    if (status != GORDIAN_OK)
        return status;
    return hop_open(&parts->hop, l->gpu, &l->options, slots, parts->room.processes, error);
}

static gordian_status lmdda_whole_make_anew(struct cuda_lmdda *l, gordian_error *error)
{
    return hop_start(&l->parts.hop, &l->parts.device, l->parts.slot_count, l->rag->process_limit,
                     l->rag->resource_limit, error);
}

static gordian_status lmdda_whole_find_ends(struct cuda_lmdda *l, gordian_error *error)
{
    struct what_if_arguments question = {.matrix = l->parts.device.reach,
                                         .runs = l->parts.device.runs,
                                         .ends = l->parts.ends,
                                         .stride = l->parts.device.stride,
                                         .words = cuda_lmdda_words(l),
                                         .rows = l->rag->resource_limit};
    uint32_t most = l->info.emulated ? 2 : l->info.multiprocessors * 8;
    uint32_t wanted = question.rows / (WHAT_IF_THREADS / 32) + 1;
    return gpu_launch(
        l->gpu,
        GPU_LAUNCH("what_if_ends", wanted < most ? wanted : most, WHAT_IF_THREADS, question),
        error);
}

static gordian_status lmdda_whole_read(struct cuda_lmdda *l, uint32_t row, uint32_t first,
                                       uint32_t count, void *to, gordian_error *error)
{
    uint64_t word = (uint64_t)row * l->parts.device.stride + first;
    return gpu_read(l->gpu, to, l->parts.device.reach + word * WORD_BYTES, count * WORD_BYTES,
                    error);
}

const struct lmdda_rows lmdda_whole_rows = {
    .event = "lmdda_event",
    .join = "lmdda_join",
    .bytes = lmdda_whole_bytes,
    .open = lmdda_whole_open,
    .make_anew = lmdda_whole_make_anew,
    .find_ends = lmdda_whole_find_ends,
    .read = lmdda_whole_read,
};
