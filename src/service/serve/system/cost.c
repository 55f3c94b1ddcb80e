/*
 * Memory cost of the objects of a system, in bytes, for quotas.
 *
 * All clients share the tables, which grow by half, so no allocation belongs to one client. The
 * cost of an object is its share of them: the sizes of its records, plus a quarter for spare
 * capacity. tests/serve/test_quota.c compares the sums with what the allocator returned.
 */
#include "engines/avoid/bank.h"
#include "engines/detect/system.h"
#include "service/serve/system/system.h"

#include <string.h>

#define WITH_ROOM(bytes) ((uint64_t)(bytes) + (bytes) / 4)
/* A name: its entry, its slots in the hash table, its place. */
#define NAME_BYTES(length) WITH_ROOM((((length) + 6 + 7) / 8) * 8 + 8 + 4)
/* A waiting process is in three lists of processes that may be granted. */
#define LISTS (3 * sizeof(uint32_t))

#define PROCESS_BYTES                                                                              \
    WITH_ROOM(sizeof(struct served_process) + sizeof(struct rag_process) +                         \
              sizeof(struct rag_process_more) + sizeof(struct rag_attributes) + sizeof(uint32_t) + \
              LISTS)
#define RESOURCE_BYTES                                                                             \
    WITH_ROOM(sizeof(struct served_owner) + sizeof(struct rag_resource) +                          \
              sizeof(struct rag_resource_more) + 6 * sizeof(uint32_t))
#define BANK_PROCESS_BYTES                                                                         \
    WITH_ROOM(sizeof(struct served_process) + sizeof(struct bank_process) +                        \
              sizeof(struct ledger_row) + 2 * sizeof(uint64_t) + LISTS)
#define BANK_RESOURCE_BYTES                                                                        \
    WITH_ROOM(sizeof(struct served_owner) + sizeof(struct ledger_column) + 6 * sizeof(uint64_t))
#define CLAIM_BYTES WITH_ROOM(sizeof(struct ledger_claim) + sizeof(struct ledger_claimant) + 16)

uint64_t served_system_cost(void)
{
    return sizeof(struct served) + RECENT_MAX * sizeof(struct recent_item) + 16384;
}

uint64_t served_resource_cost(const struct served *served, size_t name_length)
{
    static const uint64_t bytes[] = {
        [SERVED_DETECT] = RESOURCE_BYTES, [SERVED_AVOID] = BANK_RESOURCE_BYTES};
    return bytes[served->config.kind] + NAME_BYTES(name_length);
}

uint64_t served_new_process_cost(const struct served *served, size_t name_length, size_t claims)
{
    static const uint64_t bytes[] = {
        [SERVED_DETECT] = PROCESS_BYTES, [SERVED_AVOID] = BANK_PROCESS_BYTES};
    return bytes[served->config.kind] + NAME_BYTES(name_length) + claims * CLAIM_BYTES;
}

uint64_t served_process_cost(const struct served *served, uint32_t process)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const char *name = served_process_name(served, process, buffer);
    if (!name || process >= served->process_room)
        return 0;
    size_t claims = served->bank ? served->bank->ledger.rows[process].count : 0;
    return served_new_process_cost(served, strlen(name), claims) +
           served_changing_cost(served, process) + tags_cost(&served->tags, TAGS_PROCESS, process);
}

uint64_t served_changing_cost(const struct served *served, uint32_t process)
{
    if (process >= served->process_room)
        return 0;
    uint64_t cost = served_wait_cost(&served->processes[process]);
    if (served->bank && ledger_is_process(&served->bank->ledger, process))
        cost += served->bank->processes[process].room * sizeof(gordian_want);
    return cost;
}

uint64_t served_event_cost(const gordian_event *event)
{
    if (event->op == GORDIAN_OP_RELEASE || event->op == GORDIAN_OP_CANCEL ||
        event->op == GORDIAN_OP_EXIT || event->op == GORDIAN_OP_ACT)
        return 0;
    if (event->op == GORDIAN_OP_AWAIT) /* the list of what the process waits for grows as well */
        return event->want_count * SERVED_EDGE_BYTES + SERVED_AWAIT_BYTES +
               8 * sizeof(gordian_want);
    if (!event->wants)
        return SERVED_EDGE_BYTES;
    /* its edges, and two lists of them with spare capacity: here and in a bank */
    uint64_t list = (event->want_count + event->want_count / 2 + 8) * sizeof(gordian_want);
    return event->want_count * SERVED_EDGE_BYTES + 2 * list;
}

/* ------------------------------------------------------------------ holds of several units */

/* How much of the resource of wants[index] a request asks for, which may name it several times. 0
 * if an earlier want has the same resource. */
static uint64_t asked_for(const gordian_want *wants, size_t count, size_t index)
{
    uint64_t units = 0;
    for (size_t i = 0; i < count; i++) {
        if (wants[i].resource == wants[index].resource && i < index)
            return 0;
        if (wants[i].resource == wants[index].resource)
            units += wants[i].units;
    }
    return units;
}

static bool has_several(const struct rag *graph, uint32_t resource)
{
    return !(graph->resources_more[resource].flags & (RAG_ONE | RAG_AWAIT));
}

void served_recount_held(struct served *served, uint32_t process)
{
    if (!served->system)
        return;
    const struct rag *graph = system_graph(served->system);
    uint32_t count = 0;
    struct rag_edge edge;
    for (uint32_t ref = graph->processes[process].held; ref != NONE; ref = edge.next) {
        edge = rag_held(graph, ref);
        count += has_several(graph, edge.resource);
    }
    served->processes[process].held = count;
}

void served_count_granted(struct served *served, uint32_t process, const gordian_want *wants,
                          size_t count)
{
    const struct rag *graph = system_graph(served->system);
    if (count > 16) { /* searching a long list for duplicates would take longer */
        served_recount_held(served, process);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t units = has_several(graph, wants[i].resource) ? asked_for(wants, count, i) : 0;
        if (units > 0 && rag_held_units(graph, process, wants[i].resource) == units)
            served->processes[process].held++;
    }
}

void served_count_released(struct served *served, uint32_t process, uint32_t resource)
{
    const struct rag *graph = system_graph(served->system);
    if (has_several(graph, resource) && rag_held_units(graph, process, resource) == 0)
        served->processes[process].held--;
}
