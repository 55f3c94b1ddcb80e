/*
 * LMDDA: detection in multi-unit systems.
 *
 * A process that waits for one unit of q can still be served as long as q leads to one
 * that runs; RP says where q leads, SP who runs. A grant adds a bit and a block joins
 * rows. Taking an edge away is the hard part: another path may lead to the same
 * place, so RP is made anew, once an event, by node hopping: from the grants on,
 * RP |= RP . AR . RP (boolean products), which doubles the length of the paths
 * known, until nothing changes.
 */
#include "engines/detect/engine/matrix.h"

struct lmdda {
    const struct rag *rag;
    uint32_t process_room, resource_room;
    struct bit_matrix ag; /* counts: a word for every process */
    struct bit_matrix ar, rp;
    struct bit_matrix sp;   /* one row */
    struct bit_matrix hops; /* one row: the resources a row's processes wait for */
    bool stale;             /* an edge has gone in this event: RP has to be made anew */
};

static size_t lmdda_words(const struct lmdda *l)
{
    return matrix_words(l->rag->process_limit);
}

static uint64_t *running_row(const struct lmdda *l)
{
    return bit_row(&l->sp, 0);
}

static uint64_t *units_cell(const struct lmdda *l, uint32_t process, uint32_t resource)
{
    return bit_row(&l->ag, resource) + process;
}

/* ------------------------------------------------------------------ storage */

static void free_lmdda_matrices(struct lmdda *l)
{
    const gordian_allocator *memory = &l->rag->memory;
    bit_matrix_close(&l->ag, memory);
    bit_matrix_close(&l->ar, memory);
    bit_matrix_close(&l->rp, memory);
    bit_matrix_close(&l->sp, memory);
    bit_matrix_close(&l->hops, memory);
}

/* No edges, everybody runs; on failure nothing is left. */
static bool allocate_lmdda_matrices(struct lmdda *l)
{
    const gordian_allocator *memory = &l->rag->memory;
    size_t across_processes = matrix_words(l->process_room);
    size_t across_resources = matrix_words(l->resource_room);
    if (bit_matrix_open(&l->ag, memory, l->resource_room, l->process_room) &&
        bit_matrix_open(&l->ar, memory, l->process_room, across_resources) &&
        bit_matrix_open(&l->rp, memory, l->resource_room, across_processes) &&
        bit_matrix_open(&l->sp, memory, 1, across_processes) &&
        bit_matrix_open(&l->hops, memory, 1, across_resources)) {
        for (uint32_t p = 0; p < l->process_room; p++)
            bits_set(running_row(l), p);
        return true;
    }
    free_lmdda_matrices(l);
    return false;
}

static bool lmdda_grow(void *state, uint32_t process_limit, uint32_t resource_limit)
{
    struct lmdda *l = state;
    if (process_limit <= l->process_room && resource_limit <= l->resource_room)
        return true;
    struct lmdda larger = {
        .rag = l->rag,
        .process_room = memory_doubled(l->process_room, process_limit),
        .resource_room = memory_doubled(l->resource_room, resource_limit),
    };
    if (!allocate_lmdda_matrices(&larger))
        return false;
    bit_matrix_copy(&larger.ag, &l->ag);
    bit_matrix_copy(&larger.ar, &l->ar);
    bit_matrix_copy(&larger.rp, &l->rp);
    for (uint32_t p = 0; p < l->process_room; p++)
        if (!bits_test(running_row(l), p))
            bits_clear(running_row(&larger), p);
    free_lmdda_matrices(l);
    *l = larger;
    return true;
}

/* ------------------------------------------------------------------ node hopping */

/* One row of RP . AR: what those wait for that the row reaches. False: none of them waits. */
static bool find_hops(struct lmdda *l, uint32_t row)
{
    const uint64_t *reached = bit_row(&l->rp, row), *running = running_row(l);
    uint64_t *hops = bit_row(&l->hops, 0);
    bool any = false;
    row_zero(hops, matrix_words(l->rag->resource_limit));
    for (size_t i = 0; i < lmdda_words(l); i++) {
        uint64_t waiting = reached[i] & ~running[i];
        any = any || waiting;
        for (; waiting; waiting &= waiting - 1) {
            size_t process = i * 64 + (size_t)__builtin_ctzll(waiting);
            bits_set(hops, l->rag->wait[process]); /* AR's row has this one bit */
        }
    }
    return any;
}

/* One row of RP |= (RP . AR) . RP; true if it has changed. */
static bool hop_row(struct lmdda *l, uint32_t row)
{
    if (!find_hops(l, row))
        return false;
    const uint64_t *hops = bit_row(&l->hops, 0);
    uint64_t *reached = bit_row(&l->rp, row);
    bool changed = false;
    for (size_t i = 0; i < matrix_words(l->rag->resource_limit); i++)
        for (uint64_t word = hops[i]; word; word &= word - 1) {
            uint32_t next = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(word));
            if (next != row && row_or_changes(reached, bit_row(&l->rp, next), lmdda_words(l)))
                changed = true;
        }
    return changed;
}

/* Rows are updated in place: what one row has found helps the next in the same round. */
static void recompute_reach(struct lmdda *l)
{
    /* RP = AG: what one step reaches. */
    for (uint32_t row = 0; row < l->rag->resource_limit; row++) {
        row_zero(bit_row(&l->rp, row), lmdda_words(l));
        if (!rag_is_resource(l->rag, row))
            continue;
        struct rag_edge holder;
        for (uint32_t ref = rag_first_holder(l->rag, row); ref != NONE; ref = holder.next) {
            holder = rag_holder(l->rag, ref);
            bit_set(&l->rp, row, holder.process);
        }
    }
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t row = 0; row < l->rag->resource_limit; row++)
            if (hop_row(l, row))
                changed = true;
    }
}

/* ------------------------------------------------------------------ events */

static void lmdda_grant(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct lmdda *l = matrix_state(engine);
    *units_cell(l, process, resource) += units;
    bit_set(&l->rp, resource, process);
}

static bool leads_to_one_that_runs(const struct lmdda *l, uint32_t resource)
{
    return row_meets(bit_row(&l->rp, resource), running_row(l), lmdda_words(l));
}

static gordian_outcome lmdda_block(void *engine, uint32_t process)
{
    struct lmdda *l = matrix_state(engine);
    uint32_t wanted = l->rag->wait[process];
    bit_set(&l->ar, process, wanted);
    bits_clear(running_row(l), process);

    gordian_outcome outcome = GORDIAN_OUTCOME_BLOCKED;
    if (!leads_to_one_that_runs(l, wanted)) /* was it the last one that did? */
        outcome =
            bit_get(&l->rp, wanted, process) ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_DOOMED;

    if (l->rag->processes[process].held == NONE)
        return outcome; /* nothing leads to one that holds nothing */
    for (uint32_t row = 0; row < l->rag->resource_limit; row++)
        if (row != wanted && bit_get(&l->rp, row, process))
            row_or(bit_row(&l->rp, row), bit_row(&l->rp, wanted), lmdda_words(l));
    return outcome;
}

static void lmdda_release(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct lmdda *l = matrix_state(engine);
    uint64_t *held = units_cell(l, process, resource);
    *held -= units;
    if (*held == 0)
        l->stale = true;
}

static void lmdda_serve(void *engine, uint32_t process, uint32_t from, const gordian_want *wants,
                        size_t count)
{
    struct lmdda *l = matrix_state(engine);
    (void)from;
    for (size_t i = 0; i < count; i++) {
        *units_cell(l, process, wants[i].resource) += wants[i].units;
        bit_clear(&l->ar, process, wants[i].resource);
    }
    bits_set(running_row(l), process);
    l->stale = true;
}

static void lmdda_cancel(void *engine, uint32_t process)
{
    struct lmdda *l = matrix_state(engine);
    bit_clear(&l->ar, process, l->rag->wait[process]);
    bits_set(running_row(l), process);
    l->stale = true;
}

static void lmdda_settle(void *engine)
{
    struct lmdda *l = matrix_state(engine);
    if (l->stale)
        recompute_reach(l);
    l->stale = false;
}

/* ------------------------------------------------------------------ the rest */

static gordian_status lmdda_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    const struct lmdda *l = matrix_state(engine);
    (void)error;
    for (uint32_t p = 0; l && p < l->rag->process_limit; p++)
        if (rag_is_process(l->rag, p) && rag_waits(l->rag, p) &&
            !leads_to_one_that_runs(l, l->rag->wait[p]))
            bits_set(set, p);
    return GORDIAN_OK;
}

static const struct bit_matrix *lmdda_matrix(const void *state, gordian_matrix which, bool *counts)
{
    const struct lmdda *l = state;
    *counts = which == GORDIAN_MATRIX_AG;
    switch (which) {
    case GORDIAN_MATRIX_AG:
        return &l->ag;
    case GORDIAN_MATRIX_AR:
        return &l->ar;
    case GORDIAN_MATRIX_RP:
        return &l->rp;
    case GORDIAN_MATRIX_SINK:
    case GORDIAN_MATRIX_RR:
        break;
    }
    return NULL;
}

static void lmdda_close(void *state)
{
    struct lmdda *l = state;
    free_lmdda_matrices(l);
    memory_free(&l->rag->memory, l);
}

/* The edges as the graph has them; RP follows from them. */
static void read_graph(struct lmdda *l)
{
    const struct rag *rag = l->rag;
    for (uint32_t p = 0; p < rag->process_limit; p++) {
        if (!rag_is_process(rag, p))
            continue;
        struct rag_edge held;
        for (uint32_t ref = rag->processes[p].held; ref != NONE; ref = held.next) {
            held = rag_held(rag, ref);
            *units_cell(l, p, held.resource) = held.units;
        }
        if (rag_waits(rag, p)) {
            bit_set(&l->ar, p, rag->wait[p]);
            bits_clear(running_row(l), p);
        }
    }
    recompute_reach(l);
}

static void *lmdda_open(const struct rag *rag, uint32_t process_limit, uint32_t resource_limit)
{
    struct lmdda *l = memory_alloc(&rag->memory, sizeof *l);
    if (!l)
        return NULL;
    *l = (struct lmdda){.rag = rag,
                        .process_room = memory_doubled(0, process_limit),
                        .resource_room = memory_doubled(0, resource_limit)};
    if (!allocate_lmdda_matrices(l)) {
        memory_free(&rag->memory, l);
        return NULL;
    }
    read_graph(l);
    return l;
}

const struct matrix_method matrix_lmdda = {
    .open = lmdda_open,
    .close = lmdda_close,
    .grow = lmdda_grow,
    .hooks =
        {
            .grant = lmdda_grant,
            .block = lmdda_block,
            .release = lmdda_release,
            .serve = lmdda_serve,
            .cancel = lmdda_cancel,
            .settle = lmdda_settle,
            .deadlocked = lmdda_deadlocked,
        },
    .matrix = lmdda_matrix,
};
