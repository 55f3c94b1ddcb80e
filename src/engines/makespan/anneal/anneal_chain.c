/* One simulated annealing chain on a CPU. */
#include "engines/makespan/anneal/anneal.h"

#include <string.h>

uint32_t anneal_temperature(const gordian_makespan_options *options)
{
    return (uint32_t)(options->temperature * 65536 + 0.5);
}

gordian_makespan_start anneal_start(const gordian_makespan_options *options, uint64_t number)
{
    if (options->start != GORDIAN_MAKESPAN_START_ALL)
        return options->start;
    return (gordian_makespan_start)(GORDIAN_MAKESPAN_START_ROUND_ROBIN + number % ORDER_TEMPLATES);
}

void anneal_begin(const struct makespan_model *model, const gordian_makespan_options *options,
                  uint64_t number, struct chain_random *random, uint8_t *order)
{
    struct random shuffle;
    chain_seed(random, options->seed, number);
    random_seed(&shuffle, chain_next(random));
    /* Both lists have the same order. */
    order_fill(
        model,
        (enum order_template)(anneal_start(options, number) - GORDIAN_MAKESPAN_START_ROUND_ROBIN),
        &shuffle, order);
}

void anneal_chain_begin(struct anneal_chain *chain)
{
    const gordian_makespan_options *options = chain->options;
    chain->step = 0;
    chain->heat = chain_start(anneal_temperature(options), options->published, chain->number);
    anneal_begin(chain->model, options, chain->number, &chain->random, chain->order);
    if (options->published) {
        chain->now = evaluator_try_plain(chain->evaluator, chain->order, 0);
        evaluator_keep_plain(chain->evaluator);
    } else {
        chain->now = evaluator_set(chain->evaluator, chain->order);
    }
    chain->best = chain->now;
    memcpy(chain->best_order, chain->order, chain->model->work);
}

bool anneal_chain_over(const struct anneal_chain *chain)
{
    return chain->step >= chain->options->evaluations;
}

/* Used by both kinds of steps: tries a move, then keeps or rejects it. */
static uint32_t try_move(struct anneal_chain *chain, const struct chain_move *move)
{
    if (!chain->options->published) {
        chain_apply(move, evaluator_order(chain->evaluator) + move->first, chain->candidate);
        return evaluator_try(chain->evaluator, move->first, move->last, chain->candidate);
    }
    memcpy(chain->candidate, chain->order, chain->model->work);
    chain_apply(move, chain->order + move->first, chain->candidate + move->first);
    return evaluator_try_plain(chain->evaluator, chain->candidate, move->first);
}

static void keep_move(struct anneal_chain *chain, uint32_t value)
{
    chain->now = value;
    if (!chain->options->published) {
        evaluator_keep(chain->evaluator);
        return;
    }
    evaluator_keep_plain(chain->evaluator);
    uint8_t *order = chain->order;
    chain->order = chain->candidate;
    chain->candidate = order;
}

bool anneal_chain_run(struct anneal_chain *chain, uint64_t steps)
{
    const gordian_makespan_options *options = chain->options;
    const struct makespan_model *model = chain->model;
    uint64_t left = options->evaluations - chain->step, end = chain->step;
    end += steps < left ? steps : left;
    while (chain->step < end) {
        struct chain_move move;
        const uint8_t *order =
            options->published ? chain->order : evaluator_order(chain->evaluator);
        chain_draw(&chain->random, options->published, model->warps, model->work, order, &move);
        uint32_t heat = chain_heat(chain->heat, chain->step++, options->evaluations);
        uint32_t value = try_move(chain, &move), loss;
        loss = makespan_loss(options->goal, chain->now, value);
        if (loss && !chain_accepts(&chain->random, options->published, heat, loss))
            continue;
        keep_move(chain, value);
        if (makespan_better(options->goal, value, chain->best)) {
            chain->best = value;
            memcpy(chain->best_order,
                   options->published ? chain->order : evaluator_order(chain->evaluator),
                   model->work);
            return true;
        }
    }
    return false;
}
