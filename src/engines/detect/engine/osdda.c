/*
 * OSDDA: detection in single-unit systems.
 *
 * A resource has one holder and a process waits for one resource, so from every
 * resource there is one path, and it ends in a process that runs (the sink), or
 * in a cycle. A process that blocks is itself the end of every path that leads
 * to it, so blocking appends the path of the resource it waits for to all of
 * those; serving it cuts them off again.
 *
 * The papers stop at the first deadlock. Here it stays: rows that lead into a cycle
 * have no sink. And a wait may be given up in the middle of a path.
 */
#include "engines/detect/engine/matrix.h"

struct osdda {
    const struct rag *rag;
    uint32_t process_room, resource_room;
    struct bit_matrix ag, ar, sink, rr, rp;

    uint32_t *todo; /* room for every resource: see trace_back */

    /* What the current event has given back, by whom: serve takes it, settle clears the rest. */
    uint32_t *released;
    uint32_t released_count, releaser;
};

static size_t osdda_process_words(const struct osdda *o)
{
    return matrix_words(o->rag->process_limit);
}

static size_t osdda_resource_words(const struct osdda *o)
{
    return matrix_words(o->rag->resource_limit);
}

/* ------------------------------------------------------------------ storage */

static void free_osdda_matrices(struct osdda *o)
{
    const gordian_allocator *memory = &o->rag->memory;
    bit_matrix_close(&o->ag, memory);
    bit_matrix_close(&o->ar, memory);
    bit_matrix_close(&o->sink, memory);
    bit_matrix_close(&o->rr, memory);
    bit_matrix_close(&o->rp, memory);
    memory_free_all(memory, o->todo, o->released);
}

/* Empty matrices of the rooms given; on failure nothing is left. */
static bool allocate_osdda_matrices(struct osdda *o)
{
    const gordian_allocator *memory = &o->rag->memory;
    size_t across_processes = matrix_words(o->process_room);
    size_t across_resources = matrix_words(o->resource_room);
    o->todo = memory_alloc(memory, o->resource_room * sizeof *o->todo);
    o->released = memory_alloc(memory, o->resource_room * sizeof *o->released);
    if (o->todo && o->released &&
        bit_matrix_open(&o->ag, memory, o->resource_room, across_processes) &&
        bit_matrix_open(&o->ar, memory, o->process_room, across_resources) &&
        bit_matrix_open(&o->sink, memory, o->resource_room, across_processes) &&
        bit_matrix_open(&o->rr, memory, o->resource_room, across_resources) &&
        bit_matrix_open(&o->rp, memory, o->resource_room, across_processes)) {
        for (uint32_t q = 0; q < o->resource_room; q++)
            bit_set(&o->rr, q, q);
        return true;
    }
    free_osdda_matrices(o);
    return false;
}

static bool osdda_grow(void *state, uint32_t process_limit, uint32_t resource_limit)
{
    struct osdda *o = state;
    if (process_limit <= o->process_room && resource_limit <= o->resource_room)
        return true;
    struct osdda larger = {
        .rag = o->rag,
        .process_room = memory_doubled(o->process_room, process_limit),
        .resource_room = memory_doubled(o->resource_room, resource_limit),
    };
    if (!allocate_osdda_matrices(&larger))
        return false;
    bit_matrix_copy(&larger.ag, &o->ag);
    bit_matrix_copy(&larger.ar, &o->ar);
    bit_matrix_copy(&larger.sink, &o->sink);
    bit_matrix_copy(&larger.rr, &o->rr);
    bit_matrix_copy(&larger.rp, &o->rp);
    free_osdda_matrices(o);
    *o = larger;
    return true;
}

/* ------------------------------------------------------------------ events */

/* The end of row's path moves from one process to another; NONE: into a cycle. A sink's row
 * has one bit at most, so this is the papers' Sink[row] = Sink[other]. */
static void move_sink(struct osdda *o, uint32_t row, uint32_t from, uint32_t to)
{
    if (from != NONE)
        bit_clear(&o->sink, row, from);
    if (to != NONE)
        bit_set(&o->sink, row, to);
}

/* Puts the path of `next` behind that of `row`, which ends in `process`. */
static void append_row_path(struct osdda *o, uint32_t row, uint32_t process, uint32_t next,
                            uint32_t next_sink)
{
    move_sink(o, row, process, next_sink);
    if (row == next) /* the path has closed into a cycle: it is all there already */
        return;
    row_or(bit_row(&o->rr, row), bit_row(&o->rr, next), osdda_resource_words(o));
    row_or(bit_row(&o->rp, row), bit_row(&o->rp, next), osdda_process_words(o));
}

static void osdda_grant(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct osdda *o = matrix_state(engine);
    (void)units; /* there is one */
    bit_set(&o->ag, resource, process);
    bit_set(&o->sink, resource, process);
    bit_set(&o->rp, resource, process);
}

static gordian_outcome osdda_block(void *engine, uint32_t process)
{
    struct osdda *o = matrix_state(engine);
    uint32_t wanted = o->rag->wait[process];
    uint32_t sink = row_only_bit(bit_row(&o->sink, wanted), osdda_process_words(o));

    gordian_outcome outcome = GORDIAN_OUTCOME_BLOCKED;
    if (sink == process)
        outcome = GORDIAN_OUTCOME_DEADLOCK;
    else if (sink == NONE)
        outcome = GORDIAN_OUTCOME_DOOMED;

    bit_set(&o->ar, process, wanted);
    if (o->rag->processes[process].held == NONE)
        return outcome; /* no path leads to one that holds nothing */
    uint32_t end = outcome == GORDIAN_OUTCOME_BLOCKED ? sink : NONE;
    for (uint32_t row = 0; row < o->rag->resource_limit; row++)
        if (bit_get(&o->sink, row, process))
            append_row_path(o, row, process, wanted, end);
    return outcome;
}

static void osdda_release(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct osdda *o = matrix_state(engine);
    (void)units;
    o->releaser = process;
    o->released[o->released_count++] = resource;
}

/* Together with the release before it this is the papers' "released, p_t waits". */
static void osdda_serve(void *engine, uint32_t process, uint32_t from, const gordian_want *wants,
                        size_t count)
{
    struct osdda *o = matrix_state(engine);
    (void)count; /* in a single-unit system always one */
    uint32_t resource = wants[0].resource;
    bit_clear(&o->ag, resource, from);
    bit_clear(&o->ar, process, resource);
    bit_set(&o->ag, resource, process);
    for (uint32_t row = 0; row < o->rag->resource_limit; row++) {
        if (!bit_get(&o->rr, row, resource))
            continue;
        move_sink(o, row, from, process);
        bit_clear(&o->rp, row, from);
        if (bit_get(&o->rp, row, process))
            bit_clear(&o->rr, row, resource); /* led through the process to the resource */
        else
            bit_set(&o->rp, row, process);
    }
}

/* What was given back and nobody took: nobody waits for it, so only its own row knows it. */
static void osdda_settle(void *engine)
{
    struct osdda *o = matrix_state(engine);
    while (o && o->released_count) { /* an exit may come before there is any resource */
        uint32_t resource = o->released[--o->released_count];
        if (!bit_get(&o->ag, resource, o->releaser))
            continue;
        bit_clear(&o->ag, resource, o->releaser);
        bit_clear(&o->sink, resource, o->releaser);
        bit_clear(&o->rp, resource, o->releaser);
    }
}

/* ------------------------------------------------------------------ a wait given up */

/* Makes the rows of everything `process` holds: paths that go on as `next` does (NONE: that
 * end here), with `root` at the far end. */
static uint32_t lay_held(struct osdda *o, uint32_t process, uint32_t next, uint32_t root,
                         uint32_t count)
{
    struct rag_edge held;
    for (uint32_t ref = o->rag->processes[process].held; ref != NONE; ref = held.next) {
        held = rag_held(o->rag, ref);
        uint32_t row = held.resource;
        if (next == NONE) {
            row_zero(bit_row(&o->rr, row), osdda_resource_words(o));
            row_zero(bit_row(&o->rp, row), osdda_process_words(o));
        } else {
            row_copy(bit_row(&o->rr, row), bit_row(&o->rr, next), osdda_resource_words(o));
            row_copy(bit_row(&o->rp, row), bit_row(&o->rp, next), osdda_process_words(o));
        }
        bit_set(&o->rr, row, row);
        bit_set(&o->rp, row, process);
        bit_set(&o->sink, row, root);
        o->todo[count++] = row;
    }
    return count;
}

static void osdda_cancel(void *engine, uint32_t process)
{
    struct osdda *o = matrix_state(engine);
    uint32_t wanted = o->rag->wait[process];
    bit_clear(&o->ar, process, wanted);
    if (o->rag->processes[process].held == NONE)
        return;
    if (bit_get(&o->rp, wanted, process)) { /* on a cycle, which opens: no common tail */
        /* Makes every row that leads to `root` anew, backwards from it: once its wait is gone they
         * are a tree, so each row is its successor's and one step more. */
        uint32_t count = lay_held(o, process, NONE, process, 0);
        while (count) {
            uint32_t next = o->todo[--count];
            struct rag_edge queued;
            for (uint32_t ref = o->rag->resources[next].queue_head; ref != NONE;
                 ref = queued.next) {
                queued = rag_queued(o->rag, ref);
                if (queued.process != process) /* its wait is still in the graph */
                    count = lay_held(o, queued.process, next, process, count);
            }
        }
        return;
    }
    uint32_t sink = row_only_bit(bit_row(&o->sink, wanted), osdda_process_words(o));
    for (uint32_t row = 0; row < o->rag->resource_limit; row++) {
        if (!bit_get(&o->rp, row, process))
            continue;
        move_sink(o, row, sink, process);
        row_subtract(bit_row(&o->rr, row), bit_row(&o->rr, wanted), osdda_resource_words(o));
        row_subtract(bit_row(&o->rp, row), bit_row(&o->rp, wanted), osdda_process_words(o));
    }
}

/* ------------------------------------------------------------------ the rest */

static gordian_status osdda_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    const struct osdda *o = matrix_state(engine);
    (void)error;
    for (uint32_t p = 0; o && p < o->rag->process_limit; p++) {
        if (!rag_is_process(o->rag, p) || !rag_waits(o->rag, p))
            continue;
        uint32_t wanted = o->rag->wait[p];
        if (row_is_zero(bit_row(&o->sink, wanted), osdda_process_words(o)))
            bits_set(set, p);
    }
    return GORDIAN_OK;
}

static const struct bit_matrix *osdda_matrix(const void *state, gordian_matrix which, bool *counts)
{
    const struct osdda *o = state;
    *counts = false;
    switch (which) {
    case GORDIAN_MATRIX_AG:
        return &o->ag;
    case GORDIAN_MATRIX_AR:
        return &o->ar;
    case GORDIAN_MATRIX_SINK:
        return &o->sink;
    case GORDIAN_MATRIX_RR:
        return &o->rr;
    case GORDIAN_MATRIX_RP:
        return &o->rp;
    }
    return NULL;
}

static void osdda_close(void *state)
{
    struct osdda *o = state;
    free_osdda_matrices(o);
    memory_free(&o->rag->memory, o);
}

static void *osdda_open(const struct rag *rag, uint32_t process_limit, uint32_t resource_limit)
{
    struct osdda *o = memory_alloc(&rag->memory, sizeof *o);
    if (!o)
        return NULL;
    *o = (struct osdda){.rag = rag,
                        .process_room = memory_doubled(0, process_limit),
                        .resource_room = memory_doubled(0, resource_limit)};
    if (!allocate_osdda_matrices(o)) {
        memory_free(&rag->memory, o);
        return NULL;
    }
    struct matrix_engine engine = {.state = o};
    for (uint32_t q = 0; q < rag->resource_limit; q++)
        if (rag_is_resource(rag, q) && rag->holder[q] != NONE)
            osdda_grant(&engine, rag->holder[q], q, 1);
    for (uint32_t p = 0; p < rag->process_limit; p++)
        if (rag_is_process(rag, p) && rag_waits(rag, p))
            osdda_block(&engine, p);
    return o;
}

const struct matrix_method matrix_osdda = {
    .open = osdda_open,
    .close = osdda_close,
    .grow = osdda_grow,
    .hooks =
        {
            .grant = osdda_grant,
            .block = osdda_block,
            .release = osdda_release,
            .serve = osdda_serve,
            .cancel = osdda_cancel,
            .settle = osdda_settle,
            .deadlocked = osdda_deadlocked,
        },
    .matrix = osdda_matrix,
};
