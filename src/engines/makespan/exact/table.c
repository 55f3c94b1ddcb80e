/* Fills the table of an abstraction, level by level (table.h). */
#include "engines/makespan/exact/table.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* A step of the current box: from the states whose works lie within [least, most] to their
 * successors, whose numbers are linear in the works. */
struct move {
    uint32_t least[ABSTRACTION_MAX_BLOCKS], most[ABSTRACTION_MAX_BLOCKS]; /* of the outer pools */
    uint64_t stride[ABSTRACTION_MAX_BLOCKS];
    uint64_t base; /* of the row's first state: place of its successor less the terms of the outer
                      works, modulo 2^64 */
    uint32_t first, count; /* states of the row that can take it */
};

/* The state of a thread that fills boxes. */
struct filling {
    const struct abstraction *abstraction;
    gordian_makespan_goal goal;
    gordian_allocator memory;
    unsigned width;
    const uint64_t *places; /* of each box's first state */
    uint32_t pools;
    uint32_t warps[ABSTRACTION_MAX_BLOCKS];
    uint32_t least[ABSTRACTION_MAX_BLOCKS], extent[ABSTRACTION_MAX_BLOCKS];
    uint64_t box;
    struct move *moves; /* first those within a row, then the others */
    size_t move_count, move_room, self_count;
    bool failed;
};

static bool outer_works_fit(const struct filling *filling, const struct move *move,
                            const uint32_t *work, uint64_t *from)
{
    for (uint32_t p = 0; p + 1 < filling->pools; p++) {
        if (work[p] < move->least[p] || work[p] > move->most[p])
            return false;
        *from += work[p] * move->stride[p];
    }
    return true;
}

#define VALUE      uint8_t
#define VALUE_MOST UINT8_MAX
#define NAME(x)    x##_8
#include "engines/makespan/exact/table_rows.h"
#undef VALUE
#undef VALUE_MOST
#undef NAME

#define VALUE      uint16_t
#define VALUE_MOST UINT16_MAX
#define NAME(x)    x##_16
#include "engines/makespan/exact/table_rows.h"
#undef VALUE
#undef VALUE_MOST
#undef NAME

/* ------------------------------------------------------------------ the steps of a box */

/* The effect of a step on each pool. */
struct flow {
    uint32_t used[ABSTRACTION_MAX_BLOCKS];     /* instructions run */
    uint32_t entering[ABSTRACTION_MAX_BLOCKS]; /* work of the warps that enter */
    uint32_t least[ABSTRACTION_MAX_BLOCKS], most[ABSTRACTION_MAX_BLOCKS]; /* works that allow it */
    uint32_t after[ABSTRACTION_MAX_BLOCKS]; /* warps in each block afterwards */
    bool leaves;
};

static bool make_move(const struct filling *filling, const struct flow *flow, struct move *move)
{
    const struct abstraction *abstraction = filling->abstraction;
    uint32_t least[ABSTRACTION_MAX_BLOCKS], extent[ABSTRACTION_MAX_BLOCKS];
    uint32_t inner = filling->pools - 1;
    abstraction_extents(abstraction, flow->after, least, extent);
    uint64_t stride = 1, base = filling->places[abstraction_box(abstraction, flow->after)];
    for (uint32_t p = filling->pools; p-- > 0;) {
        move->least[p] = flow->least[p];
        move->most[p] = flow->most[p];
        move->stride[p] = stride;
        base += ((uint64_t)flow->entering[p] - flow->used[p] - least[p]) * stride;
        stride *= extent[p];
        if (move->least[p] > move->most[p])
            return false;
    }
    uint32_t from = filling->least[inner], end = from + filling->extent[inner];
    uint32_t first = flow->least[inner] > from ? flow->least[inner] : from;
    uint32_t last = flow->most[inner] + 1 < end ? flow->most[inner] + 1 : end;
    if (first >= last)
        return false;
    move->base = base + from;
    move->first = first - from;
    move->count = last - first;
    return true;
}

static void add_move(void *context, const struct abstraction_step *step)
{
    struct filling *filling = context;
    struct flow flow = {0};
    const struct abstraction *abstraction = filling->abstraction;
    uint32_t coming = 0;
    for (uint32_t b = 0; b < abstraction->block_count; b++) {
        const struct abstraction_block *block = &abstraction->blocks[b];
        uint32_t starts = step->starts[b], leaves = step->leaves[b], p = block->pool;
        uint32_t staying = filling->warps[b] - leaves;
        flow.used[p] += starts;
        flow.entering[p] += coming * block->length;
        /* A warp that leaves had one instruction left. A warp that stays has from 1 to the length
         * afterwards, and one less if it ran. */
        flow.least[p] += starts + staying;
        flow.most[p] += starts + staying * block->length - (starts - leaves);
        flow.after[b] = staying + coming;
        flow.leaves |= leaves != 0;
        coming = leaves;
    }
    if (filling->failed || !memory_grow(&filling->memory, &filling->moves, &filling->move_room,
                                        filling->move_count + 1, sizeof *filling->moves)) {
        filling->failed = true;
        return;
    }
    struct move *fresh = &filling->moves[filling->move_count];
    if (!make_move(filling, &flow, fresh))
        return;
    /* With pools of several blocks, different steps can make the same move. */
    if (filling->pools < filling->abstraction->block_count) {
        for (size_t m = 0; m < filling->move_count; m++) {
            const struct move *a = &filling->moves[m];
            uint32_t outer = filling->pools - 1;
            if (a->base == fresh->base && a->first == fresh->first && a->count == fresh->count &&
                memcmp(a->least, fresh->least, outer * sizeof *a->least) == 0 &&
                memcmp(a->most, fresh->most, outer * sizeof *a->most) == 0 &&
                memcmp(a->stride, fresh->stride, outer * sizeof *a->stride) == 0)
                return;
        }
    }
    filling->move_count++;
    /* Within the row: no warp leaves, and only the last pool runs. */
    bool within_row = !flow.leaves;
    for (uint32_t p = 0; p + 1 < filling->pools; p++)
        within_row &= flow.used[p] == 0;
    if (within_row) {
        struct move swap = filling->moves[filling->self_count];
        filling->moves[filling->self_count++] = *fresh;
        *fresh = swap;
    }
}

/* ------------------------------------------------------------------ boxes */

static void compute_box(struct filling *filling)
{
    uint32_t outer = filling->pools - 1, work[ABSTRACTION_MAX_BLOCKS];
    uint64_t at = filling->places[filling->box];
    memcpy(work, filling->least, sizeof work);
    for (;;) {
        if (filling->width == 1)
            compute_row_8(filling, at, work);
        else
            compute_row_16(filling, at, work);
        at += filling->extent[outer];
        uint32_t p = outer;
        while (p > 0 && ++work[p - 1] == filling->least[p - 1] + filling->extent[p - 1]) {
            work[p - 1] = filling->least[p - 1];
            p--;
        }
        if (p == 0)
            return;
    }
}

static void fill_box(struct filling *filling, uint64_t box)
{
    const struct abstraction *abstraction = filling->abstraction;
    filling->box = box;
    filling->move_count = filling->self_count = 0;
    abstraction_warps(abstraction, box, filling->warps);
    abstraction_extents(abstraction, filling->warps, filling->least, filling->extent);
    bool done = true;
    for (uint32_t b = 0; b < abstraction->block_count; b++)
        done &= filling->warps[b] == 0;
    if (done) {
        if (filling->width == 1)
            *values_at_8(filling->places[box]) = 0;
        else
            *values_at_16(filling->places[box]) = 0;
        return;
    }
    abstraction_steps(abstraction, filling->warps, add_move, filling);
    if (!filling->failed)
        compute_box(filling);
}

/* ------------------------------------------------------------------ all boxes */

/* Boxes by level: a box depends only on boxes of lower levels, at most as many levels down as warps
 * can leave their blocks in a cycle. */
struct levels {
    size_t count;
    uint64_t *order;  /* boxes, by level */
    uint64_t *first;  /* where each level begins in `order`; count + 1 */
    uint64_t *states; /* of each level */
};

struct build {
    const struct abstraction *abstraction;
    struct thread_pool *workers;
    struct watch *watch;
    gordian_allocator memory;
    unsigned width;
    struct levels levels;
    struct filling *fillings;
    uint64_t *places;
    void **buffers; /* of each level, if only some are kept; NULL: all are */
    _Atomic uint64_t next;
    _Atomic bool failed;
};

static size_t box_level(const struct abstraction *abstraction, uint64_t box)
{
    uint32_t warps[ABSTRACTION_MAX_BLOCKS];
    size_t level = 0;
    abstraction_warps(abstraction, box, warps);
    for (uint32_t b = 0; b < abstraction->block_count; b++)
        level += (size_t)(abstraction->block_count - b) * warps[b];
    return level;
}

static bool sort_levels(struct levels *levels, const struct abstraction *abstraction,
                        const gordian_allocator *memory)
{
    size_t count = (size_t)abstraction->block_count * abstraction->model->warps + 1;
    *levels = (struct levels){.count = count};
    levels->order = memory_alloc(memory, abstraction->box_count * sizeof *levels->order);
    levels->first = memory_zeroed(memory, (count + 2) * sizeof *levels->first);
    levels->states = memory_zeroed(memory, count * sizeof *levels->states);
    if (!levels->order || !levels->first || !levels->states)
        return false;
    for (uint64_t box = 0; box < abstraction->box_count; box++) {
        size_t level = box_level(abstraction, box);
        levels->first[level + 2]++;
        levels->states[level] += abstraction->offsets[box + 1] - abstraction->offsets[box];
    }
    for (size_t level = 0; level <= count; level++)
        levels->first[level + 1] += levels->first[level];
    for (uint64_t box = 0; box < abstraction->box_count; box++)
        levels->order[levels->first[box_level(abstraction, box) + 1]++] = box;
    return true;
}

/* Called by member 0 while the others wait. If only some levels are kept, allocates the next level
 * and frees the level that is no longer needed. */
static void prepare_level(struct build *build, size_t level)
{
    const struct levels *levels = &build->levels;
    const uint64_t *offsets = build->abstraction->offsets;
    if (!build->buffers || atomic_load(&build->failed))
        return;
    size_t needed = (size_t)build->abstraction->model->sigma + 1; /* including this level */
    if (level >= needed) {
        memory_free(&build->memory, build->buffers[level - needed]);
        build->buffers[level - needed] = NULL;
    }
    if (levels->states[level] == 0)
        return;
    build->buffers[level] = memory_alloc(&build->memory, levels->states[level] * build->width);
    if (!build->buffers[level]) {
        atomic_store(&build->failed, true);
        return;
    }
    uint64_t place = (uintptr_t)build->buffers[level] / build->width;
    for (uint64_t i = levels->first[level]; i < levels->first[level + 1]; i++) {
        uint64_t box = levels->order[i];
        build->places[box] = place;
        place += offsets[box + 1] - offsets[box];
    }
}

static void work_boxes(void *context, unsigned member)
{
    struct build *build = context;
    for (size_t level = 0; level < build->levels.count; level++) {
        if (member == 0)
            prepare_level(build, level);
        thread_pool_meet(build->workers);
        struct filling *filling = &build->fillings[member];
        uint64_t end = build->levels.first[level + 1];
        const uint64_t *offsets = build->abstraction->offsets;
        while (!watch_stopped(build->watch) && !atomic_load(&build->failed)) {
            uint64_t i = atomic_load(&build->next);
            while (i < end && !atomic_compare_exchange_weak(&build->next, &i, i + 1))
                continue;
            if (i >= end)
                break;
            uint64_t box = build->levels.order[i];
            fill_box(filling, box);
            if (filling->failed)
                atomic_store(&build->failed, true);
            atomic_fetch_add(&build->watch->states, offsets[box + 1] - offsets[box]);
        }
        thread_pool_meet(build->workers);
    }
}

/* `values` NULL: only the levels that are still needed are kept. */
static bool begin_build(struct build *build, gordian_makespan_goal goal, void *values)
{
    const struct abstraction *abstraction = build->abstraction;
    const gordian_allocator *memory = &build->memory;
    atomic_init(&build->next, 0);
    atomic_init(&build->failed, false);
    build->places = memory_alloc(memory, abstraction->box_count * sizeof *build->places);
    if (!build->places || !sort_levels(&build->levels, abstraction, memory))
        return false;
    for (uint64_t box = 0; values && box < abstraction->box_count; box++)
        build->places[box] = (uintptr_t)values / build->width + abstraction->offsets[box];
    if (!values) {
        build->buffers = memory_zeroed(memory, build->levels.count * sizeof *build->buffers);
        if (!build->buffers)
            return false;
    }
    unsigned size = thread_pool_size(build->workers);
    build->fillings = memory_zeroed(&build->memory, size * sizeof *build->fillings);
    if (!build->fillings)
        return false;
    for (unsigned i = 0; i < size; i++)
        build->fillings[i] = (struct filling){.abstraction = abstraction,
                                              .goal = goal,
                                              .memory = *memory,
                                              .width = build->width,
                                              .places = build->places,
                                              .pools = abstraction->pool_count};
    return true;
}

static void end_campaign(struct build *build)
{
    const gordian_allocator *memory = &build->memory;
    for (unsigned i = 0; build->fillings && i < thread_pool_size(build->workers); i++)
        memory_free(memory, build->fillings[i].moves);
    for (size_t level = 0; build->buffers && level < build->levels.count; level++)
        memory_free(memory, build->buffers[level]);
    memory_free_all(memory, build->buffers, build->fillings, build->places, build->levels.order,
                    build->levels.first, build->levels.states);
}

static gordian_status run_campaign(struct build *build, gordian_error *error)
{
    thread_pool_start(build->workers, work_boxes, build);
    thread_pool_wait(build->workers, watch_poll, build->watch);
    if (atomic_load(&build->failed))
        return fail_memory(error);
    return watch_stopped(build->watch) ? GORDIAN_STATUS_END : GORDIAN_OK;
}

/* ------------------------------------------------------------------ tables */

unsigned table_width(const struct makespan_model *model)
{
    return model_upper_bound(model) < UINT8_MAX ? 1 : 2;
}

gordian_status table_open(struct table **out, const struct abstraction *abstraction,
                          gordian_makespan_goal goal, struct thread_pool *workers,
                          struct watch *watch, gordian_error *error)
{
    const gordian_allocator *memory = &abstraction->memory;
    *out = NULL;
    struct table *table = memory_zeroed(memory, sizeof *table);
    if (!table)
        return fail_memory(error);
    table->abstraction = abstraction;
    table->goal = goal;
    table->memory = *memory;
    table->width = table_width(abstraction->model);
    table->values = memory_alloc(memory, abstraction->states * table->width);
    struct build build = {.abstraction = abstraction,
                          .workers = workers,
                          .watch = watch,
                          .memory = *memory,
                          .width = table->width};
    gordian_status status = table->values && begin_build(&build, goal, table->values)
                                ? run_campaign(&build, error)
                                : fail_memory(error);
    end_campaign(&build);
    if (status == GORDIAN_OK)
        *out = table;
    else
        table_close(table);
    return status;
}

void table_close(struct table *table)
{
    if (!table)
        return;
    gordian_allocator memory = table->memory;
    memory_free_all(&memory, table->values, table);
}

/* The initial state is the last one: all warps are at the start. */
uint32_t table_bound(const struct table *table)
{
    return table_at(table, table->abstraction->states - 1);
}

gordian_status table_passing(const struct abstraction *abstraction, gordian_makespan_goal goal,
                             struct thread_pool *workers, struct watch *watch, uint32_t *bound,
                             gordian_error *error)
{
    struct table table = {.goal = goal, .width = table_width(abstraction->model)};
    struct build build = {.abstraction = abstraction,
                          .workers = workers,
                          .watch = watch,
                          .memory = abstraction->memory,
                          .width = table.width};
    gordian_status status =
        begin_build(&build, goal, NULL) ? run_campaign(&build, error) : fail_memory(error);
    if (status == GORDIAN_OK) {
        table.values = build.buffers[build.levels.count - 1];
        *bound = table_at(&table, build.levels.states[build.levels.count - 1] - 1);
    }
    end_campaign(&build);
    return status;
}

uint64_t table_passing_size(const struct abstraction *abstraction)
{
    struct levels levels;
    uint64_t most = UINT64_MAX;
    if (sort_levels(&levels, abstraction, &abstraction->memory)) {
        size_t needed = (size_t)abstraction->model->sigma + 1;
        uint64_t now = most = 0;
        for (size_t level = 0; level < levels.count; level++) {
            now += levels.states[level];
            now -= level >= needed ? levels.states[level - needed] : 0;
            most = now > most ? now : most;
        }
        most *= table_width(abstraction->model);
    }
    memory_free_all(&abstraction->memory, levels.order, levels.first, levels.states);
    return most;
}
