/* One-unit resources: a request that must wait closes a deadlock if and only if
 * the chain of waiting processes ahead of it ends at the requester itself. */
#include "base/bits.h"
#include "detect/sparse.h"

/* `depth` of a running process: about how many processes wait behind it, one behind
 * the other. Only an estimate, to choose the way to work: it is forgotten whenever the process
 * hands something over, and may be stale. */
static void deepen(struct sparse *sparse, uint32_t process, uint32_t hops, uint32_t end,
                   uint32_t last)
{
    struct rag_process *processes = sparse->graph->processes;
    uint32_t depth = processes[process].depth + hops;
    if (depth <= processes[end].depth || depth > RAG_ID_MAX)
        return;
    processes[end].depth = depth;
    processes[end].back = last;
}

/* The requester waits, with a long path behind it, or so it seems. */
static void join(struct sparse *sparse, uint32_t process)
{
    if (rag_has_waiters(sparse->graph, process))
        path_join(&sparse->paths, process);
    else
        sparse->graph->processes[process].depth = 0;
}

static gordian_outcome close_cycle(struct sparse *sparse, uint32_t process)
{
    sparse->graph->processes[process].depth = PATH_CLOSING;
    sparse->standing++;
    return GORDIAN_DEADLOCK;
}

static gordian_outcome wait_behind(struct sparse *sparse, uint32_t process, uint32_t hops,
                                   uint32_t end, uint32_t last)
{
    deepen(sparse, process, hops, end, last);
    if (sparse->graph->processes[process].depth >= PATH_SHORT)
        join(sparse, process);
    return GORDIAN_BLOCKED;
}

/* The chain is long, or leads into an old deadlock. */
static gordian_outcome block_far(struct sparse *sparse, uint32_t process, uint32_t from)
{
    uint32_t last, end = path_end(&sparse->paths, from, process, &last);
    if (end == process)
        return close_cycle(sparse, process);
    if (rag_waits(sparse->graph, end))
        return GORDIAN_DOOMED;
    /* A jump may have led to `last` or over it; path_join looks whether it waits for `end`. */
    return wait_behind(sparse, process, 2 * PATH_SHORT, end, last);
}

static gordian_outcome single_block(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    const struct rag_process *processes = sparse->graph->processes;
    const struct rag_resource *resources = sparse->graph->resources;
    uint32_t last, at = process;
    for (uint32_t hops = 1; hops <= PATH_SHORT; hops++) {
        last = at;
        at = resources[processes[at].wait].holder;
        if (at == process)
            return close_cycle(sparse, process);
        if (processes[at].wait == NONE)
            return wait_behind(sparse, process, hops, at, last);
    }
    return block_far(sparse, process, at);
}

/* Ends the standing deadlock that `process` is part of, if its wait is on the cycle. */
static void open_cycle(struct sparse *sparse, uint32_t process)
{
    struct rag *graph = sparse->graph;
    uint32_t last, closing = path_end(&sparse->paths, process, NONE, &last);
    if (!rag_waits(graph, closing))
        return;
    uint32_t at = closing;
    do {
        if (at == process) {
            graph->processes[closing].depth = PATH_SHORT; /* look again */
            sparse->standing--;
            return;
        }
        at = graph->resources[graph->processes[at].wait].holder;
    } while (at != closing);
}

static void single_cancel(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    bool closing = sparse->graph->processes[process].depth == PATH_CLOSING;
    if (sparse->standing)
        open_cycle(sparse, process);
    path_forget(&sparse->paths, process);
    /* No pointer leads across the one that closed a deadlock: walks end there. */
    if (!closing && rag_has_waiters(sparse->graph, process))
        path_break(&sparse->paths);
}

static void single_awake(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    path_forget(&sparse->paths, process);
}

/* Every process whose path ends in one that closed a deadlock. */
static gordian_status single_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    struct sparse *sparse = engine;
    const struct rag *graph = sparse->graph;
    (void)error;
    if (sparse->standing == 0)
        return GORDIAN_OK;
    uint32_t last;
    for (uint32_t p = 0; p < graph->process_limit; p++)
        if (rag_waits(graph, p) && rag_waits(graph, path_end(&sparse->paths, p, NONE, &last)))
            bits_set(set, p);
    return GORDIAN_OK;
}

const struct detect_engine sparse_single = {
    .block = single_block,
    .awake = single_awake,
    .cancel = single_cancel,
    .deadlocked = single_deadlocked,
};
