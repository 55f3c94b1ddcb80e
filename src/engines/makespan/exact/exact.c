/*
 * The exact engine: it narrows the interval until the bounds meet. It is a branch and bound method.
 *
 * Simulated annealing finds schedules for one end. Tables (table.h) give bounds for the other:
 * first tables of coarse abstractions, then of finer ones, each several times as large as the
 * previous one. After the table of whole runs, a sweep goes through the finer states (largest.h)
 * that the table has not excluded. If few of these remain, a depth-first search visits only them
 * (candidates.h).
 *
 * Between two tables the search (search.h) runs, with about as much work as the next table needs.
 * It starts with a depth-first search for a schedule that reaches the bound, and then sweeps
 * through the states to settle the interval. When no finer table fits into memory, the last sweep
 * has no limit of its own.
 */
#include "engines/makespan/anneal/anneal.h"
#include "engines/makespan/anneal/job.h"
#include "engines/makespan/exact/candidates.h"
#include "engines/makespan/exact/search.h"
#include "foundation/base/error.h"
#include "foundation/base/machine.h"
#include "foundation/base/memory.h"

#include <stdio.h>
#include <string.h>

/* A table of this many states takes seconds, so a coarse one comes first. */
#define MANY_STATES UINT64_C(200000000)
/* States per byte of memory that a table may have if only some of its levels are kept. */
#define PASSING_STATES 16

struct proof {
    struct job job;
    uint64_t budget; /* bytes for tables */
    struct abstraction_plan plan;
    bool coarse;                     /* the plan is coarser than the runs */
    struct abstraction *abstraction; /* the finest so far, and its table; NULL: none */
    struct table *table;
    struct candidates *candidates; /* NULL: none yet */
    uint64_t annealed;             /* steps per chain */
};

/* Returns whether no work is left. */
static bool proof_is_settled(struct proof *proof)
{
    return watch_closed(&proof->job.watch) || watch_stopped(&proof->job.watch);
}

/* ------------------------------------------------------------------ schedules */

static gordian_status anneal_first(struct proof *proof, uint64_t steps, gordian_error *error)
{
    gordian_makespan_options options = *proof->job.options;
    /* A step costs at most model->work. */
    uint64_t affordable = 800000000 / proof->job.model->work + 10;
    steps = steps < affordable ? steps : affordable;
    if (proof_is_settled(proof) || steps <= proof->annealed)
        return GORDIAN_OK;
    proof->annealed = steps;
    proof->job.watch.phase = "annealing";
    options.chains = options.chains < 8 ? 8 : options.chains;
    options.evaluations = steps;
    options.published = false;
    TRY(anneal_chains(proof->job.model, &options, proof->job.workers, &proof->job.watch,
                      proof->job.order, error));
    return makespan_result_take(proof->job.result, proof->job.model, proof->job.options,
                                proof->job.order, error);
}

/* ------------------------------------------------------------------ bounds */

/* Returns the bytes that are free for another table. */
static uint64_t memory_left(const struct proof *proof)
{
    uint64_t taken = 0;
    if (proof->table)
        taken = proof->abstraction->states * proof->table->width;
    return taken < proof->budget ? proof->budget - taken : 0;
}

static bool fits_whole(const struct proof *proof, const struct abstraction *abstraction)
{
    return abstraction->states <= memory_left(proof) / table_width(proof->job.model);
}

/* Opens the abstraction of the plan if its table fits into memory next to the current one, complete
 * or in part. *out NULL: it does not fit. */
static gordian_status open_abstraction(struct proof *proof, struct abstraction **out,
                                       gordian_error *error)
{
    uint64_t most = memory_left(proof) * PASSING_STATES;
    gordian_status status = abstraction_open(out, proof->job.model, &proof->plan, most,
                                             &proof->job.meter.memory, error);
    if (status == GORDIAN_OK && !fits_whole(proof, *out) &&
        table_passing_size(*out) > memory_left(proof)) {
        abstraction_close(*out);
        *out = NULL;
    }
    if (status == GORDIAN_STATUS_END ||
        (status == GORDIAN_STATUS_MEMORY && proof->job.meter.refused))
        return GORDIAN_OK;
    return status;
}

/* Fills the table of the abstraction and takes ownership of the abstraction. A complete table
 * replaces the current one; a partial one only gives a bound. GORDIAN_STATUS_END: stopped, or out
 * of memory; the current table stays. */
static gordian_status compute_table_bound(struct proof *proof, struct abstraction *abstraction,
                                          gordian_error *error)
{
    gordian_makespan_goal goal = proof->job.options->goal;
    struct table *table = NULL;
    uint32_t bound = TABLE_UNKNOWN;
    gordian_status status;
    proof->job.watch.phase = "bounding";
    if (fits_whole(proof, abstraction))
        status =
            table_open(&table, abstraction, goal, proof->job.workers, &proof->job.watch, error);
    else
        status =
            table_passing(abstraction, goal, proof->job.workers, &proof->job.watch, &bound, error);
    if (status != GORDIAN_OK || !table) {
        abstraction_close(abstraction);
    } else {
        bound = table_bound(table);
        table_close(proof->table);
        abstraction_close(proof->abstraction);
        proof->table = table;
        proof->abstraction = abstraction;
    }
    if (status == GORDIAN_OK && (goal == GORDIAN_MAKESPAN_GOAL_BEST || bound != TABLE_UNKNOWN))
        watch_bound(&proof->job.watch, goal, bound);
    return status;
}

/* ------------------------------------------------------------------ search */

static gordian_status find_schedule_of(struct proof *proof, const struct search *search,
                                       uint32_t target, uint64_t most, gordian_error *error)
{
    bool found = false, worst = proof->job.options->goal == GORDIAN_MAKESPAN_GOAL_WORST;
    gordian_status status = search_dfs(search, target, most, proof->job.order, &found, error);
    if (status == GORDIAN_OK && !found)
        watch_bound(&proof->job.watch, proof->job.options->goal, worst ? target - 1 : target + 1);
    if (!found)
        return status;
    TRY(makespan_result_take(proof->job.result, proof->job.model, proof->job.options,
                             proof->job.order, error));
    uint32_t makespan = proof->job.result->cycles[proof->job.model->work - 1] + 1;
    watch_searched(&proof->job.watch, makespan);
    watch_found(&proof->job.watch, proof->job.options->goal, makespan);
    return GORDIAN_OK;
}

/* A limit that ends a search is no failure. Lack of memory without a limit is. */
static gordian_status forgive_memory(struct proof *proof, gordian_status status)
{
    if (status == GORDIAN_STATUS_END ||
        (status == GORDIAN_STATUS_MEMORY && proof->job.meter.refused))
        return GORDIAN_OK;
    return status;
}

static struct search search_of(struct proof *proof)
{
    return (struct search){proof->job.model,        proof->table,
                           proof->job.workers,      &proof->job.watch,
                           proof->job.meter.memory, proof->candidates};
}

/* Computes a bound between the table's bound and the exact value, then searches depth first through
 * the states that the bound leaves. Each search has at most `most` states. */
static gordian_status tighten_bound(struct proof *proof, uint64_t most, gordian_error *error)
{
    if (proof_is_settled(proof) || !proof->table || proof->coarse || proof->candidates)
        return GORDIAN_OK;
    struct search search = search_of(proof);
    if (!search_tightens(&search))
        return GORDIAN_OK;
    proof->job.watch.phase = "bounding";
    gordian_status status = search_tighten(&search, most, error);
    if (status == GORDIAN_OK && !proof_is_settled(proof) && search_bits(proof->job.model) != 0)
        status = candidates_open(&proof->candidates, &search, most, error);
    if (status == GORDIAN_OK && proof->candidates) {
        search.candidates = proof->candidates;
        proof->job.watch.phase = "searching";
        status = find_schedule_of(
            proof, &search, watch_limit(&proof->job.watch, proof->job.options->goal), most, error);
    }
    return forgive_memory(proof, status);
}

/* `most` 0: until the interval is settled. */
static gordian_status find_schedule(struct proof *proof, uint64_t most, gordian_error *error)
{
    if (proof_is_settled(proof) || !proof->table || search_bits(proof->job.model) == 0)
        return GORDIAN_OK;
    struct search search = search_of(proof);
    uint32_t value = 0;
    proof->job.watch.phase = "searching";
    uint32_t target = watch_limit(&proof->job.watch, proof->job.options->goal);
    gordian_status status = find_schedule_of(
        proof, &search, target, most && most < 100000 ? most / 10 + 100 : 10000, error);
    status = forgive_memory(proof, status);
    if (status != GORDIAN_OK || proof_is_settled(proof))
        return status;
    status = search_sweep(&search, most, &value, error);
    if (status == GORDIAN_OK && value)
        status = find_schedule_of(proof, &search, value, 0, error);
    bool limited = status == GORDIAN_STATUS_END || (status && proof->job.meter.refused);
    if (limited && most == 0)
        watch_stop(&proof->job.watch, GORDIAN_MAKESPAN_STOP_MEMORY);
    return forgive_memory(proof, status);
}

/* ------------------------------------------------------------------ refinement */

/* Opens the first abstraction: the abstraction by runs or, if it has very many states, a coarser
 * one. */
static gordian_status open_first_abstraction(struct proof *proof, struct abstraction **out,
                                             gordian_error *error)
{
    *out = NULL;
    if (!abstraction_plan_runs(&proof->plan, proof->job.model))
        return GORDIAN_OK;
    gordian_status status = open_abstraction(proof, out, error);
    if (status != GORDIAN_OK || (*out && (*out)->states < MANY_STATES))
        return status;
    struct abstraction_plan runs = proof->plan;
    abstraction_plan_types(&proof->plan, proof->job.model);
    if (proof->plan.pool_count == runs.pool_count)
        return GORDIAN_OK; /* the same */
    abstraction_close(*out);
    proof->coarse = true;
    return open_abstraction(proof, out, error);
}

static gordian_status prove_bounds(struct proof *proof, gordian_error *error)
{
    struct abstraction *next = NULL;
    gordian_status status = anneal_first(proof, 2000, error);
    if (status == GORDIAN_OK && !proof_is_settled(proof))
        status = open_first_abstraction(proof, &next, error);
    if (status == GORDIAN_OK && !next)
        status = anneal_first(proof, proof->job.options->evaluations, error);
    while (status == GORDIAN_OK && next) {
        /* A state of the search takes as long as some dozens of states of a table of parts of runs,
         * and as some hundreds of a coarser table. */
        uint64_t states = next->states, share = proof->coarse ? 1000 : 50;
        status = forgive_memory(proof, compute_table_bound(proof, next, error));
        next = NULL;
        if (status == GORDIAN_OK && states > 1000000)
            status = anneal_first(proof, 200000, error);
        THEN(status, tighten_bound(proof, states / share + 1000, error));
        if (status == GORDIAN_OK && !proof_is_settled(proof)) {
            struct abstraction **out = &next;
            *out = NULL;
            bool finer = proof->coarse ? abstraction_plan_runs(&proof->plan, proof->job.model)
                                       : abstraction_plan_refine(&proof->plan, proof->job.model);
            proof->coarse = false;
            status = finer ? open_abstraction(proof, out, error) : GORDIAN_OK;
        }
        if (status == GORDIAN_OK && !next && states > 1000000)
            status = anneal_first(proof, proof->job.options->evaluations, error);
        THEN(status, find_schedule(proof, next ? next->states / share + 1000 : 0, error));
        if (status != GORDIAN_OK || proof_is_settled(proof)) {
            abstraction_close(next);
            next = NULL;
        }
    }
    if (status == GORDIAN_OK && !proof_is_settled(proof)) {
        /* The reason why an interval is still open although no limit stopped the run. */
        const char *why = "";
        if (!proof->table)
            why = "too large for tables: using the closed-form bound";
        else if (search_bits(proof->job.model) == 0)
            why = "too large for the search: using the bound of the largest table";
        snprintf(proof->job.result->note, sizeof proof->job.result->note, "%s", why);
        if (proof->job.meter.refused)
            watch_stop(&proof->job.watch, GORDIAN_MAKESPAN_STOP_MEMORY);
    }
    return status;
}

/* Three quarters of the limit, or half of the machine's memory: the search needs the rest. */
static uint64_t table_budget(const gordian_makespan_options *options)
{
    if (options->max_memory)
        return options->max_memory / 4 * 3;
    struct machine machine;
    machine_describe(&machine);
    return machine.memory ? machine.memory / 2 : UINT64_C(1) << 30;
}

static gordian_status run_exact(const struct makespan_model *model,
                                const gordian_makespan_options *options,
                                struct makespan_result *result, gordian_error *error)
{
    struct proof proof = {.budget = table_budget(options)};
    struct job *job = &proof.job;
    gordian_status status = thread_job_open(job, model, options, result, error);
    THEN(status, prove_bounds(&proof, error));
    /* A schedule exists, whatever stopped the run. */
    if (status == GORDIAN_OK && !result->order) {
        order_fill(model, ORDER_ROUND_ROBIN, NULL, job->order);
        status = makespan_result_take(result, model, options, job->order, error);
    }
    candidates_close(proof.candidates);
    table_close(proof.table);
    abstraction_close(proof.abstraction);
    return thread_job_close(job, &makespan_exact, status);
}

const struct makespan_engine makespan_exact = {
    .about.name = "exact",
    .about.summary = "certified bounds by abstraction and exact search on CPU threads",
    .about.supports = makespan_is_plain,
    .run = run_exact,
};
