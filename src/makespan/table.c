#include "makespan/table.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* A step of the box at hand: from the states whose works lie within [least, most] to those that
 * follow, whose numbers are linear in the works. */
struct move {
    uint32_t least[ABSTRACTION_MAX_BLOCKS], most[ABSTRACTION_MAX_BLOCKS]; /* of the outer pools */
    uint64_t stride[ABSTRACTION_MAX_BLOCKS];
    uint64_t base;         /* number of the state that follows, less the parts for outer works; for
                              the row's first state. Modulo 2^64 */
    uint32_t first, count; /* states of the row that can take it */
};

/* What a thread needs to fill boxes. */
struct filling {
    const struct abstraction *abstraction;
    gordian_makespan_goal goal;
    gordian_allocator memory;
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
#include "makespan/table_rows.h"
#undef VALUE
#undef VALUE_MOST
#undef NAME

#define VALUE      uint16_t
#define VALUE_MOST UINT16_MAX
#define NAME(x)    x##_16
#include "makespan/table_rows.h"
#undef VALUE
#undef VALUE_MOST
#undef NAME

/* ------------------------------------------------------------------ the steps of a box */

/* What a step does to each pool. */
struct flow {
    uint32_t used[ABSTRACTION_MAX_BLOCKS];     /* instructions run */
    uint32_t entering[ABSTRACTION_MAX_BLOCKS]; /* work that comes with the warps that enter */
    uint32_t least[ABSTRACTION_MAX_BLOCKS], most[ABSTRACTION_MAX_BLOCKS]; /* works that allow it */
    uint32_t after[ABSTRACTION_MAX_BLOCKS]; /* warps in each block afterwards */
    bool leaves;
};

static void find_flow(const struct filling *filling, const struct abstraction_step *step,
                      struct flow *flow)
{
    const struct abstraction *abstraction = filling->abstraction;
    uint32_t coming = 0;
    memset(flow, 0, sizeof *flow);
    for (uint32_t b = 0; b < abstraction->block_count; b++) {
        const struct abstraction_block *block = &abstraction->blocks[b];
        uint32_t starts = step->starts[b], leaves = step->leaves[b], p = block->pool;
        uint32_t staying = filling->warps[b] - leaves;
        flow->used[p] += starts;
        flow->entering[p] += coming * block->length;
        /* Who leaves had one instruction left; who stays has from 1 to the length afterwards, one
         * less if it ran. */
        flow->least[p] += starts + staying;
        flow->most[p] += starts + staying * block->length - (starts - leaves);
        flow->after[b] = staying + coming;
        flow->leaves |= leaves != 0;
        coming = leaves;
    }
}

/* Within the row: nobody leaves, and only the last pool runs. */
static bool within_row(const struct filling *filling, const struct flow *flow)
{
    for (uint32_t p = 0; p + 1 < filling->pools; p++) {
        if (flow->used[p])
            return false;
    }
    return !flow->leaves;
}

static bool make_move(const struct filling *filling, const struct flow *flow, struct move *move)
{
    const struct abstraction *abstraction = filling->abstraction;
    uint32_t least[ABSTRACTION_MAX_BLOCKS], extent[ABSTRACTION_MAX_BLOCKS];
    uint32_t inner = filling->pools - 1;
    abstraction_extents(abstraction, flow->after, least, extent);
    uint64_t stride = 1, base = abstraction->offsets[abstraction_box(abstraction, flow->after)];
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

static bool same_move(const struct filling *filling, const struct move *a, const struct move *b)
{
    uint32_t outer = filling->pools - 1;
    return a->base == b->base && a->first == b->first && a->count == b->count &&
           memcmp(a->least, b->least, outer * sizeof *a->least) == 0 &&
           memcmp(a->most, b->most, outer * sizeof *a->most) == 0 &&
           memcmp(a->stride, b->stride, outer * sizeof *a->stride) == 0;
}

static void take_step(void *context, const struct abstraction_step *step)
{
    struct filling *filling = context;
    struct flow flow;
    find_flow(filling, step, &flow);
    if (filling->failed || !memory_grow(&filling->memory, &filling->moves, &filling->move_room,
                                        filling->move_count + 1, sizeof *filling->moves)) {
        filling->failed = true;
        return;
    }
    struct move *fresh = &filling->moves[filling->move_count];
    if (!make_move(filling, &flow, fresh))
        return;
    /* Pools of several blocks make the same move of different steps. */
    if (filling->pools < filling->abstraction->block_count) {
        for (size_t m = 0; m < filling->move_count; m++) {
            if (same_move(filling, &filling->moves[m], fresh))
                return;
        }
    }
    filling->move_count++;
    if (within_row(filling, &flow)) {
        struct move swap = filling->moves[filling->self_count];
        filling->moves[filling->self_count++] = *fresh;
        *fresh = swap;
    }
}

/* ------------------------------------------------------------------ boxes */

static void compute_box(struct table *table, struct filling *filling)
{
    uint32_t outer = filling->pools - 1, work[ABSTRACTION_MAX_BLOCKS];
    uint64_t at = table->abstraction->offsets[filling->box];
    memcpy(work, filling->least, sizeof work);
    for (;;) {
        if (table->width == 1)
            compute_row_8(filling, table->values, at, work);
        else
            compute_row_16(filling, table->values, at, work);
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

static void fill_box(struct table *table, struct filling *filling, uint64_t box)
{
    const struct abstraction *abstraction = table->abstraction;
    filling->box = box;
    filling->move_count = filling->self_count = 0;
    abstraction_warps(abstraction, box, filling->warps);
    abstraction_extents(abstraction, filling->warps, filling->least, filling->extent);
    bool done = true;
    for (uint32_t b = 0; b < abstraction->block_count; b++)
        done &= filling->warps[b] == 0;
    if (done) {
        memset((char *)table->values + abstraction->offsets[box] * table->width, 0, table->width);
        return;
    }
    abstraction_steps(abstraction, filling->warps, take_step, filling);
    if (!filling->failed)
        compute_box(table, filling);
}

/* ------------------------------------------------------------------ all boxes */

struct campaign {
    struct table *table;
    struct team *team;
    struct watch *watch;
    struct filling *fillings;
    uint64_t *order;  /* boxes, those that need no other first */
    uint64_t *levels; /* where each level begins in `order`; level_count + 1 */
    size_t level_count;
    _Atomic uint64_t next;
    _Atomic bool failed;
};

static size_t level_of(const struct abstraction *abstraction, uint64_t box)
{
    uint32_t warps[ABSTRACTION_MAX_BLOCKS];
    size_t level = 0;
    abstraction_warps(abstraction, box, warps);
    for (uint32_t b = 0; b < abstraction->block_count; b++)
        level += (size_t)(abstraction->block_count - b) * warps[b];
    return level;
}

static bool sort_levels(struct campaign *campaign, const gordian_allocator *memory)
{
    const struct abstraction *abstraction = campaign->table->abstraction;
    campaign->level_count = (size_t)abstraction->block_count * abstraction->model->warps + 1;
    campaign->order = memory_alloc(memory, abstraction->box_count * sizeof *campaign->order);
    campaign->levels =
        memory_zeroed(memory, (campaign->level_count + 2) * sizeof *campaign->levels);
    if (!campaign->order || !campaign->levels)
        return false;
    for (uint64_t box = 0; box < abstraction->box_count; box++)
        campaign->levels[level_of(abstraction, box) + 2]++;
    for (size_t level = 0; level <= campaign->level_count; level++)
        campaign->levels[level + 1] += campaign->levels[level];
    for (uint64_t box = 0; box < abstraction->box_count; box++)
        campaign->order[campaign->levels[level_of(abstraction, box) + 1]++] = box;
    return true;
}

static void work_boxes(void *context, unsigned member)
{
    struct campaign *campaign = context;
    struct filling *filling = &campaign->fillings[member];
    const uint64_t *offsets = campaign->table->abstraction->offsets;
    for (size_t level = 0; level < campaign->level_count; level++) {
        uint64_t end = campaign->levels[level + 1];
        while (!watch_stopped(campaign->watch) && !atomic_load(&campaign->failed)) {
            uint64_t i = atomic_load(&campaign->next);
            while (i < end && !atomic_compare_exchange_weak(&campaign->next, &i, i + 1))
                continue;
            if (i >= end)
                break;
            uint64_t box = campaign->order[i];
            fill_box(campaign->table, filling, box);
            if (filling->failed)
                atomic_store(&campaign->failed, true);
            atomic_fetch_add(&campaign->watch->states, offsets[box + 1] - offsets[box]);
        }
        team_meet(campaign->team);
    }
}

static bool make_fillings(struct campaign *campaign, const gordian_allocator *memory)
{
    unsigned size = team_size(campaign->team);
    campaign->fillings = memory_zeroed(memory, size * sizeof *campaign->fillings);
    if (!campaign->fillings)
        return false;
    for (unsigned i = 0; i < size; i++) {
        campaign->fillings[i].abstraction = campaign->table->abstraction;
        campaign->fillings[i].pools = campaign->table->abstraction->pool_count;
        campaign->fillings[i].goal = campaign->table->goal;
        campaign->fillings[i].memory = *memory;
    }
    return true;
}

static gordian_status fill(struct table *table, struct team *team, struct watch *watch,
                           gordian_error *error)
{
    const gordian_allocator *memory = &table->memory;
    struct campaign campaign = {.table = table, .team = team, .watch = watch};
    atomic_init(&campaign.next, 0);
    atomic_init(&campaign.failed, false);
    bool ready = make_fillings(&campaign, memory) && sort_levels(&campaign, memory);
    if (ready) {
        team_start(team, work_boxes, &campaign);
        team_wait(team, watch_look, watch);
    }
    for (unsigned i = 0; campaign.fillings && i < team_size(team); i++)
        memory_free(memory, campaign.fillings[i].moves);
    memory_free(memory, campaign.fillings);
    memory_free(memory, campaign.order);
    memory_free(memory, campaign.levels);
    if (!ready || atomic_load(&campaign.failed))
        return fail_memory(error);
    return watch_stopped(watch) ? GORDIAN_END : GORDIAN_OK;
}

unsigned table_width(const struct makespan_model *model)
{
    return model_upper_bound(model) < UINT8_MAX ? 1 : 2;
}

gordian_status table_open(struct table **out, const struct abstraction *abstraction,
                          gordian_makespan_goal goal, struct team *team, struct watch *watch,
                          gordian_error *error)
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
    gordian_status status = table->values ? fill(table, team, watch, error) : fail_memory(error);
    if (status)
        table_close(table);
    else
        *out = table;
    return status;
}

void table_close(struct table *table)
{
    if (!table)
        return;
    gordian_allocator memory = table->memory;
    memory_free(&memory, table->values);
    memory_free(&memory, table);
}

uint32_t table_bound(const struct table *table)
{
    const struct abstraction *abstraction = table->abstraction;
    uint32_t warps[ABSTRACTION_MAX_BLOCKS] = {0}, work[ABSTRACTION_MAX_BLOCKS] = {0};
    warps[0] = abstraction->model->warps;
    work[abstraction->blocks[0].pool] = warps[0] * abstraction->blocks[0].length;
    return table_at(table, abstraction_state(abstraction, warps, work));
}
