/*
 * `dense`: the parallel banker's algorithm (PBA) as published, on full matrices, in rounds. Each
 * round compares the whole row of every unfinished process with the available units. Then all
 * processes that fit release what they hold. Two errors of the pseudo-code are corrected: undoing a
 * tentative loan computes need = maximum - allocation (the paper adds), and the check ends with the
 * first round in which no process finishes (the paper runs as many rounds as there are processes).
 *
 * It is the plainest engine, and the oracle for the others: it has its own numbers and remembers
 * nothing between questions. O(processes^2 x resources) if each round lets one process finish.
 */
#include "engines/avoid/engine/engine.h"

#include "foundation/base/error.h"

#include <inttypes.h>
#include <string.h>

struct dense {
    gordian_allocator memory;
    const struct ledger *ledger;
    size_t rows, columns; /* capacity */
    uint64_t *maximum;    /* rows x columns each */
    uint64_t *allocation;
    uint64_t *need;
    uint64_t *available; /* columns */
    uint64_t *work;
    bool *finish; /* rows */
    uint32_t *order;
    uint32_t finished;
    uint32_t *able; /* of a round */
};

static uint64_t *dense_row(const struct dense *dense, uint64_t *matrix, uint32_t process)
{
    return matrix + process * dense->columns;
}

/* ---- memory */

static void free_dense_arrays(struct dense *dense)
{
    void *arrays[] = {dense->maximum, dense->allocation, dense->need,  dense->available,
                      dense->work,    dense->finish,     dense->order, dense->able};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        memory_free(&dense->memory, arrays[i]);
}

static bool alloc_arrays(struct dense *dense, size_t rows, size_t columns)
{
    const gordian_allocator *memory = &dense->memory;
    size_t cells = rows * columns;
    dense->rows = rows;
    dense->columns = columns;
    dense->maximum = memory_zeroed(memory, cells * sizeof(uint64_t));
    dense->allocation = memory_zeroed(memory, cells * sizeof(uint64_t));
    dense->need = memory_zeroed(memory, cells * sizeof(uint64_t));
    dense->available = memory_zeroed(memory, columns * sizeof(uint64_t));
    dense->work = memory_alloc(memory, columns * sizeof(uint64_t));
    dense->finish = memory_alloc(memory, rows * sizeof(bool));
    dense->order = memory_alloc(memory, rows * sizeof(uint32_t));
    dense->able = memory_alloc(memory, rows * sizeof(uint32_t));
    return dense->maximum && dense->allocation && dense->need && dense->available && dense->work &&
           dense->finish && dense->order && dense->able;
}

/* Reads the row of a process from the ledger. */
static void load_row(void *engine, uint32_t process)
{
    const struct dense *dense = engine;
    const struct ledger_row *row = &dense->ledger->rows[process];
    uint64_t *maximum = dense_row(dense, dense->maximum, process);
    uint64_t *allocation = dense_row(dense, dense->allocation, process);
    uint64_t *need = dense_row(dense, dense->need, process);
    memset(maximum, 0, dense->columns * sizeof *maximum);
    memset(allocation, 0, dense->columns * sizeof *allocation);
    memset(need, 0, dense->columns * sizeof *need);
    for (uint32_t k = 0; k < row->count; k++) {
        uint32_t j = row->claims[k].resource;
        maximum[j] = row->claims[k].need + row->claims[k].held;
        allocation[j] = row->claims[k].held;
        need[j] = maximum[j] - allocation[j];
    }
}

static size_t grown_room(size_t room, size_t limit)
{
    return limit <= room ? room : limit > room + room / 2 ? limit : room + room / 2;
}

static gordian_status dense_prepare(void *engine, uint32_t process_limit, uint32_t resource_limit,
                                    uint64_t claims, gordian_error *error)
{
    struct dense *dense = engine;
    (void)claims;
    if (process_limit <= dense->rows && resource_limit <= dense->columns)
        return GORDIAN_OK;
    size_t rows = grown_room(dense->rows, process_limit),
           columns = grown_room(dense->columns, resource_limit);
    struct dense grown = {.memory = dense->memory, .ledger = dense->ledger};
    /* Ids are below 2^31, so the product of the two fits 64 bits; the bytes may not. */
    uint64_t cells = (uint64_t)rows * columns;
    if (cells > SIZE_MAX / sizeof(uint64_t) || !alloc_arrays(&grown, rows, columns)) {
        free_dense_arrays(&grown);
        return fail(error, GORDIAN_STATUS_MEMORY,
                    "out of memory: the dense engine keeps three matrices of %zu x %zu units, "
                    "%" PRIu64 " MiB each",
                    rows, columns, cells / (1024 * 1024 / sizeof(uint64_t)));
    }
    free_dense_arrays(dense);
    *dense = grown;
    const struct ledger *ledger = dense->ledger;
    for (uint32_t j = 0; j < ledger->resource_limit; j++)
        dense->available[j] = ledger->free[j];
    for (uint32_t i = 0; i < ledger->process_limit; i++)
        if (ledger_is_process(ledger, i))
            load_row(dense, i);
    return GORDIAN_OK;
}

static void dense_close(void *engine)
{
    struct dense *dense = engine;
    free_dense_arrays(dense);
    memory_free(&dense->memory, dense);
}

static gordian_status dense_open(void **engine, const struct ledger *ledger, gordian_error *error)
{
    struct dense *dense = memory_zeroed(&ledger->memory, sizeof *dense);
    if (!dense)
        return fail_memory(error);
    dense->memory = ledger->memory;
    dense->ledger = ledger;
    gordian_status status =
        dense_prepare(dense, ledger->process_limit, ledger->resource_limit, 0, error);
    if (status != GORDIAN_OK)
        dense_close(dense);
    else
        *engine = dense;
    return status;
}

/* ---- the H-safety check */

/* Runs one round and returns how many processes can finish. */
static uint32_t run_dense_round(struct dense *dense)
{
    const struct ledger *ledger = dense->ledger;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ledger->process_limit; i++) {
        if (dense->finish[i])
            continue;
        const uint64_t *need = dense_row(dense, dense->need, i);
        uint64_t short_of = 0;
        for (size_t j = 0; j < ledger->resource_limit;
             j++) /* all of them, like one thread for each resource */
            short_of |= (uint64_t)(need[j] > dense->work[j]);
        if (!short_of)
            dense->able[count++] = i;
    }
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = dense->able[k];
        const uint64_t *allocation = dense_row(dense, dense->allocation, i);
        for (size_t j = 0; j < ledger->resource_limit; j++)
            dense->work[j] += allocation[j];
        dense->finish[i] = true;
        dense->order[dense->finished++] = i;
    }
    return count;
}

static bool h_safe(struct dense *dense)
{
    const struct ledger *ledger = dense->ledger;
    for (uint32_t j = 0; j < ledger->resource_limit; j++)
        dense->work[j] = dense->available[j];
    for (uint32_t i = 0; i < ledger->process_limit; i++)
        dense->finish[i] = !ledger_is_process(ledger, i);
    dense->finished = 0;
    while (dense->finished < ledger->process_count)
        if (run_dense_round(dense) == 0)
            return false;
    return true;
}

/* ---- changes */

static void lend_row(struct dense *dense, uint32_t process, const gordian_want *wants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t j = wants[i].resource;
        dense->available[j] -= wants[i].units;
        dense_row(dense, dense->allocation, process)[j] += wants[i].units;
        dense_row(dense, dense->need, process)[j] -= wants[i].units;
    }
}

static void dense_returned(void *engine, uint32_t process, const gordian_want *wants, size_t count)
{
    struct dense *dense = engine;
    for (size_t i = 0; i < count; i++) {
        uint32_t j = wants[i].resource;
        uint64_t *allocation = dense_row(dense, dense->allocation, process);
        dense->available[j] += wants[i].units;
        allocation[j] -= wants[i].units;
        dense_row(dense, dense->need, process)[j] =
            dense_row(dense, dense->maximum, process)[j] - allocation[j];
    }
}

static void set_maximum(struct dense *dense, uint32_t process, const gordian_want *claims,
                        size_t count)
{
    uint64_t *maximum = dense_row(dense, dense->maximum, process);
    memset(maximum, 0, dense->columns * sizeof *maximum);
    for (size_t i = 0; i < count; i++)
        maximum[claims[i].resource] = claims[i].units;
    const uint64_t *allocation = dense_row(dense, dense->allocation, process);
    uint64_t *need = dense_row(dense, dense->need, process);
    for (size_t j = 0; j < dense->columns; j++)
        need[j] = maximum[j] - allocation[j];
}

static void dense_took(void *engine, const struct ledger_change *change)
{
    struct dense *dense = engine;
    switch (change->kind) {
    case CHANGE_LEND:
        lend_row(dense, change->process, change->wants, change->count);
        break;
    case CHANGE_CLAIMS:
        set_maximum(dense, change->process, change->wants, change->count);
        break;
    case CHANGE_TAKE:
        dense->available[change->wants[0].resource] -= change->wants[0].units;
        break;
    }
}

/* Applies the change tentatively, checks, and undoes it. */
static bool dense_safe(void *engine, const struct ledger_change *change)
{
    struct dense *dense = engine;
    dense_took(dense, change);
    bool safe = h_safe(dense);
    switch (change->kind) {
    case CHANGE_LEND:
        dense_returned(dense, change->process, change->wants, change->count);
        break;
    case CHANGE_CLAIMS: /* the ledger still has the old claims */
        load_row(dense, change->process);
        break;
    case CHANGE_TAKE:
        dense->available[change->wants[0].resource] += change->wants[0].units;
        break;
    }
    return safe;
}

static void dense_leaves(void *engine, uint32_t process)
{
    struct dense *dense = engine;
    uint64_t *allocation = dense_row(dense, dense->allocation, process);
    for (size_t j = 0; j < dense->columns; j++) {
        dense->available[j] += allocation[j];
        allocation[j] = 0;
    }
}

static void dense_resized(void *engine, uint32_t resource)
{
    struct dense *dense = engine;
    dense->available[resource] = dense->ledger->free[resource];
}

static void dense_sequence(void *engine, uint32_t *processes)
{
    struct dense *dense = engine;
    h_safe(dense);
    if (dense->finished > 0)
        memcpy(processes, dense->order, dense->finished * sizeof *processes);
}

const struct avoid_engine avoid_dense = {
    .about =
        {
            .name = "dense",
            .summary = "the banker's algorithm in rounds over full matrices; the oracle",
            .dense = true,
        },
    .open = dense_open,
    .close = dense_close,
    .prepare = dense_prepare,
    .joined = load_row,
    .leaves = dense_leaves,
    .returned = dense_returned,
    .resized = dense_resized,
    .took = dense_took,
    .safe = dense_safe,
    .sequence = dense_sequence,
};
