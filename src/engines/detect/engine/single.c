/* One-unit resources: a request that must wait closes a deadlock if and only if the chain of
 * waiting processes ahead of it ends at the requester. */
#include "engines/detect/engine/sparse.h"
#include "foundation/base/bits.h"

static gordian_outcome wait_behind(struct sparse *sparse, uint32_t process)
{
    if (path_has_height(process))
        path_join(&sparse->paths, process);
    return GORDIAN_OUTCOME_BLOCKED;
}

/* The fast path (fast_path.c) does the first step itself and comes here only for the rest. */
static gordian_outcome single_block(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    const struct rag *graph = sparse->graph;
    uint32_t next = path_next(graph, process);
    if (path_is_short(graph->wait, graph->holder, next, process))
        return wait_behind(sparse, process);
    uint32_t end = path_end(&sparse->paths, next, process);
    if (end == process) {
        sparse->graph->processes_more[process].mark = PATH_CLOSING;
        sparse->paths.closing++;
        return GORDIAN_OUTCOME_DEADLOCK;
    }
    return rag_waits(graph, end) ? GORDIAN_OUTCOME_DOOMED : wait_behind(sparse, process);
}

/* Ends the deadlock that `process` is part of, if its wait is on the cycle. No pointer leads to it
 * or over it, so a walk around the cycle meets it and stops there. */
static void open_cycle(struct sparse *sparse, uint32_t process)
{
    struct rag *graph = sparse->graph;
    uint32_t closing = process;
    if (graph->processes_more[process].mark != PATH_CLOSING) {
        closing = path_end(&sparse->paths, path_next(graph, process), NONE);
        if (!rag_waits(graph, closing) ||
            path_end(&sparse->paths, path_next(graph, closing), process) != process)
            return; /* there is no deadlock, or the process waits behind the cycle */
    }
    graph->processes_more[closing].mark = 0;
    sparse->paths.closing--;
    graph->opened = closing;
}

static void single_cancel(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    bool closing = sparse->graph->processes_more[process].mark == PATH_CLOSING;
    /* No pointer leads over the process that closed a deadlock: walks end there. */
    if (!closing && rag_has_waiters(sparse->graph, process))
        path_break(&sparse->paths, process);
    path_forget(&sparse->paths, process);
    if (sparse->paths.closing)
        open_cycle(sparse, process);
}

static void single_awake(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    path_forget(&sparse->paths, process);
}

/* Collects every process whose path ends in one that closed a deadlock. */
static gordian_status single_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    struct sparse *sparse = engine;
    const struct rag *graph = sparse->graph;
    (void)error;
    if (sparse->paths.closing == 0)
        return GORDIAN_OK;
    for (uint32_t p = 0; p < graph->process_limit; p++)
        if (rag_waits(graph, p) && rag_waits(graph, path_end(&sparse->paths, p, NONE)))
            bits_set(set, p);
    return GORDIAN_OK;
}

static uint32_t single_closed_by(void *engine, uint32_t process)
{
    struct sparse *sparse = engine;
    if (sparse->paths.closing == 0)
        return NONE;
    uint32_t end = path_end(&sparse->paths, process, NONE);
    return rag_waits(sparse->graph, end) ? end : NONE;
}

const struct detect_engine sparse_single = {
    .block = single_block,
    .awake = single_awake,
    .cancel = single_cancel,
    .deadlocked = single_deadlocked,
    .closed_by = single_closed_by,
};
