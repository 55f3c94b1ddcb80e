/* The mpi engine: the sides of rank 0 and of the other ranks (mpi.h). */
#include "engines/compose/mpi/mpi.h"

#include "engines/compose/cpu/cpu.h"
#include "engines/compose/engine/engine.h"
#include "engines/compose/mpi/mpi_internal.h"
#include "foundation/base/error.h"
#include "foundation/ranks/ranks.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ shared steps */

/* A rank's part of a run: explores or counts, and reports the result to rank 0. All ranks make the
 * same calls in the same order: rank 0 makes every decision and broadcasts it. */
struct share {
    struct job job;
    struct mpi_sums sums;
    struct space all; /* rank 0, on request, if there was memory for it */
    uint64_t stuck;   /* rank 0: a deadlock, or UINT64_MAX */
    gordian_compose_stop stop;
};

/* The additional work of rank 0. */
struct leader {
    mpi_watch *watch;
    /* Describes near deadlocks without the states, if possible. Returns their number; *states:
     * their states. */
    size_t (*describe)(void *context, const struct mpi_sums *sums, uint64_t **states);
    void (*number)(void *context, const uint64_t *numbers);
    void *context;
};

/* The states that rank 0 needs after the counting. */
enum mpi_need { MPI_NEED_NOTHING, MPI_NEED_NUMBERS, MPI_NEED_STATES };

static enum mpi_need what_is_needed(const struct share *share, const struct leader *leader,
                                    uint64_t **states, size_t *count)
{
    const struct mpi_order *order = &share->job.order;
    if (order->command != MPI_COMMAND_EXPLORE)
        return MPI_NEED_NOTHING;
    if (share->stop == GORDIAN_COMPOSE_STOP_STOPPED) /* after ctrl-C the states are not gathered */
        return MPI_NEED_NOTHING;
    if (order->gather || share->stop != GORDIAN_COMPOSE_STOP_COMPLETE)
        return MPI_NEED_STATES;
    if (!order->max_dead || !share->sums.counts.deadlocks)
        return MPI_NEED_NOTHING;
    *count = leader->describe(leader->context, &share->sums, states);
    return *count ? MPI_NEED_NUMBERS : MPI_NEED_STATES;
}

/* Provides numbers, or all states, to rank 0. `leader` is NULL on the other ranks. */
static gordian_status serve_needs(struct share *share, const struct leader *leader,
                                  gordian_error *error)
{
    uint64_t *states = NULL, *numbers = NULL;
    size_t count = 0;
    const gordian_allocator *memory = &share->job.memory;
    gordian_status status = GORDIAN_OK;
    int need = leader ? what_is_needed(share, leader, &states, &count) : 0;
    if (need == MPI_NEED_NUMBERS && !(numbers = memory_alloc(memory, count * sizeof *numbers)))
        need = MPI_NEED_NOTHING;
    MPI_Bcast(&need, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (need == MPI_NEED_STATES && job_gather(&share->job, &share->all, error) != GORDIAN_OK)
        share->all = (struct space){0}; /* the counts remain */
    if (need == MPI_NEED_NUMBERS)
        status = job_number(&share->job, states, count, numbers, error);
    if (need == MPI_NEED_NUMBERS && leader && status == GORDIAN_OK)
        leader->number(leader->context, numbers);
    memory_free_all(memory, states, numbers);
    return status;
}

static gordian_status run_share(struct share *share, const struct packed *packed,
                                struct mpi_order *order, const struct leader *leader,
                                gordian_error *error)
{
    *share = (struct share){0};
    MPI_Bcast(order, sizeof *order, MPI_BYTE, 0, MPI_COMM_WORLD);
    gordian_status status = GORDIAN_OK;
    TRY(job_open(&share->job, packed, order, error));
    if (order->command == MPI_COMMAND_EXPLORE)
        status = job_explore(&share->job, leader ? leader->watch : NULL,
                             leader ? leader->context : NULL, &share->stop, error);
    if (status == GORDIAN_OK) {
        job_count(&share->job, share->stop == GORDIAN_COMPOSE_STOP_COMPLETE, &share->sums,
                  &share->stuck);
        status = serve_needs(share, leader, error);
    }
    if (status != GORDIAN_OK)
        job_free(&share->job);
    return status;
}

static void share_close(struct share *share)
{
    space_close(&share->all);
    job_free(&share->job);
}

void compose_mpi_serve(void)
{
    struct share share;
    struct mpi_order order;
    /* If memory ran out, rank 0 failed as well and reports it. */
    if (run_share(&share, NULL, &order, NULL, NULL) == GORDIAN_OK)
        share_close(&share);
}

/* ------------------------------------------------------------------ rank 0 */

struct run {
    const gordian_compose_options *options;
    const gordian_compose_sink *sink;
    gordian_compose_result *result;
    struct packed *packed;
};

static bool watch_run(void *context, uint64_t states, uint64_t memory)
{
    struct run *run = context;
    gordian_compose_progress progress = {.states = states, .memory = memory, .pass = 1};
    return compose_goes_on(run->options, &progress);
}

/* Finding near deadlocks does not need the states of the ranks. */
static size_t describe_near(void *context, const struct mpi_sums *sums, uint64_t **states)
{
    struct run *run = context;
    gordian_compose_result *result = run->result;
    gordian_compose_options options = *run->options;
    struct cpu cpu;
    bool done = false;
    options.max_memory = 0;
    options.threads = 1;
    result->deadlocks = sums->counts.deadlocks;
    gordian_status status = cpu_open(&cpu, run->packed->circuit, &options, result, NULL);
    THEN(status, cpu_trace_near(&cpu, &done, NULL));
    size_t count = status == GORDIAN_OK && done ? result->found_count : 0;
    *states = count ? memory_alloc(&run->packed->memory, count * sizeof **states) : NULL;
    for (size_t i = 0; *states && i < count; i++)
        pack_state(&cpu.packing, result->found[i].state, &(*states)[i]);
    cpu_close(&cpu);
    return *states ? count : 0;
}

static void number_found(void *context, const uint64_t *numbers)
{
    gordian_compose_result *result = ((struct run *)context)->result;
    for (size_t i = 0; i < result->found_count; i++)
        result->found[i].number = numbers[i];
}

static struct mpi_order mpi_order_of(const struct run *run, enum mpi_command command)
{
    const struct packed *packed = run->packed;
    const gordian_circuit *circuit = packed->circuit;
    const gordian_compose_options *options = run->options;
    struct mpi_order order = {.command = command,
                              .firing_count = packed->firing_count,
                              .singles = packed->singles,
                              .part_count = packed->part_count,
                              .whole = circuit->whole,
                              .initial = circuit->initial,
                              .count = options->count_transitions,
                              .joint = options->count_transitions && !options->indivisible,
                              .max_states = options->full ? 0 : options->max_states,
                              .max_memory = options->max_memory,
                              .max_dead = options->max_deadlocks,
                              .gather = run->sink != NULL};
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        order.radix_count += factor_shape(circuit, f)->state_count > 1;
    return order;
}

static void take_sums(const struct run *run, const struct mpi_sums *sums)
{
    const gordian_compose_options *options = run->options;
    gordian_compose_result *result = run->result;
    const struct compose_counts *counts = &sums->counts;
    result->states = counts->states;
    result->memory = sums->memory;
    if (!options->count_transitions)
        return;
    result->transitions = options->indivisible ? counts->firings : compose_joint_total(counts);
    if (result->transitions == UINT64_MAX)
        snprintf(result->note, sizeof result->note,
                 "there are more than 2^64 transitions: their number is not exact");
}

static gordian_status call_share(struct share *share, struct run *run, struct mpi_order *order,
                                 gordian_error *error)
{
    const struct leader leader = {watch_run, describe_near, number_found, run};
    gordian_compose_phase *phase =
        compose_phase(run->result, order->command == MPI_COMMAND_EXPLORE ? "words" : "count");
    ranks_call(RANKS_COMPOSE);
    gordian_status status = run_share(share, run->packed, order, &leader, error);
    compose_phase_end(phase);
    if (status != GORDIAN_OK)
        return status;
    run->result->workers = (unsigned)share->job.ranks;
    if (phase) {
        phase->fired = share->sums.fired;
        phase->found = share->sums.found;
        phase->sent = share->sums.sent;
        phase->idle_ns = share->sums.idle_ns;
    }
    return status;
}

/* Processes the states on rank 0 like the cpu engine: counts the transitions of a stopped run,
 * finds the paths to deadlocks, delivers. `reached`: the reachable states, if they were gathered.
 * `full`: the whole product is delivered. */
static gordian_status finish_run(struct run *run, struct space *reached, bool full,
                                 gordian_error *error)
{
    gordian_compose_result *result = run->result;
    gordian_compose_options options = *run->options;
    struct space whole = {0};
    struct cpu cpu;
    options.max_memory = 0; /* the ranks have enforced it */
    gordian_status status = cpu_open(&cpu, run->packed->circuit, &options, result, error);
    cpu.space = *reached;
    cpu.space.packing = &cpu.packing;
    *reached = (struct space){0};
    if (status == GORDIAN_OK && full)
        status = space_full(&whole, &cpu.packing, options.max_states, &cpu.meter.memory, error);
    const struct space *product = full ? &whole : &cpu.space;
    atomic_store(&cpu.states, result->states);
    atomic_store(&cpu.transitions, result->transitions);
    bool cut =
        full ? whole.count < cpu.circuit->whole : result->stop != GORDIAN_COMPOSE_STOP_COMPLETE;
    if (status == GORDIAN_OK && cut && options.count_transitions) {
        status = cpu_count_stopped(&cpu, product, error);
        result->transitions = atomic_load(&cpu.transitions);
    }
    if (status == GORDIAN_OK && full && cut && result->deadlocks > 0)
        status = cpu_count_dead(&cpu, product, &result->deadlocks, error);
    if (status == GORDIAN_OK && cpu_described(&cpu) > 0)
        status = cpu_trace(&cpu, &cpu.space, product, error);
    cpu.pass = 2;
    if (status == GORDIAN_OK && run->sink)
        status = result->uncounted
                     ? run->sink->begin(run->sink->context, cpu.circuit, result->states, 0, error)
                     : cpu_deliver(&cpu, product, run->sink, error);
    if (cpu_halted(&cpu))
        result->stop = (gordian_compose_stop)atomic_load(&cpu.reason);
    space_close(&whole);
    cpu_close(&cpu);
    return status;
}

/* Finishes a run without states on rank 0, because it was stopped, or there was no memory for all
 * of them. `stuck`: a deadlock, or UINT64_MAX. */
static gordian_status finish_early(struct run *run, uint64_t stuck, gordian_error *error)
{
    gordian_compose_result *result = run->result;
    const gordian_circuit *circuit = run->packed->circuit;
    result->uncounted = true;
    result->transitions = 0;
    if (result->stop == GORDIAN_COMPOSE_STOP_COMPLETE)
        result->stop = GORDIAN_COMPOSE_STOP_MEMORY;
    if (result->deadlocks > 0 && stuck != UINT64_MAX && run->options->max_deadlocks > 0 &&
        !packing_describe(&run->packed->packing, &stuck, result))
        return fail_memory(error);
    return run->sink ? run->sink->begin(run->sink->context, circuit, result->states, 0, error)
                     : GORDIAN_OK;
}

static gordian_status run_mpi_reachable(struct run *run, gordian_error *error)
{
    struct share share;
    struct mpi_order order = mpi_order_of(run, MPI_COMMAND_EXPLORE);
    gordian_status status = GORDIAN_OK;
    TRY(call_share(&share, run, &order, error));
    take_sums(run, &share.sums);
    run->result->stop = share.stop;
    run->result->deadlocks = share.sums.counts.deadlocks;
    bool needed = run->sink || share.stop != GORDIAN_COMPOSE_STOP_COMPLETE ||
                  (run->result->deadlocks > 0 && run->options->max_deadlocks > 0 &&
                   run->result->found_count == 0);
    if (share.all.cells)
        status = finish_run(run, &share.all, false, error);
    else if (needed)
        status = finish_early(run, share.stuck, error);
    share_close(&share);
    return status;
}

/* In the full product, only reachable deadlocks count. */
static gordian_status find_reached(struct run *run, struct space *reached, uint64_t *one,
                                   gordian_error *error)
{
    struct share share;
    struct mpi_order order = mpi_order_of(run, MPI_COMMAND_EXPLORE);
    order.joint = 0;
    order.gather = 1;
    TRY(call_share(&share, run, &order, error));
    if (share.stop != GORDIAN_COMPOSE_STOP_COMPLETE)
        run->result->stop = share.stop;
    run->result->deadlocks = share.sums.counts.deadlocks;
    *reached = share.all;
    *one = share.stuck;
    share.all = (struct space){0};
    share_close(&share);
    return GORDIAN_OK;
}

static gordian_status run_mpi_full(struct run *run, gordian_error *error)
{
    const gordian_circuit *circuit = run->packed->circuit;
    uint64_t most = run->options->max_states, one = UINT64_MAX;
    struct share share;
    struct space reached = {0};
    struct mpi_order order = mpi_order_of(run, MPI_COMMAND_FULL);
    if (!circuit->whole_fits)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the number of possible states does not fit 64 bits");
    if (most && most < circuit->whole) {
        order.whole = most;
        run->result->stop = GORDIAN_COMPOSE_STOP_STATES;
    }
    gordian_status status = GORDIAN_OK;
    TRY(call_share(&share, run, &order, error));
    take_sums(run, &share.sums);
    bool stuck = share.sums.counts.deadlocks > 0;
    share_close(&share);
    if (stuck)
        status = find_reached(run, &reached, &one, error);
    if (status == GORDIAN_OK && stuck && !reached.cells)
        status = finish_early(run, one, error);
    else if (status == GORDIAN_OK)
        status = finish_run(run, &reached, true, error);
    space_close(&reached);
    return status;
}

static gordian_status compose_mpi_run(const gordian_circuit *circuit,
                                      const gordian_compose_options *options,
                                      const gordian_compose_sink *sink,
                                      gordian_compose_result *result, gordian_error *error)
{
    struct run run = {.options = options, .sink = sink, .result = result};
    *result = (gordian_compose_result){.allocator = memory_allocator(options->allocator),
                                       .engine = compose_mpi.about.name};
    gordian_status status = compose_take_order(circuit, options, result, error);
    THEN(status, packed_open(&run.packed, circuit, options->allocator, error));
    THEN(status, options->full ? run_mpi_full(&run, error) : run_mpi_reachable(&run, error));
    packed_free(run.packed);
    if (status != GORDIAN_OK)
        gordian_compose_result_free(result);
    return status;
}

const struct compose_engine compose_mpi = {
    .about.name = "mpi",
    .about.summary = "reachable states and product over the ranks of an MPI job",
    .about.supports = packed_supports,
    .run = compose_mpi_run,
};
