/* Plans and states of the abstraction of a model (abstraction.h). */
#include "engines/makespan/exact/abstraction.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* ------------------------------------------------------------------ cutting */

bool abstraction_plan_runs(struct abstraction_plan *plan, const struct makespan_model *model)
{
    if (model->run_count > ABSTRACTION_MAX_BLOCKS)
        return false;
    plan->block_count = plan->pool_count = model->run_count;
    for (uint32_t b = 0; b < model->run_count; b++) {
        const struct makespan_run *run = &model->runs[b];
        plan->blocks[b] = (struct abstraction_block){run->first, run->length, run->type, b};
    }
    return true;
}

bool abstraction_plan_types(struct abstraction_plan *plan, const struct makespan_model *model)
{
    uint32_t shared[MAKESPAN_TYPES];
    memset(shared, 0xff, sizeof shared);
    if (!abstraction_plan_runs(plan, model))
        return false;
    plan->pool_count = 0;
    for (uint32_t b = 0; b < plan->block_count; b++) {
        struct abstraction_block *block = &plan->blocks[b];
        if (model->units[block->type] == 1) {
            block->pool = plan->pool_count++;
            continue;
        }
        if (shared[block->type] == UINT32_MAX)
            shared[block->type] = plan->pool_count++;
        block->pool = shared[block->type];
    }
    return true;
}

bool abstraction_plan_refine(struct abstraction_plan *plan, const struct makespan_model *model)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t b = 0; b < plan->block_count; b++) {
        const struct abstraction_block *block = &plan->blocks[b];
        if (model->units[block->type] > 1 && block->length > 1 &&
            (best == UINT32_MAX || block->length >= plan->blocks[best].length))
            best = b;
    }
    if (best == UINT32_MAX || plan->block_count == ABSTRACTION_MAX_BLOCKS)
        return false;
    struct abstraction_block *block = &plan->blocks[best];
    memmove(block + 1, block, (plan->block_count - best) * sizeof *block);
    plan->block_count++;
    block[0].length = (block[0].length + 1) / 2;
    block[1].first += block[0].length;
    block[1].length -= block[0].length;
    block[1].pool = plan->pool_count++;
    return true;
}

/* ------------------------------------------------------------------ boxes */

static uint64_t *before_at(const struct abstraction *abstraction, uint32_t block, uint32_t left)
{
    size_t width = abstraction->model->warps + 2;
    return abstraction->before + ((size_t)block * (width - 1) + left) * width;
}

/* Counts the distributions of `left` warps over the blocks from `block` on and the finished ones;
 * saturates. */
static bool count_boxes(struct abstraction *abstraction, uint64_t most)
{
    uint32_t warps = abstraction->model->warps;
    for (uint32_t b = abstraction->block_count; b-- > 0;) {
        for (uint32_t left = 0; left <= warps; left++) {
            uint64_t *before = before_at(abstraction, b, left);
            before[0] = 0;
            for (uint32_t n = 0; n <= left; n++) {
                uint64_t ways = 1;
                if (b + 1 < abstraction->block_count)
                    ways = before_at(abstraction, b + 1, left - n)[left - n + 1];
                before[n + 1] = before[n] + ways;
                if (before[n + 1] > most)
                    return false;
            }
        }
    }
    abstraction->box_count = before_at(abstraction, 0, warps)[warps + 1];
    return true;
}

uint64_t abstraction_box(const struct abstraction *abstraction, const uint32_t *warps)
{
    uint32_t left = abstraction->model->warps;
    uint64_t box = 0;
    for (uint32_t b = 0; b < abstraction->block_count; b++) {
        box += before_at(abstraction, b, left)[warps[b]];
        left -= warps[b];
    }
    return box;
}

void abstraction_warps(const struct abstraction *abstraction, uint64_t box, uint32_t *warps)
{
    uint32_t left = abstraction->model->warps;
    for (uint32_t b = 0; b < abstraction->block_count; b++) {
        const uint64_t *before = before_at(abstraction, b, left);
        uint32_t n = 0;
        while (n < left && before[n + 1] <= box)
            n++;
        box -= before[n];
        warps[b] = n;
        left -= n;
    }
}

void abstraction_extents(const struct abstraction *abstraction, const uint32_t *warps,
                         uint32_t *least, uint32_t *extent)
{
    for (uint32_t p = 0; p < abstraction->pool_count; p++) {
        least[p] = 0;
        extent[p] = 1;
    }
    for (uint32_t b = 0; b < abstraction->block_count; b++) {
        const struct abstraction_block *block = &abstraction->blocks[b];
        least[block->pool] += warps[b];
        extent[block->pool] += warps[b] * (block->length - 1);
    }
}

uint64_t abstraction_state(const struct abstraction *abstraction, const uint32_t *warps,
                           const uint32_t *work)
{
    uint32_t least[ABSTRACTION_MAX_BLOCKS], extent[ABSTRACTION_MAX_BLOCKS];
    abstraction_extents(abstraction, warps, least, extent);
    uint64_t place = 0;
    for (uint32_t p = 0; p < abstraction->pool_count; p++)
        place = place * extent[p] + (work[p] - least[p]);
    return abstraction->offsets[abstraction_box(abstraction, warps)] + place;
}

/* Computes where each box begins; false: more than `most` states. */
static bool layout_boxes(struct abstraction *abstraction, uint64_t most)
{
    uint32_t warps[ABSTRACTION_MAX_BLOCKS];
    uint32_t least[ABSTRACTION_MAX_BLOCKS], extent[ABSTRACTION_MAX_BLOCKS];
    uint64_t at = 0;
    for (uint64_t box = 0; box < abstraction->box_count; box++) {
        abstraction->offsets[box] = at;
        abstraction_warps(abstraction, box, warps);
        abstraction_extents(abstraction, warps, least, extent);
        uint64_t size = 1;
        for (uint32_t p = 0; p < abstraction->pool_count; p++) {
            size *= extent[p];
            if (size > most)
                return false;
        }
        at += size;
        if (at > most)
            return false;
    }
    abstraction->offsets[abstraction->box_count] = abstraction->states = at;
    return true;
}

/* Estimates how many steps a box can have: the choices of leaves alone, with the starts distributed
 * evenly. */
static double count_leaves(const struct abstraction_plan *plan, const struct makespan_model *model)
{
    uint32_t starts[ABSTRACTION_MAX_BLOCKS] = {0}, used[MAKESPAN_TYPES] = {0};
    double ways = 1;
    for (uint32_t left = model->sigma; left > 0; left--) {
        uint32_t best = UINT32_MAX;
        for (uint32_t b = 0; b < plan->block_count; b++) {
            uint32_t type = plan->blocks[b].type;
            if (plan->blocks[b].length > 1 && used[type] < model->units[type] &&
                (best == UINT32_MAX || starts[b] < starts[best]))
                best = b;
        }
        if (best == UINT32_MAX)
            break;
        starts[best]++;
        used[plan->blocks[best].type]++;
    }
    for (uint32_t b = 0; b < plan->block_count; b++)
        ways *= starts[b] + 1;
    return ways;
}

gordian_status abstraction_open(struct abstraction **out, const struct makespan_model *model,
                                const struct abstraction_plan *plan, uint64_t most,
                                const gordian_allocator *memory, gordian_error *error)
{
    *out = NULL;
    if (count_leaves(plan, model) > ABSTRACTION_MAX_STEPS)
        return GORDIAN_STATUS_END;
    struct abstraction *abstraction = memory_zeroed(memory, sizeof *abstraction);
    if (!abstraction)
        return fail_memory(error);
    abstraction->model = model;
    abstraction->memory = *memory;
    abstraction->block_count = plan->block_count;
    abstraction->pool_count = plan->pool_count;
    memcpy(abstraction->blocks, plan->blocks, sizeof plan->blocks);
    /* Long rows are faster: the pool with the most work comes last. */
    uint32_t work[ABSTRACTION_MAX_BLOCKS] = {0}, best = 0, last = abstraction->pool_count - 1;
    for (uint32_t b = 0; b < abstraction->block_count; b++)
        work[abstraction->blocks[b].pool] += abstraction->blocks[b].length;
    for (uint32_t p = 0; p <= last; p++)
        best = work[p] >= work[best] ? p : best;
    for (uint32_t b = 0; b < abstraction->block_count; b++) {
        uint32_t *pool = &abstraction->blocks[b].pool;
        *pool = *pool == best ? last : *pool == last ? best : *pool;
    }
    size_t width = model->warps + 2;
    uint64_t most_boxes = most < ABSTRACTION_MAX_BOXES ? most : ABSTRACTION_MAX_BOXES;
    abstraction->before =
        memory_alloc(memory, abstraction->block_count * width * (width - 1) * sizeof(uint64_t));
    bool fits = abstraction->before && count_boxes(abstraction, most_boxes);
    if (fits)
        abstraction->offsets =
            memory_alloc(memory, (abstraction->box_count + 1) * sizeof(uint64_t));
    bool memory_left = abstraction->before && (!fits || abstraction->offsets);
    if (fits && memory_left && layout_boxes(abstraction, most)) {
        *out = abstraction;
        return GORDIAN_OK;
    }
    abstraction_close(abstraction);
    return memory_left ? GORDIAN_STATUS_END : fail_memory(error);
}

void abstraction_close(struct abstraction *abstraction)
{
    if (!abstraction)
        return;
    gordian_allocator memory = abstraction->memory;
    memory_free_all(&memory, abstraction->before, abstraction->offsets, abstraction);
}

/* ------------------------------------------------------------------ steps */

uint32_t abstraction_progress(const struct abstraction *abstraction, const uint32_t *warps)
{
    const struct makespan_model *model = abstraction->model;
    uint32_t ready[MAKESPAN_TYPES] = {0}, all = 0;
    for (uint32_t b = 0; b < abstraction->block_count; b++)
        ready[abstraction->blocks[b].type] += warps[b];
    for (uint32_t type = 0; type < model->types; type++)
        all += ready[type] < model->units[type] ? ready[type] : model->units[type];
    return all < model->sigma ? all : model->sigma;
}

struct choice {
    const struct abstraction *abstraction;
    const uint32_t *warps;
    uint32_t filled[ABSTRACTION_MAX_BLOCKS], filled_count; /* blocks with warps */
    uint32_t units[MAKESPAN_TYPES];                        /* not used yet */
    uint32_t ready[MAKESPAN_TYPES]; /* warps in blocks that are not chosen yet */
    uint32_t types;
    struct abstraction_step step;
    void (*take)(void *context, const struct abstraction_step *step);
    void *context;
};

static void choose_starts(struct choice *choice, uint32_t at, uint32_t left)
{
    uint32_t runnable = 0; /* by the blocks that are not chosen yet */
    for (uint32_t t = 0; t < choice->types; t++)
        runnable += choice->ready[t] < choice->units[t] ? choice->ready[t] : choice->units[t];
    if (runnable < left)
        return;
    if (at == choice->filled_count) {
        if (left == 0)
            choice->take(choice->context, &choice->step);
        return;
    }
    uint32_t b = choice->filled[at];
    const struct abstraction_block *block = &choice->abstraction->blocks[b];
    uint32_t warps = choice->warps[b], most = warps < left ? warps : left;
    if (most > choice->units[block->type])
        most = choice->units[block->type];
    choice->ready[block->type] -= warps;
    for (uint32_t starts = 0; starts <= most; starts++) {
        choice->units[block->type] -= starts;
        choice->step.starts[b] = (uint16_t)starts;
        /* In a block of one instruction, every warp that runs leaves. */
        for (uint32_t leaves = block->length == 1 ? starts : 0; leaves <= starts; leaves++) {
            choice->step.leaves[b] = (uint16_t)leaves;
            choose_starts(choice, at + 1, left - starts);
        }
        choice->units[block->type] += starts;
    }
    choice->ready[block->type] += warps;
    choice->step.starts[b] = choice->step.leaves[b] = 0;
}

void abstraction_steps(const struct abstraction *abstraction, const uint32_t *warps,
                       void (*take)(void *context, const struct abstraction_step *step),
                       void *context)
{
    const struct makespan_model *model = abstraction->model;
    struct choice choice = {.abstraction = abstraction,
                            .warps = warps,
                            .types = model->types,
                            .take = take,
                            .context = context};
    memcpy(choice.units, model->units, sizeof choice.units);
    for (uint32_t b = 0; b < abstraction->block_count; b++) {
        if (warps[b])
            choice.filled[choice.filled_count++] = b;
        choice.ready[abstraction->blocks[b].type] += warps[b];
    }
    choose_starts(&choice, 0, abstraction_progress(abstraction, warps));
}
