#include "sources/inspect/snapshot/edges.h"

uint32_t edges_add(struct snapshot_edges *edges, const gordian_allocator *memory,
                   const struct wait_for_edge *edge)
{
    if (!memory_extend(memory, edges->list, edges->capacity, edges->count))
        return UINT32_MAX;
    edges->list[edges->count] = *edge;
    return (uint32_t)edges->count++;
}

uint32_t edges_find_hold(const struct snapshot_edges *edges, uint32_t first, uint32_t thread)
{
    uint32_t hold = first;
    while (hold != UINT32_MAX && edges->list[hold].thread != thread)
        hold = edges->list[hold].next_hold;
    return hold;
}
