/* The `cpu` engine (cpu.h). */
#include "engines/compose/cpu/cpu.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

#define SMALL_GRID (UINT64_C(1) << 12) /* words: smaller grids start with a bitmap */

/* After ctrl-C, the path to a deadlock that was found is still searched for a limited time (in
 * nanoseconds), and among all states only if there are at most this many. */
#define GRACE_NS     UINT64_C(1000000000)
#define GRACE_STATES (UINT64_C(1) << 20)

void cpu_halt(struct cpu *cpu, gordian_compose_stop reason)
{
    uint32_t none = GORDIAN_COMPOSE_STOP_COMPLETE;
    atomic_compare_exchange_strong(&cpu->reason, &none, (uint32_t)reason);
    atomic_store(&cpu->halt, true);
}

bool cpu_report(struct cpu *cpu)
{
    gordian_compose_progress progress = {
        .states = atomic_load(&cpu->states),
        .transitions = atomic_load(&cpu->transitions),
        .waiting = atomic_load(&cpu->waiting),
        .written = atomic_load(&cpu->written),
        .memory = meter_now(&cpu->meter),
        .pass = cpu->pass,
    };
    if (!compose_goes_on(cpu->options, &progress) && clock_ns() >= cpu->grace)
        cpu_halt(cpu, GORDIAN_COMPOSE_STOP_STOPPED);
    return !cpu_halted(cpu);
}

static void watch_cpu(void *context)
{
    cpu_report(context);
}

void cpu_wait(struct cpu *cpu)
{
    thread_pool_wait(cpu->workers, watch_cpu, cpu);
}

void cpu_work(struct cpu *cpu, void (*work)(void *context, unsigned member), void *context)
{
    thread_pool_start(cpu->workers, work, context);
    cpu_wait(cpu);
}

void cpu_record_deadlock(struct cpu *cpu, const uint64_t *state)
{
    if (!atomic_load_explicit(&cpu->has_example, memory_order_relaxed) &&
        !atomic_exchange_explicit(&cpu->has_example, true, memory_order_relaxed))
        memcpy(cpu->example, state, cpu->packing.words * sizeof *state);
}

/* ------------------------------------------------------------------ finding */

/* Starts with the initial states in a bitmap, if there is memory for one. */
static void start_bitmap(struct cpu *cpu)
{
    uint32_t *locals = cpu->views[0].here_locals;
    if (!cpu_bitmap_open(cpu))
        return;
    uint64_t state;
    initial_first(cpu->circuit, locals);
    do {
        pack_state(&cpu->packing, locals, &state);
        cpu_bitmap_put(cpu, state, false);
    } while (initial_next(cpu->circuit, locals));
    atomic_store(&cpu->states, cpu->circuit->initial);
}

static gordian_status find_cpu_states(struct cpu *cpu, gordian_error *error)
{
    uint64_t words = cpu->grid.words;
    bool exact = cpu->options->max_states && !cpu->options->full;
    bool by_words = word_shards_can(cpu) && !cpu->by_states;
    cpu->met = by_words;
    if (words && words <= SMALL_GRID && !exact)
        start_bitmap(cpu);
    if (cpu->space.kind != SPACE_BITMAP)
        TRY(by_words ? cpu_cells(cpu, error) : cpu_hash(cpu, error));
    if (cpu->space.kind == SPACE_BITMAP)
        TRY(cpu_bitmap(cpu, error));
    if (cpu->shards)
        cpu->unexpanded = word_shards_unexpanded(cpu);
    else if (cpu->table)
        cpu->unexpanded = table_unexpanded(cpu->table);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ other functions */

/* Sorts the states, so that they have numbers. */
static gordian_status number_states(struct cpu *cpu, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    gordian_compose_phase *phase = compose_phase(cpu->result, "numbers");
    if (cpu->shards)
        status = word_shards_sort(cpu, error);
    else if (cpu->table)
        status = cpu_sort(cpu, error);
    else if (cpu->space.kind == SPACE_BITMAP)
        status = space_rank(&cpu->space, error);
    compose_phase_end(phase);
    return status;
}

static void omit_transitions(struct cpu *cpu)
{
    if (!cpu->result->uncounted)
        cpu->result->note[0] = '\0'; /* the note described a count that is discarded */
    cpu->result->uncounted = true;
    atomic_store(&cpu->transitions, 0);
}

gordian_status cpu_count_stopped(struct cpu *cpu, const struct space *space, gordian_error *error)
{
    gordian_compose_result *result = cpu->result;
    gordian_status status = GORDIAN_OK;
    bool known = space == &cpu->space && !cpu->options->indivisible; /* the number of transitions */
    if (known && atomic_load(&cpu->transitions) > COMPOSE_AMONG_MOST)
        compose_omit_transitions(result);
    else
        status = cpu_count_among(cpu, space, error);
    if (result->uncounted || cpu_halted(cpu))
        omit_transitions(cpu);
    return status;
}

/* Counts what the options request of the whole product. The reachable states are known. */
static gordian_status count_full(struct cpu *cpu, const struct space *full, gordian_error *error)
{
    atomic_store(&cpu->states, full->count);
    if (full->count < cpu->circuit->whole)
        cpu_halt(cpu, GORDIAN_COMPOSE_STOP_STATES);
    if (!cpu->options->count_transitions)
        return GORDIAN_OK;
    atomic_store(&cpu->halt, false);
    return full->count < cpu->circuit->whole ? cpu_count_stopped(cpu, full, error)
                                             : cpu_count_full(cpu, error);
}

/* Finds the paths to deadlocks. Near deadlocks do not need numbers of all states, unless something
 * else needs them. `full` as below. */
static gordian_status find_paths(struct cpu *cpu, const struct space *full, gordian_error *error)
{
    bool done = false;
    gordian_status status = GORDIAN_OK;
    if (cpu_described(cpu) == 0)
        return status;
    gordian_compose_phase *phase = compose_phase(cpu->result, "ways");
    if (cpu->shards)
        status = cpu_trace_near(cpu, &done, error);
    if (status == GORDIAN_OK && done)
        word_shards_number(cpu);
    if (status == GORDIAN_OK && !done)
        status = number_states(cpu, error);
    if (status == GORDIAN_OK && !done)
        status = cpu_trace(cpu, &cpu->space, full ? full : &cpu->space, error);
    compose_phase_end(phase);
    bool all = !full || full->count == cpu->circuit->whole;
    if (status == GORDIAN_OK && cpu->result->found_count == 0 && all)
        cpu_describe_example(cpu); /* the search was stopped */
    return status;
}

/* After ctrl-C: finds the path to a known deadlock if this does not take long, otherwise only
 * describes the deadlock. */
static gordian_status find_paths_soon(struct cpu *cpu, gordian_error *error)
{
    bool done = false;
    gordian_status status = GORDIAN_OK;
    if (cpu_described(cpu) == 0)
        return status;
    gordian_compose_phase *phase = compose_phase(cpu->result, "ways");
    cpu->grace = clock_ns() + GRACE_NS;
    atomic_store(&cpu->halt, false);
    status = cpu_trace_near(cpu, &done, error);
    if (status == GORDIAN_OK && !done && atomic_load(&cpu->states) <= GRACE_STATES) {
        status = number_states(cpu, error);
        THEN(status, cpu_trace(cpu, &cpu->space, NULL, error));
    }
    cpu->grace = 0;
    compose_phase_end(phase);
    for (size_t i = 0; i < cpu->result->found_count; i++)
        cpu->result->found[i].number = UINT64_MAX;
    if (cpu->result->found_count == 0)
        cpu_describe_example(cpu);
    return status;
}

/* Examines the states that have not fired yet, within the grace period. */
static gordian_status count_unexpanded_soon(struct cpu *cpu, gordian_error *error)
{
    uint64_t stuck = 0;
    if (cpu->unexpanded == 0)
        return GORDIAN_OK;
    cpu->grace = clock_ns() + GRACE_NS;
    atomic_store(&cpu->halt, false);
    gordian_status status = cpu_count_unexpanded(cpu, &stuck, error);
    cpu->grace = 0;
    cpu->stuck += stuck;
    if (!cpu_halted(cpu) && status == GORDIAN_OK)
        cpu->unexpanded = 0;
    return status;
}

/* After ctrl-C, states are neither sorted nor are their transitions counted. The result has what
 * the search found. */
static gordian_status finish_soon(struct cpu *cpu, const gordian_compose_sink *sink,
                                  gordian_error *error)
{
    gordian_compose_result *result = cpu->result;
    gordian_status status = count_unexpanded_soon(cpu, error);
    omit_transitions(cpu);
    result->states = atomic_load(&cpu->states) - cpu->unexpanded;
    result->transitions = 0;
    if (cpu->stuck > result->deadlocks)
        result->deadlocks = cpu->stuck;
    THEN(status, find_paths_soon(cpu, error));
    cpu->pass = 2;
    if (status == GORDIAN_OK && sink)
        status = sink->begin(sink->context, cpu->circuit, result->states, 0, error);
    return status;
}

/* Counts transitions and deadlocks. If every state has fired and only deadlocks are requested, they
 * are known already, unless `again`. */
static gordian_status count_found_states(struct cpu *cpu, bool again, gordian_error *error)
{
    if (cpu->met && !again && !cpu->options->count_transitions) {
        cpu->result->deadlocks = cpu->stuck;
        return GORDIAN_OK;
    }
    gordian_compose_phase *phase = compose_phase(cpu->result, "count");
    gordian_status status = cpu_count(cpu, &cpu->result->deadlocks, error);
    compose_phase_end(phase);
    return status;
}

/* Counts, and does everything that needs numbers. `full`: the whole product, or NULL. */
static gordian_status finish_states(struct cpu *cpu, const struct space *full,
                                    const gordian_compose_sink *sink, gordian_error *error)
{
    gordian_compose_result *result = cpu->result;
    bool stopped = cpu_halted(cpu);
    if (stopped && atomic_load(&cpu->reason) == GORDIAN_COMPOSE_STOP_STOPPED)
        return finish_soon(cpu, sink, error);
    atomic_store(&cpu->halt, false); /* the states found are examined in any case */
    TRY(count_found_states(cpu, stopped || full, error));
    if (cpu_halted(cpu)) /* stopped while counting */
        return finish_soon(cpu, sink, error);
    bool fewer = full && full->count < cpu->circuit->whole && result->deadlocks > 0;
    bool ways = cpu_described(cpu) > 0 && (stopped || full);
    bool numbers = fewer || ways || sink || (stopped && !full);
    if (numbers)
        TRY(number_states(cpu, error));
    if (fewer)
        TRY(cpu_count_dead(cpu, full, &result->deadlocks, error));
    if (stopped && !full && cpu->options->count_transitions)
        TRY(cpu_count_stopped(cpu, &cpu->space, error));
    if (full)
        TRY(count_full(cpu, full, error));
    result->states = atomic_load(&cpu->states);
    result->transitions = cpu->options->count_transitions ? atomic_load(&cpu->transitions) : 0;
    atomic_store(&cpu->transitions, result->transitions);
    TRY(find_paths(cpu, full, error));
    cpu->pass = 2;
    if (sink && result->uncounted)
        return sink->begin(sink->context, cpu->circuit, result->states, 0, error);
    if (sink)
        TRY(cpu_deliver(cpu, full ? full : &cpu->space, sink, error));
    return GORDIAN_OK;
}

static gordian_status find_and_finish(struct cpu *cpu, const gordian_compose_sink *sink,
                                      gordian_error *error)
{
    struct space full = {0};
    const gordian_allocator *memory = &cpu->meter.memory;
    gordian_status status = GORDIAN_OK;
    if (cpu->options->full)
        status = space_full(&full, &cpu->packing, cpu->options->max_states, memory, error);
    THEN(status, find_cpu_states(cpu, error));
    THEN(status, finish_states(cpu, full.kind == SPACE_FULL ? &full : NULL, sink, error));
    space_close(&full);
    return status;
}

/* ------------------------------------------------------------------ open and close */

void cpu_close(struct cpu *cpu)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    word_shards_free(cpu);
    table_free(cpu);
    space_close(&cpu->space);
    for (unsigned i = 0; i < cpu->firing_view_count; i++)
        firing_view_close(&cpu->views[i]);
    memory_free_all(memory, cpu->views, cpu->example);
    thread_pool_close(cpu->workers);
    memory_free(memory, cpu->grid.digits);
    packing_close(&cpu->packing);
    firings_free(&cpu->firings);
    meter_close(&cpu->meter);
}

gordian_status cpu_open(struct cpu *cpu, const gordian_circuit *circuit,
                        const gordian_compose_options *options, gordian_compose_result *result,
                        gordian_error *error)
{
    *cpu = (struct cpu){.circuit = circuit, .options = options, .result = result, .pass = 1};
    meter_open(&cpu->meter, options->allocator, options->max_memory);
    cpu->firings.memory = cpu->packing.memory = cpu->meter.memory;
    const gordian_allocator *memory = &cpu->meter.memory;
    TRY(firings_open(&cpu->firings, cpu->circuit, memory, error));
    TRY(packing_open(&cpu->packing, cpu->circuit, &cpu->firings, memory, error));
    TRY(grid_open(&cpu->grid, &cpu->packing, memory, error));
    if (!cpu->firings.complete)
        cpu->grid.words = 0;
    cpu->example = memory_zeroed(memory, (cpu->packing.words + 1) * sizeof *cpu->example);
    if (!cpu->example)
        return fail_memory(error);
    unsigned wanted = cpu->options->threads;
    if (cpu->circuit->whole_fits && cpu->circuit->whole <= 4096)
        wanted = 1; /* starting threads takes longer */
    gordian_status status = thread_pool_open(&cpu->workers, wanted, memory, error);
    if (status != GORDIAN_OK)
        return status;
    cpu->views = memory_zeroed(memory, thread_pool_size(cpu->workers) * sizeof *cpu->views);
    if (!cpu->views)
        return fail_memory(error);
    while (cpu->firing_view_count < thread_pool_size(cpu->workers) && status == GORDIAN_OK) {
        status =
            firing_view_open(&cpu->views[cpu->firing_view_count], &cpu->packing, memory, error);
        cpu->firing_view_count += status == GORDIAN_OK;
    }
    return status;
}

/* Keeps the states found before memory ran out. The status becomes GORDIAN_OK unless a sink did not
 * get its rows. */
static gordian_status keep_partial_result(struct cpu *cpu, bool delivers, gordian_status status)
{
    gordian_compose_result *result = cpu->result;
    uint64_t met = cpu->stuck > result->deadlocks ? cpu->stuck : result->deadlocks;
    if (status != GORDIAN_STATUS_MEMORY || (!cpu->meter.refused && met == 0))
        return status;
    cpu_halt(cpu, GORDIAN_COMPOSE_STOP_MEMORY);
    if (result->states == 0) {
        omit_transitions(cpu);
        result->states = atomic_load(&cpu->states);
    }
    result->deadlocks = met;
    if (met > 0 && result->found_count == 0)
        cpu_describe_example(cpu);
    return delivers && result->states > 0 ? status : GORDIAN_OK;
}

static gordian_status run_cpu_by(bool by_states, const gordian_circuit *circuit,
                                 const gordian_compose_options *options,
                                 const gordian_compose_sink *sink, gordian_compose_result *result,
                                 gordian_error *error)
{
    *result = (gordian_compose_result){.allocator = memory_allocator(options->allocator)};
    struct cpu cpu;
    TRY(compose_take_order(circuit, options, result, error));
    gordian_status status = cpu_open(&cpu, circuit, options, result, error);
    cpu.by_states = by_states;
    if (status == GORDIAN_OK)
        result->workers = thread_pool_size(cpu.workers);
    THEN(status, find_and_finish(&cpu, sink, error));
    status = keep_partial_result(&cpu, sink != NULL, status);
    cpu_close(&cpu);
    result->stop = (gordian_compose_stop)atomic_load(&cpu.reason);
    result->memory = cpu.meter.most;
    result->engine = compose_cpu.about.name;
    bool kept = status == GORDIAN_STATUS_MEMORY && result->deadlocks > 0;
    if (status != GORDIAN_OK && !kept)
        gordian_compose_result_free(result);
    return status;
}

static gordian_status run_cpu(const gordian_circuit *circuit,
                              const gordian_compose_options *options,
                              const gordian_compose_sink *sink, gordian_compose_result *result,
                              gordian_error *error)
{
    return run_cpu_by(false, circuit, options, sink, result, error);
}

gordian_status cpu_run_by_states(const gordian_circuit *circuit,
                                 const gordian_compose_options *options,
                                 const gordian_compose_sink *sink, gordian_compose_result *result,
                                 gordian_error *error)
{
    return run_cpu_by(true, circuit, options, sink, result, error);
}

const struct compose_engine compose_cpu = {
    .about.name = "cpu",
    .about.summary = "explores the network directly, on all cores, up to 64 states at a time",
    .run = run_cpu,
};
