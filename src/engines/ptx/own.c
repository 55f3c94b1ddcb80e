/*
 * Loop bounds of the library's own service kernel (foundation/gpu/kernels/detect/osdda.cu): how
 * often each of its loops iterates for one event, computed from the sizes of the matrices and of
 * the launch.
 */
#include "engines/ptx/ptx_internal.h"

/* As in foundation/gpu/kernels/detect/osdda.cu. */
#define LINE_CHUNKS 8u /* of 128 bits */
#define CHUNK_BITS  128u
#define TILE        1024u
#define AHEAD       4u
#define WARP        32u
#define THREADS     (GORDIAN_PTX_OWN_WARPS * WARP)

const char *gordian_ptx_event_text(gordian_ptx_event event)
{
    static const char *const texts[] = {
        [GORDIAN_PTX_EVENT_GRANT] = "grant",         [GORDIAN_PTX_EVENT_BLOCK] = "block",
        [GORDIAN_PTX_EVENT_HAND_OVER] = "hand-over", [GORDIAN_PTX_EVENT_CANCEL] = "cancel",
        [GORDIAN_PTX_EVENT_REBUILD] = "rebuild",
    };
    return (size_t)event < sizeof texts / sizeof *texts ? texts[event] : NULL;
}

gordian_status gordian_ptx_open_own(gordian_ptx **out, const gordian_allocator *allocator,
                                    gordian_error *error)
{
    *out = NULL;
    if (ptx_own_size == 0)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "built without nvcc: the kernel's PTX is not available");
    return gordian_ptx_open(out, ptx_own, ptx_own_size, allocator, error);
}

static uint64_t parts_of(uint64_t whole, uint64_t part)
{
    return (whole + part - 1) / part;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Chunks of a row with this many bits, in whole lines. */
static uint64_t chunks_of(uint64_t bits)
{
    return parts_of(parts_of(bits, CHUNK_BITS), LINE_CHUNKS) * LINE_CHUNKS;
}

void gordian_ptx_own_question(gordian_ptx *own, gordian_ptx_event event, uint32_t resources,
                              uint32_t processes, uint32_t multiprocessors,
                              gordian_ptx_question *question)
{
    bool leads = event == GORDIAN_PTX_EVENT_GRANT, rebuilds = event == GORDIAN_PTX_EVENT_REBUILD;
    bool combines = event == GORDIAN_PTX_EVENT_BLOCK || event == GORDIAN_PTX_EVENT_CANCEL;
    uint64_t stride = chunks_of(resources) + chunks_of(processes), tile = least_of(stride, TILE);
    /* The number of blocks that the engine starts, and the rows of each. */
    uint64_t rows = parts_of(resources, least_of(resources / 16 + 1, multiprocessors));
    uint64_t of_threads = parts_of(rows, THREADS), of_warps = parts_of(rows, GORDIAN_PTX_OWN_WARPS);
    uint64_t doublings = 0;
    while (doublings < 32 && UINT64_C(1) << doublings < resources)
        doublings++;
    const gordian_ptx_named loops[] = {
        {"service_fetch", 1}, /* loops that wait for other threads count once */
        {"service_settled", 1},
        {"service_follow", 1},
        {"grid_barrier", 1},
        {"combine_paths/1", combines ? of_threads : 0},
        {"combine_paths/2", parts_of(stride, TILE)},
        {"gather_rows", parts_of(tile, THREADS)},
        {"combine_rows", parts_of(least_of(rows, THREADS) * tile, AHEAD * THREADS)},
        {"hand_over", event == GORDIAN_PTX_EVENT_HAND_OVER ? of_threads : 0},
        {"rebuild_rows/1", rebuilds ? of_warps : 0},
        {"rebuild_rows/2", rebuilds ? doublings : 0},
        {"rebuild_rows/3", of_warps},
        {"lay_row", parts_of(stride, WARP)},
        {"append_row", parts_of(stride, WARP)},
        {"lead_command", 1}, /* except if its body is the subject */
    };
    question->loop_count = sizeof loops / sizeof *loops - leads;
    for (size_t i = 0; i < question->loop_count; i++)
        own->own_loops[i] = loops[i];
    question->loops = own->own_loops;
    question->extra_loops = true;
    /* An event handled by the leader alone is one iteration of the leader's loop. Other events are
     * a step of the grid. */
    question->entry = "osdda_service";
    question->from = question->to = leads ? "lead_command" : "osdda_service/1";
    question->avoid = leads ? "osdda_service/1" : NULL;
}
