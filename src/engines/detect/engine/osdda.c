/*
 * OSDDA: deadlock detection in single-unit systems.
 *
 * A resource has one holder and a process waits for one resource, so one path leads from every
 * resource. It ends in a running process (the sink) or in a cycle. A running process is the end of
 * every path that leads to it. When it blocks, the path of the resource it waits for is appended to
 * all these paths. When it is served, the appended path is removed again.
 *
 * The papers stop at the first deadlock. Here deadlocks stay: rows that lead into a cycle have no
 * sink. A wait may also end in the middle of a path.
 */
#include "engines/detect/engine/matrix.h"

static size_t osdda_process_words(const struct matrix_engine *e)
{
    return matrix_words(e->rag->process_limit);
}

static size_t osdda_resource_words(const struct matrix_engine *e)
{
    return matrix_words(e->rag->resource_limit);
}

/* ------------------------------------------------------------------ events */

/* Moves the end of row's path from one process to another; NONE: into a cycle. A row of Sink has at
 * most one bit, so this is the papers' Sink[row] = Sink[other]. */
static void move_sink(struct matrix_engine *e, uint32_t row, uint32_t from, uint32_t to)
{
    if (from != NONE)
        bit_clear(&e->sink, row, from);
    if (to != NONE)
        bit_set(&e->sink, row, to);
}

/* Appends the path of `next` to the path of `row`, which ends in `process`. */
static void append_row_path(struct matrix_engine *e, uint32_t row, uint32_t process, uint32_t next,
                            uint32_t next_sink)
{
    move_sink(e, row, process, next_sink);
    if (row == next) /* the path has closed into a cycle: nothing is missing */
        return;
    row_or(bit_row(&e->rr, row), bit_row(&e->rr, next), osdda_resource_words(e));
    row_or(bit_row(&e->rp, row), bit_row(&e->rp, next), osdda_process_words(e));
}

static void osdda_grant(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct matrix_engine *e = engine;
    (void)units; /* always one */
    bit_set(&e->ag, resource, process);
    bit_set(&e->sink, resource, process);
    bit_set(&e->rp, resource, process);
}

static gordian_outcome osdda_block(void *engine, uint32_t process)
{
    struct matrix_engine *e = engine;
    uint32_t wanted = e->rag->wait[process];
    uint32_t sink = row_only_bit(bit_row(&e->sink, wanted), osdda_process_words(e));

    gordian_outcome outcome = GORDIAN_OUTCOME_BLOCKED;
    if (sink == process)
        outcome = GORDIAN_OUTCOME_DEADLOCK;
    else if (sink == NONE)
        outcome = GORDIAN_OUTCOME_DOOMED;

    bit_set(&e->ar, process, wanted);
    if (e->rag->processes[process].held == NONE)
        return outcome; /* no path leads to a process that holds nothing */
    uint32_t end = outcome == GORDIAN_OUTCOME_BLOCKED ? sink : NONE;
    for (uint32_t row = 0; row < e->rag->resource_limit; row++)
        if (bit_get(&e->sink, row, process))
            append_row_path(e, row, process, wanted, end);
    return outcome;
}

static void osdda_release(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct matrix_engine *e = engine;
    (void)units;
    e->releaser = process;
    e->released[e->released_count++] = resource;
}

/* Together with the release before it, this is the papers' "released, p_t waits". */
static void osdda_serve(void *engine, uint32_t process, uint32_t from, const gordian_want *wants,
                        size_t count)
{
    struct matrix_engine *e = engine;
    (void)count; /* always one in a single-unit system */
    uint32_t resource = wants[0].resource;
    bit_clear(&e->ag, resource, from);
    bit_clear(&e->ar, process, resource);
    bit_set(&e->ag, resource, process);
    for (uint32_t row = 0; row < e->rag->resource_limit; row++) {
        if (!bit_get(&e->rr, row, resource))
            continue;
        move_sink(e, row, from, process);
        bit_clear(&e->rp, row, from);
        if (bit_get(&e->rp, row, process))
            bit_clear(&e->rr, row, resource); /* it led through the process to the resource */
        else
            bit_set(&e->rp, row, process);
    }
}

/* Clears what was released without a waiter. Only its own row has it. */
static void osdda_settle(void *engine)
{
    struct matrix_engine *e = engine;
    while (e->released_count) {
        uint32_t resource = e->released[--e->released_count];
        if (!bit_get(&e->ag, resource, e->releaser))
            continue;
        bit_clear(&e->ag, resource, e->releaser);
        bit_clear(&e->sink, resource, e->releaser);
        bit_clear(&e->rp, resource, e->releaser);
    }
}

/* ------------------------------------------------------------------ a wait that ends without a
 * grant */

/* Makes the rows of everything that `process` holds. Their paths continue as `next` does (NONE:
 * they end here) and end at `root`. */
static uint32_t make_held_rows(struct matrix_engine *e, uint32_t process, uint32_t next,
                               uint32_t root, uint32_t count)
{
    struct rag_edge held;
    for (uint32_t ref = e->rag->processes[process].held; ref != NONE; ref = held.next) {
        held = rag_held(e->rag, ref);
        uint32_t row = held.resource;
        if (next == NONE) {
            row_zero(bit_row(&e->rr, row), osdda_resource_words(e));
            row_zero(bit_row(&e->rp, row), osdda_process_words(e));
        } else {
            row_copy(bit_row(&e->rr, row), bit_row(&e->rr, next), osdda_resource_words(e));
            row_copy(bit_row(&e->rp, row), bit_row(&e->rp, next), osdda_process_words(e));
        }
        bit_set(&e->rr, row, row);
        bit_set(&e->rp, row, process);
        bit_set(&e->sink, row, root);
        e->todo[count++] = row;
    }
    return count;
}

static void osdda_cancel(void *engine, uint32_t process)
{
    struct matrix_engine *e = engine;
    uint32_t wanted = e->rag->wait[process];
    bit_clear(&e->ar, process, wanted);
    if (e->rag->processes[process].held == NONE)
        return;
    if (bit_get(&e->rp, wanted, process)) { /* on a cycle, which opens: there is no common tail */
        /* Recomputes every row that leads to `root`, backwards from it. Without its wait they form
         * a tree, so each row is its successor's plus one step. */
        uint32_t count = make_held_rows(e, process, NONE, process, 0);
        while (count) {
            uint32_t next = e->todo[--count];
            struct rag_edge queued;
            for (uint32_t ref = e->rag->resources[next].queue_head; ref != NONE;
                 ref = queued.next) {
                queued = rag_queued(e->rag, ref);
                if (queued.process != process) /* its wait is still in the graph */
                    count = make_held_rows(e, queued.process, next, process, count);
            }
        }
        return;
    }
    uint32_t sink = row_only_bit(bit_row(&e->sink, wanted), osdda_process_words(e));
    for (uint32_t row = 0; row < e->rag->resource_limit; row++) {
        if (!bit_get(&e->rp, row, process))
            continue;
        move_sink(e, row, sink, process);
        row_subtract(bit_row(&e->rr, row), bit_row(&e->rr, wanted), osdda_resource_words(e));
        row_subtract(bit_row(&e->rp, row), bit_row(&e->rp, wanted), osdda_process_words(e));
    }
}

/* ------------------------------------------------------------------ the rest */

static gordian_status osdda_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    const struct matrix_engine *e = engine;
    (void)error;
    for (uint32_t p = 0; p < e->rag->process_limit; p++) {
        if (!rag_is_process(e->rag, p) || !rag_waits(e->rag, p))
            continue;
        uint32_t wanted = e->rag->wait[p];
        if (row_is_zero(bit_row(&e->sink, wanted), osdda_process_words(e)))
            bits_set(set, p);
    }
    return GORDIAN_OK;
}

void matrix_read_osdda(struct matrix_engine *e)
{
    const struct rag *rag = e->rag;
    for (uint32_t q = 0; q < rag->resource_limit; q++)
        if (rag_is_resource(rag, q) && rag->holder[q] != NONE)
            osdda_grant(e, rag->holder[q], q, 1);
    for (uint32_t p = 0; p < rag->process_limit; p++)
        if (rag_is_process(rag, p) && rag_waits(rag, p))
            osdda_block(e, p);
}

const struct detect_engine matrix_osdda = {
    .grant = osdda_grant,
    .block = osdda_block,
    .release = osdda_release,
    .serve = osdda_serve,
    .cancel = osdda_cancel,
    .settle = osdda_settle,
    .deadlocked = osdda_deadlocked,
};
