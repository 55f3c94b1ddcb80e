#include "foundation/base/scc.h"

#include <string.h>

bool scc_open(struct scc *scc, const gordian_allocator *memory, struct scc_node *nodes,
              const uint32_t *targets)
{
    memset(scc, 0, sizeof *scc);
    scc->memory = *memory;
    scc->nodes = nodes;
    scc->targets = targets;
    return memory_grow32(memory, &scc->starts, &scc->start_room, 1, sizeof *scc->starts);
}

void scc_close(struct scc *scc)
{
    memory_free_all(&scc->memory, scc->members, scc->starts, scc->frames, scc->pending);
}

/* State of a run. */
struct scc_run_state {
    uint32_t depth;         /* frames in use */
    uint32_t pending_count; /* pending nodes */
    uint32_t order;         /* number of the next node */
};

static bool enter_node(struct scc *scc, struct scc_run_state *run, uint32_t node)
{
    if (!memory_grow32(&scc->memory, &scc->frames, &scc->frame_room, run->depth + 1,
                       sizeof *scc->frames))
        return false;
    struct scc_node *record = &scc->nodes[node];
    __builtin_prefetch(&scc->targets[record->first]);
    scc->frames[run->depth++] = (struct scc_frame){node, record->first, record->end, run->order};
    record->number = run->order++;
    return true;
}

/* Closes the component of `root`: no edge from it leads above it. Its members are `root` and the
 * nodes that were left pending since. */
static bool close_component(struct scc *scc, struct scc_run_state *run, uint32_t root)
{
    uint32_t order = scc->nodes[root].number, label = UINT32_MAX - scc->count;
    uint32_t first = run->pending_count;
    while (first > 0 && scc->nodes[scc->pending[first - 1]].number >= order)
        first--;
    uint32_t size = run->pending_count - first + 1;
    if (!memory_grow32(&scc->memory, &scc->members, &scc->member_room, scc->member_count + size,
                       sizeof *scc->members) ||
        !memory_grow32(&scc->memory, &scc->starts, &scc->start_room, scc->count + 2,
                       sizeof *scc->starts))
        return false;
    uint32_t *members = scc->members + scc->member_count;
    *members++ = root;
    scc->nodes[root].number = label;
    for (uint32_t i = first; i < run->pending_count; i++) {
        *members++ = scc->pending[i];
        scc->nodes[scc->pending[i]].number = label;
    }
    run->pending_count = first;
    /* Numbers of closed nodes are reused, so that numbers and labels never overlap. */
    run->order -= size;
    scc->member_count += size;
    scc->starts[++scc->count] = scc->member_count;
    return true;
}

static bool scc_leave_node(struct scc *scc, struct scc_run_state *run)
{
    struct scc_frame frame = scc->frames[--run->depth];
    if (scc->nodes[frame.node].number == frame.order)
        return close_component(scc, run, frame.node);
    if (!memory_grow32(&scc->memory, &scc->pending, &scc->pending_room, run->pending_count + 1,
                       sizeof *scc->pending))
        return false;
    scc->pending[run->pending_count++] = frame.node;
    return true;
}

static bool scc_explore_from(struct scc *scc, struct scc_run_state *run, uint32_t root)
{
    struct scc_node *nodes = scc->nodes;
    if (!enter_node(scc, run, root))
        return false;
    while (run->depth > 0) {
        struct scc_frame *frame = &scc->frames[run->depth - 1];
        uint32_t node = frame->node;
        if (frame->edge == frame->end) {
            if (!scc_leave_node(scc, run))
                return false;
            continue;
        }
        /* Enter a target that was not reached yet. It is examined again on the way back. */
        uint32_t target = scc->targets[frame->edge];
        if (nodes[target].number == 0) {
            if (!enter_node(scc, run, target))
                return false;
            continue;
        }
        if (nodes[target].number < nodes[node].number)
            nodes[node].number = nodes[target].number;
        frame->edge++;
    }
    return true;
}

bool scc_run(struct scc *scc, const uint32_t *roots, uint32_t root_count)
{
    for (uint32_t i = 0; i < scc->member_count; i++)
        scc->nodes[scc->members[i]].number = 0;
    scc->member_count = scc->count = 0;
    scc->starts[0] = 0;
    struct scc_run_state run = {.order = 1};
    for (uint32_t i = 0; i < root_count; i++) {
        uint32_t root = roots ? roots[i] : i;
        if (scc->nodes[root].number == 0 && !scc_explore_from(scc, &run, root))
            return false;
    }
    return true;
}
