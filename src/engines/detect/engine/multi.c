/*
 * Resources of several units, requests for one: a waiting process can go on as soon as any holder
 * of what it waits for can. It is deadlocked if no running process can be reached from it.
 *
 * For each resource the graph keeps a witness: the holder through which a running process was last
 * reached. A block follows the witnesses. The graph is searched only if that trail ends at the
 * requester or at a dead process, or runs in a circle. The search makes new witnesses along its
 * path.
 */
#include "engines/detect/engine/sparse.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <string.h>

static bool is_marked_dead(const struct sparse *sparse, uint32_t process)
{
    return rag_waits(sparse->graph, process) &&
           sparse->graph->processes_more[process].mark == sparse->multi.dead_stamp;
}

gordian_status multi_prepare(struct sparse *sparse, bool rebuild, uint32_t resources,
                             gordian_error *error)
{
    struct multi_state *multi = &sparse->multi;
    if (!memory_grow_zeroed(&sparse->memory, &multi->visits, &multi->visit_room, resources,
                            sizeof *multi->visits))
        return fail_memory(error);
    if (!rebuild)
        return GORDIAN_OK;
    multi->dead_stamp = 1;
    for (uint32_t p = 0; p < sparse->graph->process_limit; p++)
        sparse->graph->processes_more[p].mark = 0; /* no longer a mark of the single-unit method */
    for (uint32_t q = 0; q < sparse->graph->resource_limit; q++)
        sparse->graph->resources_more[q].witness = NONE;
    return GORDIAN_OK;
}

/* Follows the witnesses from `resource` and returns whether they lead to a running process. Finds
 * cycles by Brent's algorithm: it remembers a place, at doubling distances. */
static bool follow_witnesses(const struct sparse *sparse, uint32_t requester, uint32_t resource)
{
    const struct rag *graph = sparse->graph;
    uint32_t remembered = NONE;
    uint64_t steps = 0, next_mark = 1;
    while (resource != remembered) {
        if (++steps == next_mark) {
            remembered = resource;
            next_mark *= 2;
        }
        uint32_t witness = graph->resources_more[resource].witness;
        uint32_t holder = witness != NONE
                              ? witness
                              : rag_holder(graph, rag_first_holder(graph, resource)).process;
        if (!rag_waits(graph, holder))
            return true;
        if (holder == requester || is_marked_dead(sparse, holder))
            return false;
        resource = graph->wait[holder];
    }
    return false;
}

/* A search: resources in the order of their visit, each with the path to it. */
struct search {
    uint32_t visited;
    bool met_requester;
};

static void start_search(struct multi_state *multi)
{
    if (++multi->search == 0) { /* after a wrap-around old marks would look new */
        memset(multi->visits, 0, multi->visit_room * sizeof *multi->visits);
        multi->search = 1;
    }
}

static void visit_resource(struct sparse *sparse, struct search *search, uint32_t resource,
                           uint32_t from, uint32_t holder)
{
    struct multi_state *multi = &sparse->multi;
    if (multi->visits[resource].search == multi->search)
        return;
    multi->visits[resource].search = multi->search;
    multi->visits[resource].from = from;
    multi->visits[resource].holder = holder;
    multi->visits[search->visited++].queue = resource;
}

/* Makes the path that the search took the new witnesses. */
static void keep_way(struct sparse *sparse, uint32_t resource, uint32_t holder)
{
    while (resource != NONE) {
        sparse->graph->resources_more[resource].witness = holder;
        const struct multi_visit *visit_of = &sparse->multi.visits[resource];
        holder = visit_of->holder;
        resource = visit_of->from;
    }
}

/* Searches breadth first from `resource` for a running process. */
static bool search_sink(struct sparse *sparse, struct search *search, uint32_t requester,
                        uint32_t resource)
{
    const struct rag *graph = sparse->graph;
    start_search(&sparse->multi);
    visit_resource(sparse, search, resource, NONE, NONE);
    for (uint32_t i = 0; i < search->visited; i++) {
        uint32_t at = sparse->multi.visits[i].queue;
        struct rag_edge edge;
        for (uint32_t ref = rag_first_holder(graph, at); ref != NONE; ref = edge.next) {
            edge = rag_holder(graph, ref);
            if (!rag_waits(graph, edge.process)) {
                keep_way(sparse, at, edge.process);
                return true;
            }
            if (edge.process == requester)
                search->met_requester = true;
            else if (!is_marked_dead(sparse, edge.process))
                visit_resource(sparse, search, graph->wait[edge.process], at, edge.process);
        }
    }
    return false;
}

static gordian_outcome multi_block(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    uint32_t resource = sparse->graph->wait[process];
    sparse->graph->processes_more[process].mark = 0; /* an old mark does not make it dead */
    if (follow_witnesses(sparse, process, resource))
        return GORDIAN_OUTCOME_BLOCKED;
    struct search search = {0};
    if (search_sink(sparse, &search, process, resource))
        return GORDIAN_OUTCOME_BLOCKED;
    /* Every process that the search met, and the requester, can never run again. */
    struct rag *graph = sparse->graph;
    graph->processes_more[process].mark = sparse->multi.dead_stamp;
    for (uint32_t i = 0; i < search.visited; i++) {
        struct rag_edge edge;
        uint32_t ref = rag_first_holder(graph, sparse->multi.visits[i].queue);
        for (; ref != NONE; ref = edge.next) {
            edge = rag_holder(graph, ref);
            graph->processes_more[edge.process].mark = sparse->multi.dead_stamp;
        }
    }
    /* A newcomer could still have been served through the requester, while that ran. */
    return search.met_requester ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_DOOMED;
}

static void multi_grant(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct sparse *sparse = engine;
    (void)units;
    sparse->graph->resources_more[resource].witness = process;
}

static void multi_release(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct sparse *sparse = engine;
    (void)units;
    if (sparse->graph->resources_more[resource].witness == process)
        sparse->graph->resources_more[resource].witness = NONE;
}

static void multi_serve(void *engine, uint32_t process, uint32_t from, const gordian_want *wants,
                        size_t count)
{
    (void)from;
    for (size_t i = 0; i < count; i++)
        multi_grant(engine, process, wants[i].resource, wants[i].units);
}

static void multi_cancel(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    if (!is_marked_dead(sparse, process))
        return;
    /* The process runs again, and so may others: forget which are dead. */
    if (++sparse->multi.dead_stamp == 0) {
        for (uint32_t p = 0; p < sparse->graph->process_limit; p++)
            sparse->graph->processes_more[p].mark = 0;
        sparse->multi.dead_stamp = 1;
    }
}

/* Collects the processes from which no running process can be reached. Walks backwards from the
 * running ones: marking a resource marks all its waiters. */
static gordian_status multi_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    struct sparse *sparse = engine;
    const struct rag *graph = sparse->graph;
    struct search search = {0};
    (void)error;
    start_search(&sparse->multi);
    struct rag_edge edge;
    for (uint32_t p = 0; p < graph->process_limit; p++) {
        if (rag_waits(graph, p)) {
            bits_set(set, p);
            continue;
        }
        if (!rag_is_process(graph, p))
            continue;
        for (uint32_t ref = graph->processes[p].held; ref != NONE; ref = edge.next) {
            edge = rag_held(graph, ref);
            visit_resource(sparse, &search, edge.resource, NONE, NONE);
        }
    }
    for (uint32_t i = 0; i < search.visited; i++) {
        uint32_t queue = graph->resources[sparse->multi.visits[i].queue].queue_head;
        for (struct rag_edge waiter; queue != NONE; queue = waiter.next) {
            waiter = rag_queued(graph, queue);
            bits_clear(set, waiter.process);
            for (uint32_t ref = graph->processes[waiter.process].held; ref != NONE;
                 ref = edge.next) {
                edge = rag_held(graph, ref);
                visit_resource(sparse, &search, edge.resource, NONE, NONE);
            }
        }
    }
    return GORDIAN_OK;
}

const struct detect_engine sparse_multi = {
    .block = multi_block,
    .grant = multi_grant,
    .release = multi_release,
    .serve = multi_serve,
    .cancel = multi_cancel,
    .deadlocked = multi_deadlocked,
};
