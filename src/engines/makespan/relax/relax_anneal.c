/*
 * Simulated annealing over plans of a relaxed model.
 *
 * It uses the moves of the other chains (foundation/gpu/kernels/makespan/makespan_chain.h) for the
 * string of warps, and one more for the pieces that are left out. Except in the published search,
 * the string is kept sorted by cycle, so that a window of it is a window of time.
 */
#include "engines/makespan/relax/relax.h"

#include "engines/makespan/anneal/anneal.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

#define SLICE UINT64_C(400000) /* pieces placed between two checks of the watch */

struct relax_chain {
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    struct relax_buffers *buffers;
    struct chain_random random;
    struct relax_plan plan, candidate;
    struct relax_schedule schedule; /* of the last candidate */
    uint32_t *optional;             /* the optional pieces of the string */
    uint32_t optional_count;
    uint32_t now, best;
};

/* ------------------------------------------------------------------ memory */

static gordian_status open_chain(struct relax_chain *chain, const gordian_allocator *memory,
                                 gordian_error *error)
{
    const struct makespan_model *model = chain->model;
    TRY(relax_buffers_open(&chain->buffers, model, memory, error));
    struct relax_plan *plans[] = {&chain->plan, &chain->candidate};
    bool all = relax_schedule_open(&chain->schedule, model->work, memory);
    for (unsigned i = 0; i < 2; i++) {
        plans[i]->order = memory_alloc(memory, model->work);
        plans[i]->skips = memory_alloc(memory, model->work);
        all = all && plans[i]->order && plans[i]->skips;
    }
    chain->optional = memory_alloc(memory, model->length * sizeof *chain->optional);
    if (!all || !chain->optional)
        return fail_memory(error);
    for (uint32_t p = 0; p < model->length; p++)
        if (model->marks[p] & MODEL_OPTIONAL)
            chain->optional[chain->optional_count++] = p;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ moves */

/* Leaves out piece p and the later ones of its instruction. If p is left out already, runs it and
 * the earlier ones. */
static void toggle_piece(const struct makespan_model *model, uint8_t *skips, uint32_t piece)
{
    if (skips[piece]) {
        for (uint32_t p = piece; p > 0 && skips[p]; p--)
            skips[p] = 0;
        return;
    }
    for (uint32_t p = piece; p < model->length && (p == piece || !(model->marks[p] & MODEL_FIRST));
         p++)
        skips[p] = 1;
}

static void draw_candidate(struct relax_chain *chain)
{
    const struct makespan_model *model = chain->model;
    struct chain_move move;
    memcpy(chain->candidate.order, chain->plan.order, model->work);
    memcpy(chain->candidate.skips, chain->plan.skips, model->work);
    if (chain->optional_count && chain_below(&chain->random, 4) == 0) {
        uint32_t warp = chain_below(&chain->random, model->warps);
        uint32_t piece = chain->optional[chain_below(&chain->random, chain->optional_count)];
        toggle_piece(model, chain->candidate.skips + (size_t)warp * model->length, piece);
        return;
    }
    chain_draw(&chain->random, chain->options->published, model->warps, model->work,
               chain->plan.order, &move);
    chain_apply(&move, chain->plan.order + move.first, chain->candidate.order + move.first);
}

/* Writes the string of a schedule that is sorted by cycle; entries without effect come last. */
static void write_plan_order(const struct makespan_model *model,
                             const struct relax_schedule *schedule, uint8_t *order)
{
    uint32_t left[MAKESPAN_MAX_WARPS], at = schedule->count;
    for (uint32_t w = 0; w < model->warps; w++)
        left[w] = model->length;
    for (uint32_t i = 0; i < schedule->count; i++) {
        order[i] = schedule->warps[i];
        left[schedule->warps[i]]--;
    }
    for (uint32_t w = 0; w < model->warps; w++)
        for (; left[w] > 0; left[w]--)
            order[at++] = (uint8_t)w;
}

static void keep_candidate(struct relax_chain *chain, uint32_t value)
{
    struct relax_plan plan = chain->plan;
    chain->plan = chain->candidate;
    chain->candidate = plan;
    chain->now = value;
    relax_sort(chain->buffers, &chain->schedule);
    if (!chain->options->published)
        write_plan_order(chain->model, &chain->schedule, chain->plan.order);
}

/* ------------------------------------------------------------------ chains */

/* If the candidate is kept, its schedule is in chain->schedule, sorted. */
static bool step_chain(struct relax_chain *chain, uint32_t heat)
{
    const gordian_makespan_options *options = chain->options;
    draw_candidate(chain);
    uint32_t value = relax_build(chain->buffers, &chain->candidate, &chain->schedule);
    uint32_t loss = makespan_loss(options->goal, chain->now, value);
    if (loss && !chain_accepts(&chain->random, options->published, heat, loss))
        return false;
    keep_candidate(chain, value);
    if (!makespan_better(options->goal, value, chain->best))
        return false;
    chain->best = value;
    return true;
}

/* Compares the chain's best, which is in its schedule now, with the best of all. */
static void offer_best(const struct relax_chain *chain, struct watch *watch,
                       struct relax_schedule *best)
{
    gordian_makespan_goal goal = chain->options->goal;
    if (best->count && !makespan_better(goal, chain->best, best->makespan))
        return;
    const struct relax_schedule *from = &chain->schedule;
    best->count = from->count;
    best->makespan = from->makespan;
    memcpy(best->warps, from->warps, from->count);
    memcpy(best->pieces, from->pieces, from->count * sizeof *best->pieces);
    memcpy(best->cycles, from->cycles, from->count * sizeof *best->cycles);
    watch_found(watch, goal, chain->best);
}

static void run_chain(struct relax_chain *chain, uint64_t number, uint64_t steps,
                      struct watch *watch, struct relax_schedule *best)
{
    uint64_t begin = clock_ns(), slice = SLICE / chain->model->work + 1;
    uint32_t start =
        chain_start(anneal_temperature(chain->options), chain->options->published, number);
    /* Some chains start with all pieces, some leave out all optional pieces, and some leave out a
     * random choice of them. */
    const struct makespan_model *model = chain->model;
    anneal_begin(model, chain->options, number, &chain->random, chain->candidate.order);
    memset(chain->candidate.skips, 0, model->work);
    for (uint32_t i = 0; i < chain->optional_count; i++) {
        for (uint32_t w = 0; w < model->warps; w++) {
            uint8_t *skips = chain->candidate.skips + (size_t)w * model->length;
            uint32_t piece = chain->optional[i];
            bool leave = number % 3 == 1 || (number % 3 == 2 && chain_below(&chain->random, 2));
            if (leave && !skips[piece])
                toggle_piece(model, skips, piece);
        }
    }
    keep_candidate(chain, relax_build(chain->buffers, &chain->candidate, &chain->schedule));
    chain->best = chain->now;
    atomic_fetch_add(&watch->evaluations, 1);
    watch_improved(watch, number, begin, 0, chain->best);
    offer_best(chain, watch, best);
    for (uint64_t step = 0; step < steps && !watch_closed(watch); step++) {
        if (step % slice == 0)
            watch_poll(watch);
        if (watch_stopped(watch))
            break;
        atomic_fetch_add_explicit(&watch->evaluations, 1, memory_order_relaxed);
        if (step_chain(chain, chain_heat(start, step, steps))) {
            watch_improved(watch, number, begin, step + 1, chain->best);
            offer_best(chain, watch, best);
        }
    }
}

gordian_status relax_anneal(const struct makespan_model *model,
                            const gordian_makespan_options *options, uint64_t steps,
                            struct watch *watch, const gordian_allocator *memory,
                            struct relax_schedule *best, gordian_error *error)
{
    struct relax_chain chain = {.model = model, .options = options};
    gordian_status status = open_chain(&chain, memory, error);
    for (uint64_t number = 0; status == GORDIAN_OK && number < options->chains; number++) {
        if (number > 0 && (watch_stopped(watch) || watch_closed(watch)))
            break;
        run_chain(&chain, number, steps, watch, best);
    }
    relax_buffers_close(chain.buffers);
    relax_schedule_close(&chain.schedule, memory);
    memory_free_all(memory, chain.plan.order, chain.plan.skips, chain.candidate.order,
                    chain.candidate.skips, chain.optional);
    return status;
}
