/*
 * LMDDA: deadlock detection in multi-unit systems.
 *
 * A process that waits for one unit of q can still be served while q leads to a running process. RP
 * has the processes that q leads to, SP the running ones. A grant adds a bit and a block joins
 * rows. Removing an edge is the hard part, because another path may lead to the same place. So RP
 * is recomputed once an event, by node hopping: starting from the grants, RP |= RP . AR . RP
 * (boolean products) doubles the length of the known paths until nothing changes.
 */
#include "engines/detect/engine/matrix.h"

static size_t lmdda_words(const struct matrix_engine *e)
{
    return matrix_words(e->rag->process_limit);
}

static uint64_t *running_row(const struct matrix_engine *e)
{
    return e->running.words;
}

static uint64_t *units_cell(const struct matrix_engine *e, uint32_t process, uint32_t resource)
{
    return bit_row(&e->ag, resource) + process;
}

/* ------------------------------------------------------------------ node hopping */

/* Computes one row of RP . AR: the resources that the processes of the row wait for. Returns false
 * if none of them waits. */
static bool find_hops(struct matrix_engine *e, uint32_t row)
{
    const uint64_t *reached = bit_row(&e->rp, row), *running = running_row(e);
    uint64_t *hops = e->hops.words;
    bool any = false;
    row_zero(hops, matrix_words(e->rag->resource_limit));
    for (size_t i = 0; i < lmdda_words(e); i++) {
        uint64_t waiting = reached[i] & ~running[i];
        any = any || waiting;
        for (; waiting; waiting &= waiting - 1) {
            size_t process = i * 64 + (size_t)__builtin_ctzll(waiting);
            bits_set(hops, e->rag->wait[process]); /* AR's row has only this bit */
        }
    }
    return any;
}

/* Computes one row of RP |= (RP . AR) . RP. Returns true if it has changed. */
static bool hop_row(struct matrix_engine *e, uint32_t row)
{
    if (!find_hops(e, row))
        return false;
    const uint64_t *hops = e->hops.words;
    uint64_t *reached = bit_row(&e->rp, row);
    bool changed = false;
    for (size_t i = 0; i < matrix_words(e->rag->resource_limit); i++)
        for (uint64_t word = hops[i]; word; word &= word - 1) {
            uint32_t next = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(word));
            if (next != row && row_or_changes(reached, bit_row(&e->rp, next), lmdda_words(e)))
                changed = true;
        }
    return changed;
}

/* Recomputes RP if an edge was removed. Rows are updated in place, so a row benefits from the rows
 * before it in the same round. */
static void lmdda_settle(void *engine)
{
    struct matrix_engine *e = engine;
    if (!e->stale)
        return;
    /* RP = AG: what can be reached in one step. */
    for (uint32_t row = 0; row < e->rag->resource_limit; row++) {
        row_zero(bit_row(&e->rp, row), lmdda_words(e));
        if (!rag_is_resource(e->rag, row))
            continue;
        struct rag_edge holder;
        for (uint32_t ref = rag_first_holder(e->rag, row); ref != NONE; ref = holder.next) {
            holder = rag_holder(e->rag, ref);
            bit_set(&e->rp, row, holder.process);
        }
    }
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t row = 0; row < e->rag->resource_limit; row++)
            if (hop_row(e, row))
                changed = true;
    }
    e->stale = false;
}

/* ------------------------------------------------------------------ events */

static void lmdda_grant(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct matrix_engine *e = engine;
    *units_cell(e, process, resource) += units;
    bit_set(&e->rp, resource, process);
}

static bool leads_to_one_that_runs(const struct matrix_engine *e, uint32_t resource)
{
    return row_meets(bit_row(&e->rp, resource), running_row(e), lmdda_words(e));
}

static gordian_outcome lmdda_block(void *engine, uint32_t process)
{
    struct matrix_engine *e = engine;
    uint32_t wanted = e->rag->wait[process];
    bit_set(&e->ar, process, wanted);
    bits_clear(running_row(e), process);

    gordian_outcome outcome = GORDIAN_OUTCOME_BLOCKED;
    if (!leads_to_one_that_runs(e, wanted)) /* it may have been the last one that did */
        outcome =
            bit_get(&e->rp, wanted, process) ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_DOOMED;

    if (e->rag->processes[process].held == NONE)
        return outcome; /* nothing leads to a process that holds nothing */
    for (uint32_t row = 0; row < e->rag->resource_limit; row++)
        if (row != wanted && bit_get(&e->rp, row, process))
            row_or(bit_row(&e->rp, row), bit_row(&e->rp, wanted), lmdda_words(e));
    return outcome;
}

static void lmdda_release(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct matrix_engine *e = engine;
    uint64_t *held = units_cell(e, process, resource);
    *held -= units;
    if (*held == 0)
        e->stale = true;
}

static void lmdda_serve(void *engine, uint32_t process, uint32_t from, const gordian_want *wants,
                        size_t count)
{
    struct matrix_engine *e = engine;
    (void)from;
    for (size_t i = 0; i < count; i++) {
        *units_cell(e, process, wants[i].resource) += wants[i].units;
        bit_clear(&e->ar, process, wants[i].resource);
    }
    bits_set(running_row(e), process);
    e->stale = true;
}

static void lmdda_cancel(void *engine, uint32_t process)
{
    struct matrix_engine *e = engine;
    bit_clear(&e->ar, process, e->rag->wait[process]);
    bits_set(running_row(e), process);
    e->stale = true;
}

/* ------------------------------------------------------------------ the rest */

static gordian_status lmdda_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    const struct matrix_engine *e = engine;
    (void)error;
    for (uint32_t p = 0; p < e->rag->process_limit; p++)
        if (rag_is_process(e->rag, p) && rag_waits(e->rag, p) &&
            !leads_to_one_that_runs(e, e->rag->wait[p]))
            bits_set(set, p);
    return GORDIAN_OK;
}

/* Copies the edges from the graph and computes RP from them. */
void matrix_read_lmdda(struct matrix_engine *e)
{
    const struct rag *rag = e->rag;
    for (uint32_t p = 0; p < rag->process_limit; p++) {
        if (!rag_is_process(rag, p))
            continue;
        struct rag_edge held;
        for (uint32_t ref = rag->processes[p].held; ref != NONE; ref = held.next) {
            held = rag_held(rag, ref);
            *units_cell(e, p, held.resource) = held.units;
        }
        if (rag_waits(rag, p)) {
            bit_set(&e->ar, p, rag->wait[p]);
            bits_clear(running_row(e), p);
        }
    }
    e->stale = true;
    lmdda_settle(e);
}

const struct detect_engine matrix_lmdda = {
    .grant = lmdda_grant,
    .block = lmdda_block,
    .release = lmdda_release,
    .serve = lmdda_serve,
    .cancel = lmdda_cancel,
    .settle = lmdda_settle,
    .deadlocked = lmdda_deadlocked,
};
